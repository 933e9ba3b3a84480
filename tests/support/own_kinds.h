#pragma once
// Two layer kinds as a host registers them: the built-in swiglu once more, and one that calls every op there is.

#include <gtest/gtest.h>

#include <array>

#include "core/json.h"
#include "layers/foreign/foreign_pass.h"
#include "network/own_kinds.h"

namespace loom::test {

inline Result<void> declare_own_swiglu(ForeignPass& p) {
  LOOM_TRY(const double in, p.setting("input_height"));
  LOOM_TRY(const double inside, p.setting("output_height"));
  LOOM_TRY(const double bias, p.setting("bias"));
  const auto d = static_cast<std::size_t>(in), n = static_cast<std::size_t>(inside);
  LOOM_TRY_VOID(p.declare_weight("gate.weight", std::array{n, d}, "", 0));
  LOOM_TRY_VOID(p.declare_weight("up.weight", std::array{n, d}, "glorot", 0));
  LOOM_TRY_VOID(p.declare_weight("down.weight", std::array{d, n}, "", 0));
  if (bias == 0) return {};
  LOOM_TRY_VOID(p.declare_weight("gate.bias", std::array{n}, "", 0));
  LOOM_TRY_VOID(p.declare_weight("up.bias", std::array{n}, "", 0));
  return p.declare_weight("down.bias", std::array{d}, "", 0);
}

struct OwnBiases {
  std::string_view gate, up, down;
  static Result<OwnBiases> of(ForeignPass& p) {
    LOOM_TRY(const double bias, p.setting("bias"));
    return bias == 0 ? OwnBiases{} : OwnBiases{"gate.bias", "up.bias", "down.bias"};
  }
};

inline Result<void> own_swiglu_forward(ForeignPass& p) {
  LOOM_TRY(const OwnBiases biases, OwnBiases::of(p));
  LOOM_TRY(const auto x, p.input());
  LOOM_TRY(const auto gate, p.matmul(x, "gate.weight", biases.gate));
  LOOM_TRY(const auto up, p.matmul(x, "up.weight", biases.up));
  LOOM_TRY(const auto hidden, p.gated(gate, up, "activation"));
  LOOM_TRY(const auto y, p.matmul(hidden, "down.weight", biases.down));
  for (const auto t : {x, gate, up, hidden}) LOOM_TRY_VOID(p.keep(t));
  return p.result(y);
}

inline Result<void> own_swiglu_backward(ForeignPass& p) {
  LOOM_TRY(const OwnBiases biases, OwnBiases::of(p));
  LOOM_TRY(const auto hidden, p.kept());
  LOOM_TRY(const auto up, p.kept());
  LOOM_TRY(const auto gate, p.kept());
  LOOM_TRY(const auto x, p.kept());
  LOOM_TRY(const auto dy, p.input());
  LOOM_TRY(const auto dhidden, p.matmul_gradient(hidden, dy, "down.weight", biases.down));
  LOOM_TRY(const auto both, p.gated_gradient(gate, up, dhidden, "activation"));
  LOOM_TRY(const auto of_gate, p.matmul_gradient(x, both.first, "gate.weight", biases.gate));
  LOOM_TRY(const auto of_up, p.matmul_gradient(x, both.second, "up.weight", biases.up));
  LOOM_TRY(const auto dx, p.add(of_gate, of_up));
  return p.result(dx);
}

// x [B, T, C], C even -> [B, C T]. Nobody would want the layer; each op is in it.
inline Result<void> declare_own_everything(ForeignPass& p) {
  LOOM_TRY(const double width, p.setting("width"));
  const auto n = static_cast<std::size_t>(width);
  for (const char* name : {"gamma", "ln.gamma", "scale"})
    LOOM_TRY_VOID(p.declare_weight(name, std::array{n}, "ones", 0));
  LOOM_TRY_VOID(p.declare_weight("ln.beta", std::array{n}, "", 0));
  LOOM_TRY_VOID(p.declare_weight("q.bias", std::array{n}, "uniform", 0.5));
  return p.declare_weight("q.weight", std::array{n, n}, "normal", 0.3);
}

inline Result<void> own_everything_forward(ForeignPass& p) {
  LOOM_TRY(const double rate, p.setting("rate"));
  LOOM_TRY(const auto x, p.input());
  LOOM_TRY(const Shape s, p.shape(x));
  const std::size_t b = s[0], t = s[1], c = s[2];
  LOOM_TRY(const auto n, p.rms_norm(x, "gamma", 1e-5));
  LOOM_TRY(const auto l, p.layer_norm(n, "ln.gamma", "ln.beta", 1e-5));
  LOOM_TRY(const auto q, p.matmul(l, "q.weight", "q.bias"));
  LOOM_TRY(const auto scores, p.product(q, false, l, true));
  LOOM_TRY(const auto probabilities, p.softmax(scores, 2));
  LOOM_TRY(const auto o, p.product(probabilities, false, l, false));
  LOOM_TRY(const auto left, p.slice(o, 2, 0, c / 2));
  LOOM_TRY(const auto right, p.slice(o, 2, c / 2, c / 2));
  LOOM_TRY(const auto g, p.gated(left, right, "tanh"));
  LOOM_TRY(const auto padded, p.pad(g, 2, 1, c));
  LOOM_TRY(const auto m, p.mean(x, 1));
  LOOM_TRY(const auto r, p.repeat(m, 1, t));
  LOOM_TRY(const auto w, p.weight("scale", r));
  LOOM_TRY(const auto rw, p.multiply(r, w));
  LOOM_TRY(const auto h, p.add(padded, rw));
  LOOM_TRY(const auto turned, p.permute(h, std::array<std::size_t, 3>{0, 2, 1}));
  LOOM_TRY(const auto flat, p.reshape(turned, std::array{b, c * t}));
  LOOM_TRY(const auto half, p.scale(flat, 0.5));
  LOOM_TRY(const auto a, p.activate(half, "activation"));
  LOOM_TRY(const auto one, p.fill(a, 1));
  LOOM_TRY(const auto sum, p.add(a, one));
  LOOM_TRY(const auto y, p.dropout(sum, rate, 3));
  for (const auto tensor : {x, n, l, q, probabilities, left, right, r, half}) LOOM_TRY_VOID(p.keep(tensor));
  return p.result(y);
}

inline Result<void> own_everything_backward(ForeignPass& p) {
  LOOM_TRY(const double rate, p.setting("rate"));
  std::array<ForeignPass::Ref, 9> kept{};
  for (std::size_t i = kept.size(); i-- > 0;) {
    LOOM_TRY(kept[i], p.kept());
  }
  const auto [x, n, l, q, probabilities, left, right, r, half] = kept;
  LOOM_TRY(const Shape s, p.shape(x));
  const std::size_t b = s[0], t = s[1], c = s[2];
  LOOM_TRY(const auto dy, p.input());
  LOOM_TRY(const auto dsum, p.dropout(dy, rate, 3));
  LOOM_TRY(const auto dhalf, p.activate_gradient(half, dsum, "activation"));
  LOOM_TRY(const auto dflat, p.scale(dhalf, 0.5));
  LOOM_TRY(const auto dturned, p.reshape(dflat, std::array{b, c, t}));
  LOOM_TRY(const auto dh, p.permute(dturned, std::array<std::size_t, 3>{0, 2, 1}));
  LOOM_TRY(const auto dg, p.slice(dh, 2, 1, c / 2));
  LOOM_TRY(const auto halves, p.gated_gradient(left, right, dg, "tanh"));
  LOOM_TRY(const auto of_left, p.pad(halves.first, 2, 0, c));
  LOOM_TRY(const auto of_right, p.pad(halves.second, 2, c / 2, c));
  LOOM_TRY(const auto d_o, p.add(of_left, of_right));
  LOOM_TRY(const auto dp, p.product(d_o, false, l, true));
  LOOM_TRY(const auto dl_values, p.product(probabilities, true, d_o, false));
  LOOM_TRY(const auto ds, p.softmax_gradient(probabilities, dp, 2));
  LOOM_TRY(const auto dq, p.product(ds, false, l, false));
  LOOM_TRY(const auto dl_keys, p.product(ds, true, q, false));
  LOOM_TRY(const auto dl_query, p.matmul_gradient(l, dq, "q.weight", "q.bias"));
  LOOM_TRY(const auto two, p.add(dl_values, dl_keys));
  LOOM_TRY(const auto dl, p.add(two, dl_query));
  LOOM_TRY(const auto dn, p.layer_norm_gradient(n, dl, "ln.gamma", "ln.beta", 1e-5));
  LOOM_TRY(const auto dx_norm, p.rms_norm_gradient(x, dn, "gamma", 1e-5));
  LOOM_TRY(const auto dscale, p.multiply(dh, r));
  LOOM_TRY_VOID(p.add_gradient("scale", dscale));
  LOOM_TRY(const auto w, p.weight("scale", dh));
  LOOM_TRY(const auto dr, p.multiply(dh, w));
  LOOM_TRY(const auto dm, p.mean(dr, 1));  // of a repeat: the sum, and of the mean before it: its part
  LOOM_TRY(const auto dx_mean, p.repeat(dm, 1, t));
  LOOM_TRY(const auto dx, p.add(dx_norm, dx_mean));
  return p.result(dx);
}

inline constexpr const char* kOwnSwiglu = R"({"name":"own_swiglu","width_key":"input_height",
  "help":"y = Wd (act(Wg x + bg) * (Wu x + bu)) + bd","shapes":"[..., input_height] -> the same shape","settings":[
  {"key":"input_height","type":"integer","min":1,"help":"Required. Features of input and output"},
  {"key":"output_height","type":"integer","min":1,"help":"Required. Features in between"},
  {"key":"bias","type":"boolean","help":"Adds bg, bu and bd"},
  {"key":"activation","type":"activation","default":"silu","help":"Of the gate"}]})";
inline constexpr const char* kOwnEverything = R"({"name":"own_everything","width_key":"width","sample_axes":2,
  "settings":[{"key":"width","type":"integer","min":2,"help":"Required. Features of a row"},
  {"key":"rate","type":"number","min":0,"max":0.9,"default":0.25,"help":"Of the dropout"},
  {"key":"mode","type":"choice","choices":["plain","other"],"help":"What the rows are"},
  {"key":"activation","type":"activation","default":"gelu","help":"Of the gate"}]})";

// Once for a process.
inline void register_own_kinds() {
  static const bool once = [] {
    const auto add = [](const char* text, const ForeignCallbacks& callbacks) {
      auto description = ForeignDescription::read(parse_json(text).value());
      EXPECT_TRUE(description) << description.error().text();
      const auto done = register_kind(std::move(*description), callbacks);
      EXPECT_TRUE(done) << done.error().text();
    };
    add(kOwnSwiglu, {declare_own_swiglu, own_swiglu_forward, own_swiglu_backward});
    add(kOwnEverything, {declare_own_everything, own_everything_forward, own_everything_backward});
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace loom::test

// Attention, recurrent kinds and the selective scan.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "io/onnx_writer/emitter.h"
#include "ops/rope/rope.h"

namespace loom::onnx_out {
namespace {

std::int64_t whole(std::size_t n) { return static_cast<std::int64_t>(n); }

RopeConfig rope_of(const Settings& s, std::size_t head_dim) {
  RopeConfig rope;
  rope.dim = static_cast<std::size_t>(static_cast<double>(head_dim) * s.number("partial_rotary_factor"));
  rope.theta = s.number("rope_theta"), rope.interleaved = s.text("rope_style") == "interleaved";
  const Settings scaling = s.object("rope_scaling");
  const std::string type = scaling.text("type");
  using Scaling = RopeConfig::Scaling;
  rope.scaling = type == "linear"   ? Scaling::Linear
                 : type == "llama3" ? Scaling::Llama3
                 : type == "yarn"   ? Scaling::Yarn
                                    : Scaling::None;
  if (rope.scaling == Scaling::None) return rope;
  rope.factor = scaling.number("factor");
  rope.low_freq_factor = scaling.number("low_freq_factor");
  rope.high_freq_factor = scaling.number("high_freq_factor");
  rope.original_max_positions = scaling.number("original_max_position_embeddings");
  rope.beta_fast = scaling.number("beta_fast"), rope.beta_slow = scaling.number("beta_slow");
  rope.attention_factor = scaling.number("attention_factor");
  return rope;
}

// Sines and cosines of all positions as Loom has them, [T, 1, R / 2].
struct Rotation {
  std::size_t dim = 0;
  bool interleaved = false;
  std::string cos, sin;
};

Result<Rotation> rotation(Emitter& emit, const Part& part, std::size_t steps, std::size_t head_dim) {
  const RopeConfig config = rope_of(part.settings, head_dim);
  LOOM_TRY(RopeTable table, RopeTable::create(config, steps));
  table.fill(steps);
  const std::size_t half = config.dim / 2;
  std::vector<float> cosines, sines;
  for (std::size_t t = 0; t < steps; ++t) {
    cosines.insert(cosines.end(), table.row(t), table.row(t) + half);
    sines.insert(sines.end(), table.row(t) + half, table.row(t) + 2 * half);
  }
  const std::array<std::size_t, 3> shape{steps, 1, half};
  return Rotation{config.dim, config.interleaved, emit.graph.floats(part.path + ".rope.cos", shape, cosines),
                  emit.graph.floats(part.path + ".rope.sin", shape, sines)};
}

// x [B, T, heads, head_dim].
Result<Value> rotated(Emitter& emit, const Part& part, const Rotation& r, const Value& x) {
  const std::size_t half = r.dim / 2;
  Value a, b;
  Value pairs;
  if (r.interleaved) {
    LOOM_TRY(pairs, emit.slice(part.path, x, 3, 0, r.dim));
    LOOM_TRY(const Shape shape, Shape::create(std::array{x.shape[0], x.shape[1], x.shape[2], half, std::size_t{2}}));
    pairs = emit.reshape(part.path, pairs, shape);
    const auto names =
        emit.graph.nodes(part.path, "Split", {pairs.name, emit.graph.ints({1, 1})}, {{"axis", std::int64_t{-1}}}, 2);
    a = {names[0], with_extent(shape, 4, 1)}, b = {names[1], a.shape};
    const Shape flat = with_extent(x.shape, 3, half);
    a = emit.reshape(part.path, a, flat), b = emit.reshape(part.path, b, flat);
  } else {
    LOOM_TRY(a, emit.slice(part.path, x, 3, 0, half));
    LOOM_TRY(b, emit.slice(part.path, x, 3, half, r.dim));
  }
  const auto times = [&](const Value& v, const std::string& by) { return emit.op(part.path, "Mul", v, {v.name, by}); };
  Value first = emit.op(part.path, "Sub", a, {times(a, r.cos).name, times(b, r.sin).name});
  Value second = emit.op(part.path, "Add", a, {times(b, r.cos).name, times(a, r.sin).name});
  std::vector<std::string> parts;
  const Attributes last{{"axis", std::int64_t{-1}}};
  if (r.interleaved) {
    const auto column = [&](const Value& v) {
      return emit.graph.node(part.path, "Unsqueeze", {v.name, emit.graph.ints({-1})});
    };
    const Value joined = emit.op(part.path, "Concat", pairs.shape, {column(first), column(second)}, last);
    parts.push_back(emit.reshape(part.path, joined, with_extent(x.shape, 3, r.dim)).name);
  } else {
    parts = {first.name, second.name};
  }
  if (r.dim < x.shape[3]) {
    LOOM_TRY(const Value rest, emit.slice(part.path, x, 3, r.dim, x.shape[3]));
    parts.push_back(rest.name);
  }
  return parts.size() == 1 ? Value{parts[0], x.shape} : emit.op(part.path, "Concat", x, parts, last);
}

// Sizes of attention, and what its parts hand on: all of [B, T, heads, head_dim].
struct Heads {
  std::size_t steps, heads, kv_heads, head_dim;
};

// q or k: product, norm, heads, rotation; v likewise without a norm.
Result<Value> heads_of(Emitter& emit, const Part& part, const Value& x, const char* name, std::size_t heads,
                       const Heads& h, const Rotation* rotation) {
  const std::string base(name);
  LOOM_TRY(Value y,
           emit.linear(part.path, x, weight_of(part, base + ".weight"), optional_weight(part, base + ".bias")));
  LOOM_TRY(const Shape shape, Shape::create(std::array{x.shape[0], h.steps, heads, h.head_dim}));
  const Weight* gain = base == "v" ? nullptr : optional_weight(part, base + "_norm");
  const bool full = part.settings.text("qk_norm") == "full";
  const auto norm = [&]() -> Result<void> {
    LOOM_TRY(const std::string weight, emit.weight(*gain));
    y = emit.rms(part.path, y, part.settings.number("rms_norm_eps"));
    y = emit.op(part.path, "Mul", y, {y.name, weight});
    return {};
  };
  if (gain != nullptr && full) {
    LOOM_TRY_VOID(norm());
  }
  y = emit.reshape(part.path, y, shape);
  if (gain != nullptr && !full) {
    LOOM_TRY_VOID(norm());
  }
  if (rotation == nullptr) return y;
  return rotated(emit, part, *rotation, y);
}

// 0 where a position is seen, minus infinity elsewhere, [T, T]; empty where all see all.
std::string mask_of(Emitter& emit, const Part& part, std::size_t steps) {
  const bool causal = part.settings.flag("causal");
  const std::size_t window = part.settings.size("sliding_window");
  if (!causal && window == 0) return {};
  std::vector<float> values(steps * steps, 0);
  for (std::size_t q = 0; q < steps; ++q)
    for (std::size_t k = 0; k < steps; ++k) {
      const bool later = causal && k > q, gone = window != 0 && k + window <= q;
      if (later || gone) values[q * steps + k] = -std::numeric_limits<float>::infinity();
    }
  const std::string name = fmt::format("constant/mask[{},{},{}]", steps, causal ? "causal" : "all", window);
  return emit.graph.floats(name, {{steps, steps}}, values);
}

// Heads of queries that share keys stand on an axis of their own: q [B, K, G, T, D], k and v [B, K, 1, T, D].
Result<Value> grouped(Emitter& emit, const Part& part, const Value& x, std::size_t heads, const Heads& h) {
  LOOM_TRY(const Shape shape,
           Shape::create(std::array{x.shape[0], h.steps, h.kv_heads, heads / h.kv_heads, h.head_dim}));
  return emit.transpose(part.path, emit.reshape(part.path, x, shape), {0, 2, 3, 1, 4});
}

Result<Value> attended(Emitter& emit, const Part& part, const Heads& h, const Value& q, const Value& k,
                       const Value& v) {
  const Settings& s = part.settings;
  LOOM_TRY(Value query, grouped(emit, part, q, h.heads, h));
  LOOM_TRY(const Value keys, grouped(emit, part, k, h.kv_heads, h));
  LOOM_TRY(const Value values, grouped(emit, part, v, h.kv_heads, h));
  LOOM_TRY(const Value turned, emit.transpose(part.path, keys, {0, 1, 2, 4, 3}));
  const double given = s.number("attn_scale");
  const double scale = given == 0 ? 1 / std::sqrt(static_cast<double>(h.head_dim)) : given;
  query = emit.with(part.path, "Mul", query, static_cast<float>(scale));
  Value scores = emit.op(part.path, "MatMul", with_extent(query.shape, 4, h.steps), {query.name, turned.name});
  if (const double cap = s.number("logit_softcap"); cap > 0) {
    const Value inner = emit.with(part.path, "Div", scores, static_cast<float>(cap));
    scores = emit.with(part.path, "Mul", emit.op(part.path, "Tanh", inner, {inner.name}), static_cast<float>(cap));
  }
  if (const std::string mask = mask_of(emit, part, h.steps); !mask.empty())
    scores = emit.op(part.path, "Add", scores, {scores.name, mask});
  const Value shares = emit.op(part.path, "Softmax", scores, {scores.name}, {{"axis", std::int64_t{-1}}});
  const Value mixed = emit.op(part.path, "MatMul", query, {shares.name, values.name});
  LOOM_TRY(const Value back, emit.transpose(part.path, mixed, {0, 3, 1, 2, 4}));
  LOOM_TRY(const Shape flat, Shape::create(std::array{q.shape[0], h.steps, h.heads * h.head_dim}));
  return emit.reshape(part.path, back, flat);
}

}  // namespace

Result<Value> emit_mha(Emitter& emit, const Part& part, const Value& x) {
  const Settings& s = part.settings;
  if (s.flag("cross")) return unsupported(part.path, "mha: cross-attention reads a second input");
  if (x.shape.rank() != 3) return unsupported(part.path, "mha takes the batch for steps: [B, T, d_model] expected");
  const Heads h{x.shape[1], s.size("num_heads"), s.size("num_kv_heads"), s.size("head_dim")};
  std::optional<Rotation> turns;
  if (s.flag("rope")) {
    LOOM_TRY(turns, rotation(emit, part, h.steps, h.head_dim));
  }
  const Rotation* turn = turns ? &*turns : nullptr;
  LOOM_TRY(const Value q, heads_of(emit, part, x, "q", h.heads, h, turn));
  LOOM_TRY(const Value k, heads_of(emit, part, x, "k", h.kv_heads, h, turn));
  LOOM_TRY(const Value v, heads_of(emit, part, x, "v", h.kv_heads, h, nullptr));
  LOOM_TRY(Value o, attended(emit, part, h, q, k, v));
  if (const Weight* gain = optional_weight(part, "inner_norm")) {
    LOOM_TRY(const std::string name, emit.weight(*gain));
    o = emit.rms(part.path, o, s.number("rms_norm_eps"));
    o = emit.op(part.path, "Mul", o, {o.name, name});
  }
  return emit.linear(part.path, o, weight_of(part, "o.weight"), optional_weight(part, "o.bias"));
}

namespace {

// A recurrent operator of ONNX: its name, and its gates in its own order by the prefixes of Loom's weights.
struct RecurrentOp {
  const char* name;
  std::vector<std::string> gates;
};

RecurrentOp recurrent_op(std::string_view kind) {
  if (kind == "lstm") return {"LSTM", {"i.", "o.", "f.", "g."}};
  if (kind == "gru") return {"GRU", {"z.", "r.", "n."}};
  return {"RNN", {""}};
}

// The gates of all directions as one tensor [directions, gates * rows, cols], an initialiser that shares use too.
Result<std::string> joined(Emitter& emit, const Part& part, const RecurrentOp& op, bool both, const char* weight) {
  std::vector<float> values;
  std::size_t cols = 0, rows = 0;
  std::string name;
  for (const char* direction : {"", "reverse."}) {
    if (*direction != '\0' && !both) break;
    for (const std::string& gate : op.gates) {
      const Weight& w = weight_of(part, direction + gate + weight);
      LOOM_TRY_VOID(emit.check_matrix(w));
      for (const Adapter& adapter : w.adapters())
        if (adapter.enabled) return unsupported(part.path, "adapters of a recurrent layer; merge them first");
      const std::vector<float> own = emit.values_of(w);
      values.insert(values.end(), own.begin(), own.end());
      cols = w.cols(), rows = w.rows();
      if (name.empty()) name = emit.name_of(w) + ".all";
    }
  }
  const std::array<std::size_t, 3> shape{both ? 2u : 1u, rows * op.gates.size(), cols};
  return emit.graph.floats(name, shape, values);
}

// The biases [directions, 2 * gates * units]: those of the input's products, then of the state's.
Result<std::string> joined_biases(Emitter& emit, const Part& part, const RecurrentOp& op, bool both,
                                  std::size_t units) {
  std::vector<float> values;
  std::string name;
  for (const char* direction : {"", "reverse."}) {
    if (*direction != '\0' && !both) break;
    for (const char* weight : {"bias", "bias_hh"})
      for (const std::string& gate : op.gates) {
        const Weight* w = optional_weight(part, direction + gate + weight);
        const std::vector<float> own = w == nullptr ? std::vector<float>(units) : emit.values_of(*w);
        values.insert(values.end(), own.begin(), own.end());
        if (w != nullptr && name.empty()) name = emit.name_of(*w) + ".all";
      }
  }
  const std::array<std::size_t, 2> shape{both ? 2u : 1u, 2 * op.gates.size() * units};
  return emit.graph.floats(name, shape, values);
}

}  // namespace

Result<Value> emit_recurrent(Emitter& emit, const Part& part, const Value& x) {
  const Settings& s = part.settings;
  const std::string kind(part.layer.kind());
  if (s.flag("stateful")) return unsupported(part.path, kind + " is stateful: an ONNX graph keeps no state");
  if (x.shape.rank() != 3)
    return unsupported(part.path, kind + " takes the batch for steps: [B, T, input_height] expected");
  const RecurrentOp op = recurrent_op(kind);
  const bool both = s.flag("bidirectional");
  const std::size_t units = s.size("output_height"), directions = both ? 2 : 1;
  LOOM_TRY(const std::string w, joined(emit, part, op, both, "weight_ih"));
  LOOM_TRY(const std::string r, joined(emit, part, op, both, "weight_hh"));
  std::vector<std::string> inputs{"", w, r};
  if (s.flag("bias")) {
    LOOM_TRY(inputs.emplace_back(), joined_biases(emit, part, op, both, units));
  }
  LOOM_TRY(const Value steps, emit.transpose(part.path, x, {1, 0, 2}));
  inputs[0] = steps.name;
  Attributes attributes{{"hidden_size", whole(units)}};
  if (both) attributes.emplace_back("direction", std::string_view("bidirectional"));
  if (kind == "gru") attributes.emplace_back("linear_before_reset", std::int64_t{1});
  if (kind == "rnn" && s.text("activation") == "relu")
    attributes.emplace_back("activations", std::vector<std::string>(directions, "Relu"));
  const auto names = emit.graph.nodes(part.path, op.name, inputs, attributes, 2);
  LOOM_TRY(const Shape out, part.layer.output_shape(x.shape));
  if (s.flag("return_sequence")) {  // [T, D, B, H]
    const Value all{names[0], Shape::of({x.shape[1], directions, x.shape[0], units})};
    LOOM_TRY(const Value turned, emit.transpose(part.path, all, {2, 0, 1, 3}));
    return emit.reshape(part.path, turned, out);
  }
  const Value last{names[1], Shape::of({directions, x.shape[0], units})};
  LOOM_TRY(const Value turned, emit.transpose(part.path, last, {1, 0, 2}));
  return emit.reshape(part.path, turned, out);
}

namespace {

// The body of the scan over steps: h [B, D, N]; of one step x dt [B, D], dt [B, D], b and c [B, N]. All of its names
// begin with `place`, since the graph around it has others.
std::string scan_body(const std::string& place, std::size_t channels, std::size_t states, const std::string& rates) {
  GraphWriter body(place + "/");
  const std::vector<std::int64_t> state{-1, whole(channels), whole(states)}, wide{-1, whole(channels)},
      narrow{-1, whole(states)};
  const auto input = [&](const char* name, const std::vector<std::int64_t>& dims) {
    const std::string full = place + "/" + name;
    body.input(full, TensorType::Float, dims);
    return full;
  };
  const std::string h = input("h", state), dtx = input("dtx", wide), dt = input("dt", wide), b = input("b", narrow),
                    c = input("c", narrow);
  const std::string behind = body.ints({2}), before = body.ints({1});
  const auto column = [&](const std::string& name) { return body.node(place, "Unsqueeze", {name, behind}); };
  const auto row = [&](const std::string& name) { return body.node(place, "Unsqueeze", {name, before}); };
  const std::string decay = body.node(place, "Exp", {body.node(place, "Mul", {column(dt), rates})});
  const std::string kept = body.node(place, "Mul", {decay, h});
  const std::string fresh = body.node(place, "Mul", {column(dtx), row(b)});
  const std::string next = body.node(place, "Add", {kept, fresh});
  const std::string seen = body.node(place, "Mul", {next, row(c)});
  const std::string y = body.node(place, "ReduceSum", {seen, behind}, {{"keepdims", std::int64_t{0}}});
  body.output(next, TensorType::Float, state);
  body.output(y, TensorType::Float, wide);
  return body.message("step");
}

}  // namespace

Result<Value> emit_s6(Emitter& emit, const Part& part, const Value& x) {
  const Settings& s = part.settings;
  if (s.flag("stateful")) return unsupported(part.path, "s6 is stateful: an ONNX graph keeps no state");
  if (x.shape.rank() != 3) return unsupported(part.path, "s6 takes the batch for steps: [B, T, input_height] expected");
  const std::size_t channels = s.size("input_height"), states = s.size("state_size");
  LOOM_TRY(const Value low, emit.linear(part.path, x, weight_of(part, "dt_in.weight"), nullptr));
  LOOM_TRY(Value dt, emit.linear(part.path, low, weight_of(part, "dt.weight"), optional_weight(part, "dt.bias")));
  LOOM_TRY(const Value b, emit.linear(part.path, x, weight_of(part, "b.weight"), nullptr));
  LOOM_TRY(const Value c, emit.linear(part.path, x, weight_of(part, "c.weight"), nullptr));
  dt = emit.op(part.path, "Softplus", dt, {dt.name});
  const Value dtx = emit.op(part.path, "Mul", x, {x.name, dt.name});
  LOOM_TRY(const std::string log_rates, emit.weight(weight_of(part, "a_log")));
  const std::string rates = emit.graph.node(part.path, "Neg", {emit.graph.node(part.path, "Exp", {log_rates})});
  const Value h = emit.zeros(part.path, x, Shape::of({x.shape[0], channels, states}));
  const Attributes attributes{{"num_scan_inputs", std::int64_t{4}},
                              {"scan_input_axes", std::vector<std::int64_t>{1, 1, 1, 1}},
                              {"scan_output_axes", std::vector<std::int64_t>{1}},
                              NodeAttribute::graph("body", scan_body(h.name + ".step", channels, states, rates))};
  const auto names = emit.graph.nodes(part.path, "Scan", {h.name, dtx.name, dt.name, b.name, c.name}, attributes, 2);
  LOOM_TRY(const std::string skip, emit.weight(weight_of(part, "d_skip")));
  const Value past = emit.op(part.path, "Mul", x, {x.name, skip});
  return emit.op(part.path, "Add", x, {names[1], past.name});
}

}  // namespace loom::onnx_out

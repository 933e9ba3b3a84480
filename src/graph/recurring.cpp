// RNN, GRU and LSTM over a sequence, with initial state, lengths, peepholes and both directions (Elman 1990; Cho et al.
// 2014; Hochreiter & Schmidhuber 1997). Products go through ops/gemm; the gates are computed in f64 and rounded once.
// An LSTM of constant weights with the usual gates goes through ops/matmul and ops/recurrent. DynamicQuantizeLSTM,
// which ONNX Runtime's dynamic quantisation makes of LSTMs, has weights of 8 bits: the sequence as a whole and the
// states of each step are quantised to uint8 by their range, and the products of codes are exact.

#include <algorithm>
#include <array>

#include "core/nearest.h"
#include "graph/operation.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/matmul.h"
#include "ops/non_finite.h"
#include "ops/recurrent/recurrent.h"
#include "simd/math64.h"

namespace loom::graph {
namespace {

struct Gate {
  double (*f)(double x, double alpha, double beta) = nullptr;
  double alpha = 0, beta = 0;
  double operator()(double x) const { return f(x, alpha, beta); }
};
double sigmoid_gate(double x, double, double) { return sigmoid64(x); }
double tanh_gate(double x, double, double) { return tanh64(x); }
double relu_gate(double x, double, double) { return x > 0 ? x : 0; }
double softsign_gate(double x, double, double) { return x / (1 + (x < 0 ? -x : x)); }
double softplus_gate(double x, double, double) { return (x > 0 ? x : 0) + log1p64(exp64(x > 0 ? -x : x)); }
double hard_sigmoid_gate(double x, double alpha, double beta) { return std::clamp(alpha * x + beta, 0.0, 1.0); }
double affine_gate(double x, double alpha, double beta) { return alpha * x + beta; }
double scaled_tanh_gate(double x, double alpha, double beta) { return alpha * tanh64(beta * x); }
double leaky_relu_gate(double x, double alpha, double) { return x < 0 ? alpha * x : x; }
double thresholded_relu_gate(double x, double alpha, double) { return x > alpha ? x : 0; }
double elu_gate(double x, double alpha, double) { return x < 0 ? alpha * expm1_64(x) : x; }

// Activations of gates, how many of alpha and beta each reads, and the values where the node gives none: those of
// ONNX's operation of that name. Affine and ScaledTanh have no such operation, and no default.
constexpr double kNoDefault = __builtin_huge_val();
constexpr struct GateRow {
  std::string_view name;
  double (*f)(double, double, double);
  int parameters = 0;
  double alpha = 0, beta = 0;
} kGates[] = {{"sigmoid", sigmoid_gate},
              {"tanh", tanh_gate},
              {"relu", relu_gate},
              {"softsign", softsign_gate},
              {"softplus", softplus_gate},
              {"hardsigmoid", hard_sigmoid_gate, 2, 0.2, 0.5},
              {"affine", affine_gate, 2, kNoDefault, kNoDefault},
              {"scaledtanh", scaled_tanh_gate, 2, kNoDefault, kNoDefault},
              {"leakyrelu", leaky_relu_gate, 1, 0.01},
              {"thresholdedrelu", thresholded_relu_gate, 1, 1},
              {"elu", elu_gate, 1, 1}};

// The gates of the node by their names. activation_alpha and activation_beta hold a value for each activation that
// reads one, in order; values that no activation reads are an error.
Result<std::vector<Gate>> gates_named(const Op& op, const std::vector<std::string>& names) {
  const auto list = [&](std::string_view key) {
    const Attribute* const a = op.node.find(key);
    return a != nullptr ? std::span<const double>(a->numbers) : std::span<const double>();
  };
  std::span<const double> alphas = list("activation_alpha"), betas = list("activation_beta");
  const auto next = [](std::span<const double>& values, double fallback) {
    if (values.empty()) return fallback;
    const double value = values.front();
    values = values.subspan(1);
    return value;
  };
  std::vector<Gate> gates;
  for (const std::string& given : names) {
    std::string name = given;
    for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    const auto* const row = std::ranges::find(kGates, std::string_view(name), &GateRow::name);
    if (row == std::end(kGates)) return op.refuse(Code::Unsupported, "the activation \"{}\"", printable(given));
    Gate gate{row->f};
    if (row->parameters > 0) gate.alpha = next(alphas, row->alpha);
    if (row->parameters > 1) gate.beta = next(betas, row->beta);
    if (gate.alpha == kNoDefault || gate.beta == kNoDefault)
      return op.refuse(Code::InvalidConfig,
                       "{} reads a value of activation_alpha and of activation_beta, which are missing",
                       printable(given));
    gates.push_back(gate);
  }
  if (!alphas.empty() || !betas.empty())
    return op.refuse(Code::InvalidConfig,
                     "{} values of activation_alpha and {} of activation_beta are left, which no activation reads",
                     alphas.size(), betas.size());
  return gates;
}

struct Recurrence {
  std::size_t gates = 1, directions = 1, steps = 0, batch = 0, inputs = 0, units = 0;
  bool reversed = false, batch_first = false, linear_before_reset = false, couples = false, is_quantized = false;
  double clip = 0;                // 0: none
  std::vector<Gate> activations;  // per direction one to three

  const Gate& gate(std::size_t direction, std::size_t i) const {
    return activations[direction * (activations.size() / directions) + i];
  }
  double clipped(double x) const { return clip == 0 ? x : std::clamp(x, -clip, clip); }
};

Result<Recurrence> recurrence_of(const Op& op) {
  Recurrence r;
  const Value &x = op.in(0), &w = op.in(1), &h = op.in(2);
  r.is_quantized = op.node.op == "DynamicQuantizeLSTM";
  r.gates = op.node.op == "GRU" ? 3 : op.node.op == "RNN" ? 1 : 4;
  const std::string direction = op.text("direction", "forward");
  r.directions = direction == "bidirectional" ? 2 : 1, r.reversed = direction == "reverse";
  r.batch_first = op.integer("layout", 0) != 0, r.linear_before_reset = op.integer("linear_before_reset", 0) != 0;
  r.couples = op.integer("input_forget", 0) != 0, r.clip = op.number("clip", 0);
  if (!(r.clip >= 0)) return op.refuse(Code::InvalidConfig, "clip {}", r.clip);
  const auto fits = [&](Type type) {
    return r.is_quantized ? type == Type::u8 || type == Type::i8 : type == Type::f32;
  };
  if (x.type != Type::f32 || !fits(w.type) || !fits(h.type))
    return op.refuse(Code::Unsupported, "of {} with weights of {} and {}", name_of(x.type), name_of(w.type),
                     name_of(h.type));
  if (x.rank() != 3 || w.rank() != 3 || h.rank() != 3) return op.refuse(Code::ShapeMismatch, "of {}", text_of(x.dims));
  r.steps = x.dims[r.batch_first ? 1 : 0], r.batch = x.dims[r.batch_first ? 0 : 1], r.inputs = x.dims[2],
  r.units = h.dims[r.is_quantized ? 1 : 2];
  if (const auto said = op.integer("hidden_size", static_cast<std::int64_t>(r.units));
      said != static_cast<std::int64_t>(r.units))
    return op.refuse(Code::ShapeMismatch, "hidden_size {} with weights {}", said, text_of(h.dims));
  Dims wanted_w{r.directions, r.gates * r.units, r.inputs}, wanted_h{r.directions, r.gates * r.units, r.units};
  if (r.is_quantized) std::swap(wanted_w[1], wanted_w[2]), std::swap(wanted_h[1], wanted_h[2]);
  if (w.dims != wanted_w || h.dims != wanted_h || x.elements() == 0 || r.units == 0)
    return op.refuse(Code::ShapeMismatch, "{} with weights {} and {}", text_of(x.dims), text_of(w.dims),
                     text_of(h.dims));
  std::vector<std::string> names;
  if (const Attribute* const a = op.node.find("activations")) names = a->texts;
  if (names.empty())
    for (std::size_t d = 0; d < r.directions; ++d) {
      if (r.gates > 1) names.emplace_back("Sigmoid");
      names.emplace_back("Tanh");
      if (r.gates == 4) names.emplace_back("Tanh");
    }
  if (names.size() != r.directions * (r.gates == 4 ? 3 : r.gates == 3 ? 2 : 1))
    return op.refuse(Code::InvalidConfig, "{} activations", names.size());
  LOOM_TRY(r.activations, gates_named(op, names));
  const auto check = [&](std::size_t i, std::size_t n) {
    return !op.has(i) || (op.in(i).elements() == n && (i == 4 || op.in(i).type == Type::f32));
  };
  const std::size_t state = r.directions * r.batch * r.units;
  if (!check(3, r.directions * 2 * r.gates * r.units) || !check(4, r.batch) || !check(5, state) ||
      (r.gates == 4 && (!check(6, state) || !check(7, r.directions * 3 * r.units))))
    return op.refuse(Code::ShapeMismatch, "a bias, a state or peepholes of another size");
  return r;
}

// Weights [k, width] of 8 bits, one direction of them.
struct Codes {
  const double* centred = nullptr;  // without their zero points
  const Value* scales = nullptr;    // one for each direction, or for each of its columns
  std::size_t direction = 0, k = 0, width = 0;
  double scale(std::size_t column, std::size_t directions) const {
    return scales->number(scales->elements() == directions ? direction : direction * width + column);
  }
};

// Codes at input `i`, whose scales and zero points are at inputs `scales` and the next one.
Codes codes_of(const Op& op, std::size_t i, std::size_t scales, std::size_t direction) {
  const Value &w = op.in(i), &zeros = op.in(scales + 1);
  const std::size_t directions = w.dims[0], k = w.dims[1], width = w.dims[2], n = k * width;
  double* const centred = op.exec.arena.take<double>(n);
  for_rows(op.exec, k, width, [&](std::size_t row) {
    for (std::size_t c = 0; c < width; ++c)
      centred[row * width + c] = w.number(direction * n + row * width + c) -
                                 zeros.number(zeros.elements() == directions ? direction : direction * width + c);
  });
  return {centred, &op.in(scales), direction, k, width};
}

Result<void> check_codes(const Op& op, const Recurrence& r) {
  for (const std::size_t i : {8, 9, 10, 11}) {
    if (!op.has(i)) return op.refuse(Code::CorruptData, "input {} is missing", i);
    const Type weights = op.in(i < 10 ? 1 : 2).type;
    const std::size_t n = op.in(i).elements();
    if ((n != r.directions && n != r.directions * r.gates * r.units) ||
        op.in(i).type != (i % 2 == 0 ? Type::f32 : weights))
      return op.refuse(Code::ShapeMismatch, "scales or zero points of {} {}", name_of(op.in(i).type),
                       text_of(op.in(i).dims));
  }
  return {};
}

// y = x w, where x [m, k] becomes uint8 by its range, zero included, as DynamicQuantizeLinear has it.
void multiply_codes(const Exec& exec, const float* x, std::size_t m, const Codes& w, std::size_t directions, float* y) {
  const ArenaScope scope(exec.arena);
  double* const codes = exec.arena.take<double>(m * w.k);
  double* const sums = exec.arena.take<double>(m * w.width);
  float least = 0, most = 0;
  for (std::size_t i = 0; i < m * w.k && !exec.rehearsal(); ++i)
    least = std::min(least, x[i]), most = std::max(most, x[i]);
  const float step = most == least ? 1.0f : (most - least) / 255.0f;
  const double zero = std::clamp(nearest_even(static_cast<double>(-least / step)), 0.0, 255.0);
  for (std::size_t i = 0; i < m * w.k && !exec.rehearsal(); ++i)
    codes[i] = std::clamp(nearest_even(static_cast<double>(x[i] / step)) + zero, 0.0, 255.0) - zero;
  gemm(exec, {codes, w.k, 1}, {w.centred, w.width, 1}, w.k, {sums, m, w.width, Element::f64});
  for_rows(exec, m, w.width, [&](std::size_t row) {
    for (std::size_t c = 0; c < w.width; ++c)
      y[row * w.width + c] =
          snap(static_cast<float>(sums[row * w.width + c]) * (step * static_cast<float>(w.scale(c, directions))));
  });
}

struct Sweep {
  const Op& op;
  const Recurrence& r;
  std::size_t direction;
  const float* xw;  // [steps * batch, gates * units]
  float* hw;        // [batch, gates * units]
  float *h, *c;     // [batch, units]
  float* reset;     // [batch, units] of gru: r * h
  Codes codes{};    // of the states' weights, where they are quantised

  double bias(bool recurrent, std::size_t gate, std::size_t u) const {
    if (!op.has(3)) return 0;
    const std::size_t row = r.gates * r.units;
    return static_cast<double>(op.in(3).as<float>()[direction * 2 * row + (recurrent ? row : 0) + gate * r.units + u]);
  }
  double x_product(std::size_t t, std::size_t b, std::size_t gate, std::size_t u) const {
    const std::size_t row = r.batch_first ? b * r.steps + t : t * r.batch + b;
    return static_cast<double>(xw[(row * r.gates + gate) * r.units + u]);
  }
  double h_product(std::size_t b, std::size_t gate, std::size_t u) const {
    return static_cast<double>(hw[(b * r.gates + gate) * r.units + u]);
  }
  double sum(std::size_t t, std::size_t b, std::size_t gate, std::size_t u) const {
    return x_product(t, b, gate, u) + h_product(b, gate, u) + bias(false, gate, u) + bias(true, gate, u);
  }
  double peephole(std::size_t which, std::size_t u) const {
    return op.has(7) ? static_cast<double>(op.in(7).as<float>()[(direction * 3 + which) * r.units + u]) : 0.0;
  }

  void multiply(const float* state, std::size_t gate, std::size_t gates) const {
    if (r.is_quantized) return multiply_codes(op.exec, state, r.batch, codes, r.directions, hw);
    const float* const weight = op.in(2).as<float>() + (direction * r.gates + gate) * r.units * r.units;
    for (std::size_t g = 0; g < gates; ++g) {  // each gate has its place in every row
      const ArenaScope scope(op.exec.arena);
      Tensor part = op.exec.arena.tensor(r.batch, r.units);
      gemm(op.exec, {state, r.units, 1}, {weight + g * r.units * r.units, 1, r.units}, r.units, part);
      for (std::size_t b = 0; b < r.batch && !op.measures(); ++b)
        std::copy_n(part.row<float>(b), r.units, hw + (b * r.gates + gate + g) * r.units);
    }
  }

  // Gates i, o, f, c.
  void lstm(std::size_t t, std::size_t b) const {
    for (std::size_t u = 0; u < r.units; ++u) {
      float &hu = h[b * r.units + u], &cu = c[b * r.units + u];
      const auto before = static_cast<double>(cu);
      const double i = r.gate(direction, 0)(r.clipped(sum(t, b, 0, u) + peephole(0, u) * before));
      const double f = r.couples ? 1 - i : r.gate(direction, 0)(r.clipped(sum(t, b, 2, u) + peephole(2, u) * before));
      const double fresh = r.gate(direction, 1)(r.clipped(sum(t, b, 3, u)));
      cu = snap(static_cast<float>(f * before + i * fresh));
      const auto now = static_cast<double>(cu);
      const double o = r.gate(direction, 0)(r.clipped(sum(t, b, 1, u) + peephole(1, u) * now));
      hu = snap(static_cast<float>(o * r.gate(direction, 2)(now)));
    }
  }
  // Gates z, r, h; the reset gate before the product, or after it.
  void gru(std::size_t t, std::size_t b) const {
    for (std::size_t u = 0; u < r.units; ++u) {
      const double z = r.gate(direction, 0)(r.clipped(sum(t, b, 0, u)));
      double candidate = 0;
      if (r.linear_before_reset) {
        const double gate = r.gate(direction, 0)(r.clipped(sum(t, b, 1, u)));
        candidate = x_product(t, b, 2, u) + bias(false, 2, u) + gate * (h_product(b, 2, u) + bias(true, 2, u));
      } else {
        candidate = sum(t, b, 2, u);
      }
      const double fresh = r.gate(direction, 1)(r.clipped(candidate));
      float& hu = h[b * r.units + u];
      hu = snap(static_cast<float>((1 - z) * fresh + z * static_cast<double>(hu)));
    }
  }
  void rnn(std::size_t t, std::size_t b) const {
    for (std::size_t u = 0; u < r.units; ++u)
      h[b * r.units + u] = snap(static_cast<float>(r.gate(direction, 0)(r.clipped(sum(t, b, 0, u)))));
  }

  // Products with the state, then the gates of every sample that has this step.
  void step(std::size_t t, const std::vector<std::size_t>& at, const std::vector<bool>& runs) const {
    const bool resets = r.gates == 3 && !r.linear_before_reset;
    multiply(h, 0, resets ? 2 : r.gates);
    if (resets) {
      for (std::size_t i = 0; i < r.batch * r.units && !op.measures(); ++i) {
        const std::size_t b = i / r.units;
        const double gate = r.gate(direction, 0)(r.clipped(sum(at[b], b, 1, i % r.units)));
        reset[i] = snap(static_cast<float>(gate * static_cast<double>(h[i])));
      }
      multiply(reset, 2, 1);
    }
    for (std::size_t b = 0; b < r.batch && !op.measures(); ++b) {
      if (!runs[b]) continue;
      if (r.gates == 4)
        lstm(at[b], b);
      else if (r.gates == 3)
        gru(at[b], b);
      else
        rnn(at[b], b);
    }
    static_cast<void>(t);
  }
};

// Element of a state [directions, batch, units], or [batch, directions, units].
std::size_t state_at(const Recurrence& r, std::size_t d, std::size_t b) {
  return (r.batch_first ? b * r.directions + d : d * r.batch + b) * r.units;
}

void run_direction(Op& op, const Recurrence& r, std::size_t d) {
  const ArenaScope scope(op.exec.arena);
  const std::size_t rows = r.steps * r.batch, width = r.gates * r.units;
  const Tensor xw = op.exec.arena.tensor(rows, width);
  if (r.is_quantized)
    multiply_codes(op.exec, op.in(0).as<float>(), rows, codes_of(op, 1, 8, d), r.directions, xw.as<float>());
  else
    gemm(op.exec, {op.in(0).data, r.inputs, 1}, {op.in(1).as<float>() + d * width * r.inputs, 1, r.inputs}, r.inputs,
         xw);
  const auto take = [&](std::size_t n) { return op.exec.arena.take<float>(n); };
  Sweep sweep{op,
              r,
              d,
              xw.as<float>(),
              take(r.batch * width),
              take(r.batch * r.units),
              take(r.batch * r.units),
              take(r.batch * r.units)};
  if (r.is_quantized) sweep.codes = codes_of(op, 2, 10, d);
  std::vector<std::size_t> at(r.batch, 0);
  std::vector<bool> runs(r.batch, true);
  if (op.measures()) return sweep.step(0, at, runs);
  for (std::size_t b = 0; b < r.batch; ++b)
    for (std::size_t u = 0; u < r.units; ++u) {
      sweep.h[b * r.units + u] = op.has(5) ? op.in(5).as<float>()[state_at(r, d, b) + u] : 0.0f;
      sweep.c[b * r.units + u] = r.gates == 4 && op.has(6) ? op.in(6).as<float>()[state_at(r, d, b) + u] : 0.0f;
    }
  const bool back = d == 1 || r.reversed;
  std::vector<Value>& outs = *op.outs;
  for (std::size_t t = 0; t < r.steps && !op.is_cancelled(); ++t) {
    for (std::size_t b = 0; b < r.batch; ++b) {
      const auto length =
          op.has(4) ? std::min(r.steps, stored<std::size_t>(std::max(0.0, op.in(4).number(b)))) : r.steps;
      runs[b] = t < length, at[b] = back && t < length ? length - 1 - t : t;
    }
    sweep.step(t, at, runs);
    for (std::size_t b = 0; b < r.batch && op.wants(0); ++b) {
      const std::size_t to =
          r.batch_first ? (b * r.steps + at[b]) * r.directions + d : (at[b] * r.directions + d) * r.batch + b;
      for (std::size_t u = 0; u < r.units; ++u)
        outs[0].as<float>()[to * r.units + u] = runs[b] ? sweep.h[b * r.units + u] : 0.0f;
    }
  }
  for (std::size_t b = 0; b < r.batch; ++b) {
    if (op.wants(1)) std::copy_n(sweep.h + b * r.units, r.units, outs[1].as<float>() + state_at(r, d, b));
    if (op.wants(2)) std::copy_n(sweep.c + b * r.units, r.units, outs[2].as<float>() + state_at(r, d, b));
  }
}

// ---- LSTM by the kernels of ops/recurrent ----

constexpr std::array<std::size_t, 4> kGateOrder{0, 2, 3, 1};  // i f g o of the kernels are these of i o f c

struct PackedGates {
  std::vector<Matrix> x, h;  // [direction][gate]
  std::vector<float> bias;   // [direction][gate][units]: both biases as one
};

bool is_finite(const Value& v) {
  return std::all_of(v.as<float>(), v.as<float>() + v.elements(), [](float x) { return loom::is_finite(x); });
}

// Null where the cell is no plain LSTM, or its weights are no constants.
Result<const PackedGates*> packed_gates(Op& op, const Recurrence& r) {
  const bool plain =
      r.gates == 4 && !r.is_quantized && !r.batch_first && !r.couples && r.clip == 0 && !op.has(4) && !op.has(7);
  if (!plain || op.packed == nullptr || !op.in(1).constant || !op.in(2).constant) return nullptr;
  if (op.has(3) && !op.in(3).constant) return nullptr;
  for (std::size_t d = 0; d < r.directions; ++d)
    if (r.gate(d, 0).f != sigmoid_gate || r.gate(d, 1).f != tanh_gate || r.gate(d, 2).f != tanh_gate) return nullptr;
  if (*op.packed == nullptr && op.measures() && is_finite(op.in(1)) && is_finite(op.in(2))) {
    PackedGates packed;
    for (std::size_t d = 0; d < r.directions; ++d)
      for (const std::size_t gate : kGateOrder) {
        const std::size_t at = d * r.gates + gate;
        const auto matrix = [&](const Value& v, std::size_t cols) {
          const std::span<const float> rows(v.as<float>() + at * r.units * cols, r.units * cols);
          return Matrix::from_floats(DType::float32, rows, r.units, cols);
        };
        LOOM_TRY(Matrix x, matrix(op.in(1), r.inputs));
        LOOM_TRY(Matrix h, matrix(op.in(2), r.units));
        packed.x.push_back(std::move(x)), packed.h.push_back(std::move(h));
        const float* const b = op.has(3) ? op.in(3).as<float>() + (d * 2 * r.gates + gate) * r.units : nullptr;
        for (std::size_t u = 0; u < r.units; ++u)
          packed.bias.push_back(b == nullptr ? 0.0f : snap(b[u] + b[r.gates * r.units + u]));
      }
    *op.packed = std::make_shared<PackedGates>(std::move(packed));
  }
  return static_cast<const PackedGates*>(op.packed->get());
}

Result<void> run_lstm(Op& op, const Recurrence& r, const PackedGates& packed, std::size_t d) {
  const ArenaScope scope(op.exec.arena);
  std::vector<Value>& outs = *op.outs;
  std::array<MatmulJob, 4> from_x, from_h;
  for (std::size_t g = 0; g < 4; ++g) {
    from_x[g] = {&packed.x[d * 4 + g], op.exec.arena.tensor(r.steps * r.batch, r.units)};
    from_h[g] = {&packed.h[d * 4 + g], op.exec.arena.tensor(r.batch, r.units)};
  }
  CellForward cell;
  cell.shape = {CellKind::Lstm, r.batch, 1, r.units};
  cell.h = op.exec.arena.tensor(r.batch, r.units), cell.c = op.exec.arena.tensor(r.batch, r.units);
  loom::matmul(op.exec, tensor_of(op.in(0), r.inputs), from_x);
  const std::size_t state = r.batch * r.units;
  const auto start = [&](std::size_t i, const Tensor& to) {
    if (op.has(i))
      copy(op.exec, {op.in(i).as<float>() + d * state, r.batch, r.units}, to);
    else
      fill_zero(op.exec, to);
  };
  start(5, cell.h), start(6, cell.c);
  LOOM_TRY(const void* const bias, op.placed(packed.bias));
  for (std::size_t t = 0; t < (op.measures() ? 1 : r.steps) && !op.is_cancelled(); ++t) {
    const std::size_t at = d == 1 || r.reversed ? r.steps - 1 - t : t;
    loom::matmul(op.exec, cell.h, from_h);
    for (std::size_t g = 0; g < 4; ++g) {
      cell.x_products[g] = {from_x[g].y.row<float>(at * r.batch), r.batch, r.units, Element::f32};
      cell.h_products[g] = from_h[g].y;
      cell.bias[g] = static_cast<const float*>(bias) + (d * 4 + g) * r.units;
    }
    cell.y = op.wants(0) ? outs[0].as<float>() + (at * r.directions + d) * state : nullptr;
    cell.y_stride = r.units;
    cell_forward(op.exec, cell, 0);
  }
  const auto end = [&](std::size_t i, const Tensor& from) {
    if (op.wants(i)) copy(op.exec, from, {outs[i].as<float>() + d * state, r.batch, r.units});
  };
  end(1, cell.h), end(2, cell.c);
  return {};
}

Result<void> recurrent(Op& op) {
  LOOM_TRY(const Recurrence r, recurrence_of(op));
  if (r.is_quantized) LOOM_TRY_VOID(check_codes(op, r));
  const Dims whole =
      r.batch_first ? Dims{r.batch, r.steps, r.directions, r.units} : Dims{r.steps, r.directions, r.batch, r.units};
  const Dims last = r.batch_first ? Dims{r.batch, r.directions, r.units} : Dims{r.directions, r.batch, r.units};
  if (op.wants(0)) LOOM_TRY_VOID(op.out(0, Type::f32, whole));
  if (op.wants(1)) LOOM_TRY_VOID(op.out(1, Type::f32, last));
  if (op.wants(2)) LOOM_TRY_VOID(op.out(2, Type::f32, last));
  LOOM_TRY(const PackedGates* const packed, packed_gates(op, r));
  if (packed != nullptr) op.has_form(0b1100001);  // the sequence and the state
  if (packed == nullptr && op.is_on_card()) return {};
  for (std::size_t d = 0; d < r.directions; ++d) {
    if (packed == nullptr)
      run_direction(op, r, d);
    else
      LOOM_TRY_VOID(run_lstm(op, r, *packed, d));
  }
  return {};
}

}  // namespace

std::span<const OpRow> recurrent_rows() {
  static constexpr std::array kRows{
      OpRow{"LSTM", recurrent, false, 3},
      OpRow{"GRU", recurrent, false, 3},
      OpRow{"RNN", recurrent, false, 3},
      OpRow{"com.microsoft.DynamicQuantizeLSTM", recurrent, false, 3},
  };
  return kRows;
}

}  // namespace loom::graph

#include "layers/recurrent/recurrent.h"

#include <cmath>

#include "layers/lengths.h"

namespace loom {
namespace {

// Gates in the order of the flat layout, as prefixes of weight names.
constexpr std::array<std::array<std::string_view, kMaxGates>, 3> kGateNames = {
    {{""}, {"i.", "f.", "g.", "o."}, {"r.", "z.", "n."}}};

template <RecurrentKind Which>
LayerPtr fit_recurrent(const FitRequest& r) {
  return std::make_unique<Recurrent>(Which,
                                     RecurrentConfig{.input_height = r.width(), .output_height = r.wanted_width()});
}

template <RecurrentKind Which>
constexpr LayerKind recurrent_row(int id, std::string_view name, std::string_view help) {
  return {.id = id,
          .name = name,
          .help = help,
          .shapes =
              "[B, T, input_size] -> [B, T, hidden_size]; bidirectional: twice the features; without "
              "return_sequence: no T",
          .make = make_layer<Recurrent, Which>,
          .width_key = "input_height",
          .fit = fit_recurrent<Which>};
}

}  // namespace

constinit const std::array<LayerKind, 3> Recurrent::kKinds = {
    recurrent_row<RecurrentKind::Rnn>(7, "rnn", "h_t = f(Wih x_t + Whh h_(t-1) + b), y = h"),
    recurrent_row<RecurrentKind::Lstm>(
        8, "lstm", "c_t = f c_(t-1) + i g, h_t = o tanh(c_t), gates i, f, g, o of Wih x_t + Whh h_(t-1) + b, y = h"),
    recurrent_row<RecurrentKind::Gru>(
        20, "gru",
        "h_t = (1 - z) n + z h_(t-1), n = tanh(Wih x_t + b + r (Whh h_(t-1) + b_hh)), gates r and z, y = h")};

CellKind Recurrent::cell() const {
  if (kind_ == RecurrentKind::Lstm) return CellKind::Lstm;
  if (kind_ == RecurrentKind::Gru) return CellKind::Gru;
  return config_.activation == RecurrentConfig::RnnActivation::Relu ? CellKind::RnnRelu : CellKind::RnnTanh;
}

void Recurrent::fields(FieldVisitor& visit) {
  visit({"input_height|input_size", "Required. Features of a step"}, config_.input_height, {1});
  visit({"output_height|hidden_size", "Required. Units: features of h"}, config_.output_height, {1});
  visit({"seq_length", "Without effect: the input has the number of steps"}, config_.seq_length);
  visit({"stateful", "A session's next call goes on from the last state; else each call begins at 0"},
        config_.stateful);
  visit({"bidirectional", "A second direction reads the steps backwards; its output follows that of the first"},
        config_.bidirectional);
  visit({"return_sequence", "y is h of all steps; false: of the last step alone"}, config_.return_sequence);
  visit({"bias", "Adds biases to the sums"}, config_.bias);
  if (kind_ == RecurrentKind::Rnn)
    visit.choice({"activation", "f: tanh or relu"}, config_.activation, {"tanh", "relu"});
}

Result<void> Recurrent::declare_gate(Gate& gate, const std::string& prefix, bool forget, bool inner_bias) const {
  const std::size_t in = config_.input_height, units = config_.output_height;
  using Rule = WeightInit::Rule;
  const double width = 1 / std::sqrt(static_cast<double>(units));
  LOOM_TRY_VOID(gate.weight_ih.declare(prefix + "weight_ih", WeightRole::Matrix, std::array{units, in},
                                       {Rule::Uniform, in, units, width}));
  LOOM_TRY_VOID(gate.weight_hh.declare(prefix + "weight_hh", WeightRole::Matrix, std::array{units, units},
                                       {Rule::Uniform, units, units, width}));
  if (!config_.bias) return {};
  LOOM_TRY_VOID(
      gate.bias.declare(prefix + "bias", WeightRole::Vector, std::array{units}, {forget ? Rule::Ones : Rule::Zeros}));
  if (!inner_bias) return {};
  return gate.bias_hh.declare(prefix + "bias_hh", WeightRole::Vector, std::array{units});
}

Result<void> Recurrent::build() {
  gates_ = std::vector<Gate>(num_directions() * num_gates());
  for (std::size_t i = 0; i < gates_.size(); ++i) {
    const std::size_t g = i % num_gates();
    std::string prefix(i < num_gates() ? "" : "reverse.");
    prefix += kGateNames[static_cast<std::size_t>(kind_)][g];
    LOOM_TRY_VOID(
        declare_gate(gates_[i], prefix, kind_ == RecurrentKind::Lstm && g == 1, kind_ == RecurrentKind::Gru && g == 2));
  }
  return {};
}

void Recurrent::visit_weights(const std::function<void(Weight&)>& visit) {
  for (Gate& gate : gates_)
    for (Weight* w : {&gate.weight_ih, &gate.weight_hh, &gate.bias, &gate.bias_hh})
      if (w->declared()) visit(*w);
}

std::optional<StateNeeds> Recurrent::state_needs() const {
  StateNeeds needs;
  needs.recurrent = true, needs.stateful = config_.stateful;
  return needs;
}

Result<Shape> Recurrent::output_shape(const Shape& input) const {
  if (input.rank() != 2 && input.rank() != 3)
    return fail(Code::ShapeMismatch,
                "{}: an input of shape {}, sequences [batch, steps, {}] or one [steps, {}] expected", kind(),
                input.text(), config_.input_height, config_.input_height);
  if (input.cols() != config_.input_height)
    return fail(Code::ShapeMismatch, "{}: {} input features, the weights have {}", kind(), input.cols(),
                config_.input_height);
  const std::size_t out = num_directions() * config_.output_height;
  LOOM_TRY(const Shape sequence, input.with_cols(out));
  if (config_.return_sequence) return sequence;
  return input.rank() == 3 ? Shape::create(std::array{input[0], out}) : Shape::create(std::array{out});
}

bool Recurrent::shape_of(const Run& run, const Shape& x, CellShape& shape) const {
  shape = {cell(), x.rank() == 3 ? x[0] : 1, x[x.rank() - 2], config_.output_height};
  return lengths_of(run, kind(), shape.batch, shape.steps, shape.lengths);
}

Recurrent::Planes Recurrent::planes(CellTrace& trace) const {
  Planes planes;
  const auto add = [&](Tensor& plane) { planes.all[planes.count++] = &plane; };
  for (std::size_t g = 0; g < num_gates() + (kind_ == RecurrentKind::Gru ? 1 : 0); ++g) add(trace.gates[g]);
  add(trace.h_before);
  if (kind_ == RecurrentKind::Lstm) add(trace.c_before), add(trace.tanh_c);
  return planes;
}

}  // namespace loom

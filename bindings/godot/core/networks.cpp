// All calls of trainers and meshes are in this file.
#include "networks.h"

#include <cmath>
#include <limits>

namespace loom_godot {
namespace {

constexpr double kNoLoss = std::numeric_limits<double>::quiet_NaN();

loom_tensor tensor_of(Floats& values, const std::vector<std::uint64_t>& shape) {
  auto tensor = loom::sized<loom_tensor>();
  tensor.element = LOOM_ELEMENT_FLOAT32;
  tensor.data = values.data();
  tensor.data_size = values.size() * sizeof(float);
  tensor.shape = shape.data();
  tensor.shape_count = shape.size();
  return tensor;
}

// The values of a tensor as float32; `false` for other types.
bool values_of(const loom_tensor& tensor, Floats& out) {
  if (tensor.element == LOOM_ELEMENT_FLOAT32) {
    const auto* data = static_cast<const float*>(tensor.data);
    out.assign(data, data + tensor.data_size / sizeof(float));
  } else if (tensor.element == LOOM_ELEMENT_FLOAT64) {
    const auto* data = static_cast<const double*>(tensor.data);
    for (std::size_t i = 0; i < tensor.data_size / sizeof(double); ++i) out.push_back(static_cast<float>(data[i]));
  } else {
    return false;
  }
  return true;
}

// The shape of samples in rows; none if they do not divide the values.
std::vector<std::uint64_t> rows_of(std::size_t values, std::int64_t samples) {
  if (samples < 1 || values == 0 || values % static_cast<std::uint64_t>(samples) != 0) return {};
  return {static_cast<std::uint64_t>(samples), values / static_cast<std::uint64_t>(samples)};
}

std::string rows_expected(std::size_t values, std::int64_t samples) {
  return "inputs: " + std::to_string(values) + " values do not make " + std::to_string(samples) + " samples";
}

// Takes so many steps on one batch and returns the last loss.
loom::Result<double> take_steps(const loom::Trainer& trainer, const Floats& inputs, const Floats& targets,
                                const std::vector<std::uint64_t>& shape, std::int64_t steps,
                                const loom::Cancel& cancel) {
  auto batch = loom::sized<loom_batch>();
  const loom_tensor x = loom::tensor_of(inputs.data(), inputs.size(), shape.data(), shape.size());
  const loom_tensor y = loom::tensor_of(targets.data(), targets.size());
  batch.inputs = &x;
  batch.targets = &y;
  double loss = kNoLoss;
  for (std::int64_t i = 0; i < steps; ++i) {
    auto step = trainer.step(batch, cancel);
    if (!step) return step.error();
    loss = step->loss;
  }
  return loss;
}

}  // namespace

bool Network::load_network(std::string path_or_spec) {
  if (!is_free()) return false;
  auto network = path_or_spec.starts_with("{") ? loom::Network::from_json(path_or_spec)
                                               : loom::Network::open(system_path(path_or_spec));
  if (!network) return fail(network.error());
  network_ = *network;
  session_ = {};
  trainer_ = {};
  tween_ = {};
  return true;
}

bool Network::is_ready() {
  return is_free() && (network_ || fail("InvalidState", "no network is loaded: call load_network() first"));
}

bool Network::save_network(std::string path) {
  if (!is_ready()) return false;
  auto saved = network_.save(system_path(path), false);
  return saved ? true : fail(saved.error());
}

Floats Network::forward(Floats input, Floats shape) {
  if (!is_ready()) return {};
  std::vector<std::uint64_t> extents = {1, input.size()};
  if (!shape.empty()) extents.clear();
  for (const float extent : shape) {
    if (!(extent >= 1 && extent < 16777216 && extent == std::floor(extent))) {
      return fail("InvalidArgument", "shape: expected whole numbers from 1 on"), Floats();
    }
    extents.push_back(static_cast<std::uint64_t>(extent));
  }
  if (!session_) {
    auto session = loom::NetworkSession::create(network_);
    if (!session) return fail(session.error()), Floats();
    session_ = *session;
  }
  auto output = session_.forward(tensor_of(input, extents));
  if (!output) return fail(output.error()), Floats();
  Floats values;
  if (!values_of(*output, values)) return fail("Unsupported", "the output is neither float32 nor float64"), Floats();
  output_shape_.assign(output->shape, output->shape + output->shape_count);
  return values;
}

loom::Result<loom::Trainer> Network::trainer(std::size_t inputs, std::int64_t samples, const std::string& config) {
  const std::vector<std::uint64_t> shape = rows_of(inputs, samples);
  if (shape.empty()) return loom::Error(LOOM_SHAPE_MISMATCH, rows_expected(inputs, samples));
  if (!trainer_ || trainer_shape_ != shape || trainer_config_ != config) {
    trainer_ = {};
    tween_ = {};
    auto made = loom::Trainer::create(network_, config.empty() ? "{}" : config, shape);
    if (!made) return made.error();
    trainer_ = *made;
    trainer_shape_ = shape;
    trainer_config_ = config;
  }
  return trainer_;
}

double Network::train(Floats inputs, Floats targets, std::int64_t samples, std::int64_t steps, std::string config) {
  if (!is_ready()) return kNoLoss;
  auto made = trainer(inputs.size(), samples, config);
  if (!made) return fail(made.error()), kNoLoss;
  auto loss = take_steps(*made, inputs, targets, trainer_shape_, steps, {});
  if (!loss) return fail(loss.error()), kNoLoss;
  return *loss;
}

bool Network::train_async(Floats inputs, Floats targets, std::int64_t samples, std::int64_t steps, std::string config) {
  if (!is_ready()) return false;
  auto made = trainer(inputs.size(), samples, config);
  if (!made) return fail(made.error());
  return start([trainer = *made, inputs = std::move(inputs), targets = std::move(targets), shape = trainer_shape_,
                steps](Mailbox& mailbox, const loom::Cancel& cancel) {
    auto loss = take_steps(trainer, inputs, targets, shape, steps, cancel);
    if (!loss) return mailbox.post(failed_with(loss.error()));
    mailbox.post({Event::Kind::kFinished, std::to_string(*loss), {}});
  });
}

bool Network::teach(Floats inputs, Floats targets, std::int64_t samples, double rate) {
  if (!is_ready()) return false;
  const std::vector<std::uint64_t> shape = rows_of(inputs.size(), samples);
  if (shape.empty()) return fail("ShapeMismatch", rows_expected(inputs.size(), samples));
  if (!tween_ || tween_shape_ != shape) {
    trainer_ = {};
    auto made = loom::Tween::create(network_, {}, shape);
    if (!made) return fail(made.error());
    tween_ = *made;
    tween_shape_ = shape;
  }
  if (auto run = tween_.forward(loom::tensor_of(inputs.data(), inputs.size(), shape.data(), shape.size())); !run)
    return fail(run.error());
  auto step = tween_.step(loom::tensor_of(targets.data(), targets.size()), rate);
  return step ? true : fail(step.error());
}

std::string Network::text_of(loom::Result<loom::Blob> blob) {
  if (!blob) return fail(blob.error()), std::string();
  return blob->text();
}

std::string Network::hash() { return is_ready() ? text_of(network_.hash()) : std::string(); }
std::string Network::info() { return is_ready() ? text_of(network_.info()) : std::string(); }

bool Network::morph(std::string dtype) {
  if (!is_ready()) return false;
  auto done = network_.morph(nullptr, dtype);
  return done ? true : fail(done.error());
}

bool Mesh::open(Object* network, std::int64_t states, std::int64_t inputs) {
  const Network* of = dynamic_cast<Network*>(network);
  if (!of || !of->is_loaded()) return fail("InvalidArgument", "open: expected a LoomNetwork that is loaded");
  if (states < 1 || states > 1'000'000 || inputs < 1) {
    return fail("InvalidArgument", "open: expected 1 to 1000000 states and at least 1 input");
  }
  auto options = loom::sized<loom_step_mesh_options>();
  options.keep_inputs = 1;
  const std::vector<std::uint64_t> shape = {1, static_cast<std::uint64_t>(inputs)};
  auto mesh = loom::StepMesh::create(of->network(), shape, options);
  if (!mesh) return fail(mesh.error());
  std::vector<loom::StepState> made;
  for (std::int64_t i = 0; i < states; ++i) {
    auto state = loom::StepState::create(*mesh);
    if (!state) return fail(state.error());
    made.push_back(*state);
  }
  network_ = of->network();
  tween_ = {};
  states_ = std::move(made);
  mesh_ = *mesh;
  handles_.clear();
  for (const loom::StepState& state : states_) handles_.push_back(state.get());
  inputs_ = static_cast<std::size_t>(inputs);
  return true;
}

const loom::StepState* Mesh::state_at(std::int64_t state) {
  if (state >= 0 && state < count()) return &states_[static_cast<std::size_t>(state)];
  if (states_.empty()) {
    fail("InvalidState", "there is no mesh: call open() with a network first");
  } else {
    fail("IndexOutOfRange", "state " + std::to_string(state) + " of " + std::to_string(count()));
  }
  return nullptr;
}

bool Mesh::set_one(const loom::StepState& state, const float* values, std::size_t size) {
  auto set = state.set_input(loom::tensor_of(values, size), true);
  return set ? true : fail(set.error());
}

bool Mesh::set_input(std::int64_t state, Floats values) {
  const loom::StepState* one = state_at(state);
  return one && set_one(*one, values.data(), values.size());
}

bool Mesh::set_inputs(Floats values) {
  if (!state_at(0)) return false;
  if (values.size() != states_.size() * inputs_) {
    return fail("ShapeMismatch", "set_inputs: expected " + std::to_string(states_.size() * inputs_) + " values, got " +
                                     std::to_string(values.size()));
  }
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!set_one(states_[i], values.data() + i * inputs_, inputs_)) return false;
  }
  return true;
}

bool Mesh::step(std::int64_t ticks) {
  if (!state_at(0)) return false;
  if (ticks < 1) return fail("InvalidArgument", "step: expected at least 1 tick, got " + std::to_string(ticks));
  auto options = loom::sized<loom_tick_options>();
  options.ticks = static_cast<std::uint64_t>(ticks);
  auto moved = mesh_.step(handles_, options);
  return moved ? true : fail(moved.error());
}

bool Mesh::append_output(const loom::StepState& state, Floats& out) {
  auto output = state.output(-1);
  if (!output) return fail(output.error());
  const auto* const values = static_cast<const float*>(output->data);
  out.insert(out.end(), values, values + output->data_size / sizeof(float));
  return true;
}

Floats Mesh::output(std::int64_t state) {
  Floats out;
  if (const loom::StepState* one = state_at(state)) append_output(*one, out);
  return out;
}

Floats Mesh::outputs() {
  Floats out;
  if (!state_at(0)) return out;
  for (const loom::StepState& state : states_) {
    if (!append_output(state, out)) return {};
  }
  return out;
}

bool Mesh::teach(Floats targets, double rate) {
  if (!state_at(0)) return false;
  if (!tween_) {
    auto made = loom::MeshTween::create(mesh_, {}, 0);
    if (!made) return fail(made.error());
    tween_ = *made;
  }
  auto step = tween_.step(handles_, loom::tensor_of(targets.data(), targets.size()), rate);
  return step ? true : fail(step.error());
}

std::string Mesh::hash(std::int64_t state) {
  const loom::StepState* one = state_at(state);
  if (!one) return {};
  auto hash = one->hash();
  if (!hash) return fail(hash.error()), std::string();
  return hash->text();
}

std::int64_t Mesh::ticks() {
  const loom::StepState* one = state_at(0);
  if (!one) return 0;
  auto ticks = one->ticks();
  if (!ticks) return fail(ticks.error()), 0;
  return static_cast<std::int64_t>(*ticks);
}

Bytes Mesh::snapshot(std::int64_t state) {
  const loom::StepState* one = state_at(state);
  if (!one) return {};
  auto bytes = one->snapshot();
  if (!bytes) return fail(bytes.error()), Bytes();
  return {bytes->text()};
}

bool Mesh::restore(std::int64_t state, Bytes bytes) {
  const loom::StepState* one = state_at(state);
  if (!one) return false;
  auto restored = one->restore(bytes.data);
  return restored ? true : fail(restored.error());
}

bool Mesh::reset(std::int64_t state) {
  const loom::StepState* one = state_at(state);
  if (!one) return false;
  auto done = one->reset();
  return done ? true : fail(done.error());
}

}  // namespace loom_godot

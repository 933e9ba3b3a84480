// LoomNetwork and LoomMesh: small networks that run and learn inside of a game.
#pragma once

#include "object.h"

namespace loom_godot {

class Network final : public Object {
 public:
  // Reads a network: a file, or a spec in JSON, which begins with "{".
  bool load_network(std::string path_or_spec);
  bool save_network(std::string path);
  bool is_loaded() const { return static_cast<bool>(network_); }
  // Runs the network. Without a shape the input is one sample, a row.
  Floats forward(Floats input, Floats shape);
  // The shape of the last output.
  Floats output_shape() const { return output_shape_; }
  // Learns from one batch of so many samples by gradients and returns the loss before the last step; NaN after an
  // error. The config is that of a trainer, JSON.
  double train(Floats inputs, Floats targets, std::int64_t samples, std::int64_t steps, std::string config);
  // Like train(), on a thread: `finished` has the loss as text.
  bool train_async(Floats inputs, Floats targets, std::int64_t samples, std::int64_t steps, std::string config);
  // Moves the weights once towards targets of the output.
  bool teach(Floats inputs, Floats targets, std::int64_t samples, double rate);
  // The SHA-256 of all weights, equal on every machine.
  std::string hash();
  // A JSON object: layers with kinds, types and weights, memory, shapes.
  std::string info();
  // Gives the matrices another numeric type, by name.
  bool morph(std::string dtype);

  loom::Network network() const { return network_; }

 private:
  bool is_ready();
  std::string text_of(loom::Result<loom::Blob> blob);
  // Makes the trainer of such batches; the last one is kept.
  loom::Result<loom::Trainer> trainer(std::size_t inputs, std::int64_t samples, const std::string& config);

  loom::Network network_;
  loom::NetworkSession session_;
  Floats output_shape_;
  loom::Trainer trainer_;
  std::string trainer_config_;
  std::vector<std::uint64_t> trainer_shape_;
  loom::Tween tween_;
  std::vector<std::uint64_t> tween_shape_;
};

// Characters that share one network and move in ticks. Each has a state of its own.
class Mesh final : public Object {
 public:
  // Makes so many states over a network, whose input has so many numbers.
  bool open(Object* network, std::int64_t states, std::int64_t inputs);
  std::int64_t count() const { return static_cast<std::int64_t>(states_.size()); }
  // Sets the input of a state until it is replaced.
  bool set_input(std::int64_t state, Floats values);
  // Sets the inputs of all states, one after another.
  bool set_inputs(Floats values);
  // Moves all states.
  bool step(std::int64_t ticks);
  // The output of the last cell; empty before data has arrived in it.
  Floats output(std::int64_t state);
  // The outputs of all states, one after another.
  Floats outputs();
  // Moves the weights once towards targets of all states' outputs, one after another.
  bool teach(Floats targets, double rate);
  // The SHA-256 of a state, equal on every machine.
  std::string hash(std::int64_t state);
  std::int64_t ticks();
  // A state as bytes that any machine reads, and back.
  Bytes snapshot(std::int64_t state);
  bool restore(std::int64_t state, Bytes bytes);
  bool reset(std::int64_t state);

 private:
  const loom::StepState* state_at(std::int64_t state);
  bool set_one(const loom::StepState& state, const float* values, std::size_t size);
  bool append_output(const loom::StepState& state, Floats& out);

  loom::Network network_;
  loom::StepMesh mesh_;
  loom::MeshTween tween_;
  std::vector<loom::StepState> states_;
  std::vector<loom_step_state> handles_;
  std::size_t inputs_ = 0;
};

}  // namespace loom_godot

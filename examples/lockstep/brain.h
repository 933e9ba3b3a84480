#pragma once
// A network that learns by targets. All calls of Loom are in brain.cpp.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include <loom/loom.hpp>

namespace lockstep {

inline constexpr std::size_t kInputs = 8, kOutputs = 2;
using Inputs = std::array<float, kInputs>;
using Outputs = std::array<float, kOutputs>;

class Brain {
 public:
  // Makes a network with weights drawn from the seed. No result depends on the instruction set; "" is the best one.
  Brain(std::uint32_t seed, const std::string& isa);

  // Moves the weights once towards the target of the output.
  void learn(const Inputs& inputs, const Outputs& targets);
  Outputs act(const Inputs& inputs);

  // SHA-256 of all weights, 64 hexadecimal digits.
  std::string hash() const;
  // The weights by name, as little-endian float32 in hexadecimal digits, layer by layer.
  std::map<std::string, std::string> weights() const;
  // Flips one bit of a weight.
  void flip(const std::string& name, std::size_t index, unsigned bit);

 private:
  loom::Network network_;
  loom::Trainer trainer_;
  loom::NetworkSession session_;
};

// Returns numbers as little-endian float32 in hexadecimal digits.
std::string hexadecimal(std::span<const float> values);

}  // namespace lockstep

#pragma once
// Rotary position embedding (Su et al. 2021), at absolute positions.
//   half:        pairs (i, i + R/2);  interleaved: pairs (2i, 2i+1);  a' = a cos - b sin,  b' = b cos + a sin; results
//     snapped.
// Angles are f64: pos * f_i with f_i from theta and the scaling rule; sine and cosine are rounded to f32 and snapped
// (engine L-72, L-73).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/exec.h"

namespace loom {

struct RopeConfig {
  // The last two are known by name only.
  enum class Scaling : std::uint8_t { None, Linear, Llama3, Yarn, Dynamic, Longrope };
  std::size_t dim = 0;  // R, even: how many elements of a head are rotated
  double theta = 10000.0;
  bool interleaved = false;
  Scaling scaling = Scaling::None;
  double factor = 1.0;
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  // llama3
  double original_max_positions = 8192;                  // llama3, yarn
  double beta_fast = 32.0, beta_slow = 1.0;              // yarn
  double attention_factor = 0.0;                         // yarn; 0: 0.1 ln(factor) + 1
  // per pair, from a file ("rope_freqs"): f_i is divided by it; empty: none
  std::vector<double> divisors;

  bool operator==(const RopeConfig&) const = default;
};

// Sines and cosines of positions [0, filled), grown as a session reaches them; memory for all positions is reserved at
// once.
class RopeTable {
 public:
  // The checks of create(). InvalidConfig for an odd dim or factors that are not positive.
  static Result<void> check(const RopeConfig& config);
  static Result<RopeTable> create(const RopeConfig& config, std::size_t max_positions, Device* device = nullptr);
  // Fills the table up to so many positions; it is called between passes.
  void fill(std::size_t positions);
  // dim/2 cosines, dim/2 sines
  const float* row(std::size_t position) const {
    return reinterpret_cast<const float*>(memory_.data()) + position * dim_;
  }
  // The rows in memory of the device, which gets a copy of a table in host memory.
  const void* rows_on(const Exec& exec) const;
  std::size_t dim() const { return dim_; }
  std::size_t filled() const { return filled_; }
  bool interleaved() const { return interleaved_; }

 private:
  std::size_t dim_ = 0, filled_ = 0, max_positions_ = 0;
  bool interleaved_ = false;
  double amplitude_ = 1.0;
  std::vector<double> frequencies_;
  std::vector<float> staged_;  // rows on their way
  Memory memory_;
  std::shared_ptr<const void> token_;  // of what devices have of it
};

// y = x [rows, heads * head_dim], turned by the angle of positions[row]; y may be x.
void rope(const Exec& exec, const RopeTable& table, std::span<const std::uint32_t> positions, std::size_t head_dim,
          ConstTensor x, Tensor y);
// Like rope(), in place, with positions that start at 0 every `steps` rows; `back` turns the other way, for gradients.
void rope_sequences(const Exec& exec, const RopeTable& table, std::size_t steps, std::size_t head_dim, Tensor x,
                    bool back = false);

template <class T>
struct RopeKernels {
  void (*rotate)(const float* cos_sin, std::size_t dim, bool interleaved, bool back, T* x);  // one head
};

}  // namespace loom

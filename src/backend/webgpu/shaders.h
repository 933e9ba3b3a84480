#pragma once
// The shaders of a device, by what its kernels are made of, and which of them have passed: a shader may be used when
// its results were those of this computer (prover.h). Passes of earlier runs are kept in a file.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/webgpu/driver.h"
#include "backend/webgpu/kernel.h"
#include "backend/webgpu/prelude.h"

namespace loom::gpu {

struct Shader {
  Bindings bindings;
  std::string_view name;
  std::string text_hash;  // of the whole text, in hex
  Sums sums = Sums::Left;
  struct Pass {
    std::uint64_t sizes;   // of the tensors (sizes_of())
    unsigned missing = 0;  // trials that it has yet to pass with such
  };
  std::vector<Pass> passes;
  bool passed_again = false;  // after kUsesToNextTrial uses
  bool is_refused = false;
  std::string problem;     // why it cannot be compiled; empty: nothing is known against it
  std::uint32_t uses = 0;  // without a trial, alone or joined to others
  Id pipeline = 0;         // compiled when it is first used

  static constexpr std::uint32_t kUsesToNextTrial = 1000;
  bool is_trusted(std::uint64_t sizes) const {
    const auto pass = std::ranges::find(passes, sizes, &Pass::sizes);
    return pass != passes.end() && pass->missing == 0 && !is_refused && (passed_again || uses < kUsesToNextTrial);
  }
};

// What is the same for uses of a shader whose numbers differ by less than a power of two: an error that shows in long
// rows alone is not found in short ones.
std::uint64_t sizes_of(Kernels kernels, std::uint64_t workgroups);

// How a device computes, what tests change in it, and where it keeps what it has learnt.
struct GpuOptions {
  // Fast: shaders with the operators of WGSL in place of exact functions. Nothing is proved then, and no pass is kept.
  Precision precision = Precision::Strict;
  std::string passes;             // a file of passes, made where it is missing; empty: none are kept
  bool checks_arithmetic = true;  // at creation
  std::size_t addresses = 0;      // for the memory of a device; 0: as many as the system has
  double most_wait_ms = 0;        // for a read, which is then lost; 0: ten minutes, an hour for software
  // Of every shader, in place of its text: a compiler that errs, for tests.
  std::string (*alter)(std::string_view text) = nullptr;
};

class Shaders {
 public:
  Shaders(Driver& driver, GpuOptions options);

  // Reads the file of passes. Lines that are none are passed over, as is a file that is not there.
  void read_passes();
  std::size_t known_passes() const { return earlier_.size(); }  // shaders that passed in earlier runs
  // Shaders are made anew, with this level of sums. For the time before any is used.
  void set_sums(Sums sums);
  Sums sums() const { return sums_; }
  Precision precision() const { return options_.precision; }

  // The shader of kernels whose operands lie in these buffers, one per operand. It stays where it is.
  Shader* find(Kernels kernels, std::span<const Id> buffers);
  // Its pipeline. Unsupported, with what the compiler says, or where the limits of the device are too small.
  Result<Id> compile(Shader& shader, Kernels kernels);
  // Another level of sums; what was known of the shader is forgotten.
  void set_sums(Shader& shader, Kernels kernels, Sums sums);
  // It has passed a trial, of so many that are asked for with tensors of these sizes.
  void pass(Shader& shader, std::uint64_t sizes, unsigned trials);
  std::uint64_t compiled() const { return compiled_; }
  std::string_view name_of(Id pipeline) const;

  Id group(const Shader& shader, Id parameters, std::span<const Id> buffers);
  // Forgets the groups that a buffer is in.
  void drop_groups(Id buffer);

 private:
  std::string text_of(const Shader& shader, Kernels kernels) const;
  void judge(Shader& shader, Kernels kernels);
  std::string limit_below(const Shader& shader, Kernels kernels) const;

  Driver& driver_;
  GpuOptions options_;
  Sums sums_ = Sums::Left;
  std::string prelude_left_, prelude_kept_;  // of the levels of sums; a fast device has the first one alone
  std::map<std::string, Shader> shaders_;
  std::map<std::string, Id> groups_;
  struct Earlier {
    std::vector<Shader::Pass> passes;
    bool again = false;
  };
  std::map<std::string, Earlier, std::less<>> earlier_;  // runs, by hash
  std::string key_;
  std::uint64_t compiled_ = 0;
};

}  // namespace loom::gpu

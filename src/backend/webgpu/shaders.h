#pragma once
// The shaders of a device, by what its kernels are made of, and which of them have passed: a shader may be used when
// its results were those of this computer (prover.h). Passes of earlier runs are kept in a file.

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "backend/webgpu/driver.h"
#include "backend/webgpu/kernel.h"
#include "backend/webgpu/prelude.h"

namespace loom::gpu {

// Key by which a shader or a group of buffers is looked up: each dispatch looks up both.
using Key = std::vector<std::uint64_t>;
struct HashOfKey {
  std::size_t operator()(const Key& key) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : key) hash = (std::rotl(hash, 23) ^ word) * 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(hash ^ hash >> 32);
  }
};

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
  const Key* key = nullptr;
  Shader* next = nullptr;  // what was looked for after it the last time: mostly it is again

  static constexpr std::uint32_t kUsesToNextTrial = 1000;
  bool is_trusted(std::uint64_t sizes) const {
    const auto pass = std::ranges::find(passes, sizes, &Pass::sizes);
    return pass != passes.end() && pass->missing == 0 && !is_refused && (passed_again || uses < kUsesToNextTrial);
  }
};

// Hash of the sizes of a use, the same for numbers that differ by less than a power of two: an error that only shows in
// long rows is not found in short ones.
std::uint64_t sizes_of(Kernels kernels, std::uint64_t workgroups);

// How a device computes, what tests change in it, and where it keeps what it has learnt.
struct GpuOptions {
  // Fast: shaders with the operators of WGSL in place of exact functions. Nothing is proved then, and no pass is kept.
  Precision precision = Precision::Strict;
  std::string passes;             // a file of passes, made where it is missing; empty: none are kept
  bool checks_arithmetic = true;  // at creation
  std::optional<Dots> dots;       // unset: the fastest, which is measured at creation and kept in the file of passes
  std::size_t addresses = 0;      // for the memory of a device; 0: as many as the system has
  double most_wait_ms = 0;        // for a read, which is then lost; 0: ten minutes, an hour for software
  // Kernels for units that multiply matrices compute what these do by plain arithmetic: for tests.
  bool has_plain_units = false;
  // Of every shader, in place of its text: a compiler that errs, for tests.
  std::string (*alter)(std::string_view text) = nullptr;
};

class Shaders {
 public:
  Shaders(Driver& driver, GpuOptions options);

  // Reads the file of passes. Lines of another form are skipped, as is a missing file.
  void read_passes();
  std::size_t known_passes() const { return earlier_.size(); }  // shaders that passed in earlier runs
  // Forgets all shaders and makes new ones with this level of sums. Call before any is used.
  void set_sums(Sums sums);
  Sums sums() const { return sums_; }
  // Like set_sums(), for the form of dot_bytes(). read_dots() returns that of the file of passes, to which keep_dots()
  // adds it.
  void set_dots(Dots dots);
  Dots dots() const { return dots_; }
  std::optional<Dots> read_dots() const;
  void keep_dots() const;
  Precision precision() const { return options_.precision; }
  bool has_plain_units() const { return options_.has_plain_units; }

  // The shader of kernels whose operands are in these buffers, one per operand. Its address stays.
  Shader* find(Kernels kernels, std::span<const Id> buffers);
  // Its pipeline. Unsupported, with what the compiler says, or where the limits of the device are too small.
  Result<Id> compile(Shader& shader, Kernels kernels);
  // Another level of sums; what was known of the shader is forgotten.
  void set_sums(Shader& shader, Kernels kernels, Sums sums);
  // It has passed a trial, of so many that are asked for with tensors of these sizes.
  void pass(Shader& shader, std::uint64_t sizes, unsigned trials);
  std::uint64_t compiled() const { return compiled_.size(); }
  std::string_view name_of(Id pipeline) const;

  Id group(const Shader& shader, Id parameters, std::span<const Id> buffers);
  // Forgets the groups that a buffer is in.
  void drop_groups(Id buffer);

 private:
  std::string text_of(const Shader& shader, Kernels kernels) const;
  void begin(Shader& shader, Kernels kernels);
  void judge(Shader& shader, Kernels kernels);
  std::string limit_below(const Shader& shader, Kernels kernels) const;

  Driver& driver_;
  GpuOptions options_;
  Sums sums_ = Sums::Left;
  Dots dots_ = Dots::Packed;
  std::string prelude_left_, prelude_kept_;  // of the levels of sums; a fast device has the first one alone
  std::unordered_map<Key, Shader, HashOfKey> shaders_;
  std::map<Key, Id> groups_;  // by the layout that a shader has, then the buffers
  struct Earlier {
    std::vector<Shader::Pass> passes;
    bool again = false;
  };
  std::map<std::string, Earlier, std::less<>> earlier_;    // runs, by hash
  Key key_;                                                // of what is looked for
  Shader* last_ = nullptr;                                 // that was found
  std::vector<std::pair<Id, std::string_view>> compiled_;  // pipelines and their names
};

}  // namespace loom::gpu

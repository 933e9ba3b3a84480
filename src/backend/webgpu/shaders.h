#pragma once
// The shaders of a device, by what its kernels are made of, and which of them have passed: a shader may be used when
// its results were those of this computer (prover.h). Passes of earlier runs are kept in a file.

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "backend/webgpu/driver.h"
#include "backend/webgpu/kernel.h"
#include "backend/webgpu/prelude.h"

namespace loom::gpu {

struct Shader {
  enum class State : std::uint8_t { Unknown, Passed, Refused };
  Bindings bindings;
  std::string_view name;
  std::string text_hash;  // of the whole text, in hex
  Sums sums = Sums::Left;
  State state = State::Unknown;
  bool passed_again = false;  // after kUsesToNextTrial uses
  std::uint32_t uses = 0;
  Id pipeline = 0;  // compiled when it is first used

  static constexpr std::uint32_t kUsesToNextTrial = 1000;
  bool is_trusted() const { return state == State::Passed && (passed_again || uses < kUsesToNextTrial); }
};

// What tests change in a device, and where it keeps what it has learnt.
struct GpuOptions {
  std::string passes;             // a file of passes, made where it is missing; empty: none are kept
  bool checks_arithmetic = true;  // at creation
  std::string (*alter)(std::string_view text) = nullptr;  // of every shader: a wrong compiler, for tests
};

class Shaders {
 public:
  Shaders(Driver& driver, GpuOptions options) : driver_(driver), options_(std::move(options)) {}

  // Reads the file of passes. Lines that are none are passed over, as is a file that is not there.
  void read_passes();
  // Shaders are made anew, with this level of sums. For the time before any is used.
  void set_sums(Sums sums);
  Sums sums() const { return sums_; }

  // The shader of kernels whose operands lie in these buffers, one per operand. Unsupported where the device binds
  // fewer buffers. It stays where it is.
  Result<Shader*> find(Kernels kernels, std::span<const Id> buffers);
  // Its pipeline. Unsupported, with what the compiler says.
  Result<Id> compile(Shader& shader, Kernels kernels);
  // Another level of sums; what was known of the shader is forgotten.
  void set_sums(Shader& shader, Kernels kernels, Sums sums);
  void pass(Shader& shader);
  std::uint64_t compiled() const { return compiled_; }

  Id group(const Shader& shader, Id parameters, std::span<const Id> buffers);
  // Forgets the groups that a buffer is in.
  void drop_groups(Id buffer);

 private:
  std::string text_of(const Shader& shader, Kernels kernels) const;
  void judge(Shader& shader, Kernels kernels);

  Driver& driver_;
  GpuOptions options_;
  Sums sums_ = Sums::Left;
  std::string prelude_left_ = prelude(Sums::Left), prelude_kept_ = prelude(Sums::Kept);
  std::unordered_map<std::string, Shader> shaders_;
  std::map<std::string, Id> groups_;
  std::map<std::string, bool, std::less<>> passes_;  // by hash: whether it has passed again
  std::string key_;
  std::uint64_t compiled_ = 0;
};

}  // namespace loom::gpu

#pragma once
// Proof before use: a shader's results count when they were, for the very tensors of its first use, those of this
// computer's kernels, bit by bit; so for tensors of other sizes (sizes_of()), and again after a thousand uses. What a
// compiler makes of a text is known no other way. Four cases:
//   a kernel of an op     the op runs here as well, on copies of its tensors (Call)
//   kernels in one shader their results are compared with those of each alone, which have been proved before
//   one that fails        is compiled once more, with sums that no compiler can see through; if it fails again its
//                         op is computed here from then on, and the name is kept for reports
//   one that does not compile, or that the device is too small for, is refused at once
// A device of Precision::Fast is asked for the last of these alone.
// Shaders that have passed are known by the text of theirs in later runs (Shaders::read_passes).

#include <string>
#include <utility>
#include <vector>

#include "backend/webgpu/call.h"
#include "backend/webgpu/gpu_device.h"
#include "core/clock.h"
#include "core/mutex.h"

namespace loom::gpu {

class Prover {
 public:
  struct Report {
    std::uint64_t trials = 0;      // of ops and of joined kernels
    std::uint64_t calls_here = 0;  // of ops that were computed here, since a kernel of theirs is refused
    double ms = 0;
    std::vector<std::string> refused;   // names of kernels
    std::vector<std::string> problems;  // of those among them that could not be compiled
  };

  Prover(GpuDevice& device, Shaders& shaders) : device_(device), shaders_(shaders) {}

  // Returns whether the op is done; if it is not, its kernels run here, and then comes end().
  bool begin(const Exec& exec, const Form& form);
  void end();
  // Room for what an op takes here. From any thread.
  void plan(const Arena::Mark& scratch);
  // False for a shader that is refused by this, with the reason in the report.
  Result<bool> compile(Shader& shader, Kernels kernels);
  // Kernels by rows as one shader: runs them.
  Result<void> prove_joined(Kernels kernels, std::uint64_t rows, Shader& shader);

  bool is_in_call() const { return in_call_; }
  // The pass has been read: from now on kernels are taken as known until one is not.
  void end_pass() { looks_first_ = std::exchange(met_stranger_, false); }
  const Report& report() const { return report_; }

 private:
  // Bytes of the device at their addresses, from `begin` to `end`.
  struct Piece {
    std::byte *begin, *end;
    std::size_t size() const { return static_cast<std::size_t>(end - begin); }
    std::span<std::byte> bytes() const { return {begin, size()}; }
  };
  struct OnTrial {
    Shader* shader;
    const Kernel* kernel;
    std::uint64_t sizes;
  };
  using Bytes = std::vector<std::vector<std::byte>>;

  Arena::Mark planned();
  bool record(const Exec& exec, const Form& form);
  Result<void> copy_here(const Exec& exec);
  Result<void> use_current_weights();
  Result<void> compile_all();
  Result<void> run_alone();
  Result<void> judge();
  void refuse(Shader& shader);
  Result<bool> results_are(const Bytes& expected, std::span<const Piece> pieces);
  Result<Bytes> fetch(std::span<const Piece> pieces);
  void send(const Bytes& bytes, std::span<const Piece> pieces);
  std::vector<Piece> pieces_of(Kernels kernels, std::uint64_t rows, const Arena* arena, bool written) const;
  static unsigned trials_for(std::span<const Piece> written);
  static void merge(std::vector<Piece>& pieces);
  void empty_addresses();

  GpuDevice& device_;
  Shaders& shaders_;
  Report report_;
  bool in_call_ = false, looks_first_ = true, met_stranger_ = false;

  Mutex mutex_;
  Arena::Mark scratch_;  // that ops take here, as far as they were rehearsed

  // Of the call that waits for end().
  const Exec* exec_ = nullptr;
  Arena arena_;  // of this computer; while the call waits, the one of the call
  std::vector<OnTrial> on_trial_;
  bool is_refused_ = false;
  std::vector<Piece> written_, filled_;
  Bytes before_;
  Clock::time_point began_;
};

}  // namespace loom::gpu

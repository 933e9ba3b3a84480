#pragma once
// Proof before use: a shader is trusted after its results were, for the very tensors of its first use, those of the
// host's kernels, bit by bit; so for tensors of other sizes (sizes_of()), and again after a thousand uses. Only a run
// shows how a compiler translates a text. Four cases:
//   a kernel of an op     the op runs on the host as well, on copies of its tensors (Call)
//   kernels in one shader their results are compared with those of each alone, which have been proved before
//   one that fails        is compiled once more, with sums that no compiler can see through; if it fails again the
//                         host computes its op from then on, and reports name the kernel
//   one that does not compile, or that the device is too small for, is refused at once
// On a device of Precision::Fast only the last case applies.
// Shaders that have passed are known by the text of theirs in later runs (Shaders::read_passes).

#include <string>
#include <utility>
#include <vector>

#include "backend/webgpu/call.h"
#include "backend/webgpu/recorder.h"
#include "core/clock.h"
#include "core/mutex.h"

namespace loom::gpu {

class Prover {
 public:
  struct Report {
    std::uint64_t trials = 0;         // of ops and of joined kernels
    std::uint64_t calls_on_host = 0;  // of ops that the host computed, since a kernel of theirs is refused
    double ms = 0;
    std::vector<std::string> refused;   // names of kernels
    std::vector<std::string> problems;  // of those among them that could not be compiled
  };

  Prover(Connection& connection, GpuMemory& memory, Submitter& submitter, Shaders& shaders, Recorder& recorder)
      : connection_(connection), memory_(memory), submitter_(submitter), shaders_(shaders), recorder_(recorder) {}

  // Returns null if the op is done; if not, the arena with which its kernels run on the host before end().
  Arena* begin(const Exec& exec, const Form& form);
  void end();
  // Plans scratch memory that an op takes on the host. From any thread.
  void plan(const Arena::Mark& scratch);
  // False for a shader that is refused by this, with the reason in the report.
  Result<bool> compile(Shader& shader, Kernels kernels);
  // Kernels by rows as one shader: runs them.
  Result<void> prove_joined(Kernels kernels, std::uint64_t rows, Shader& shader);

  bool is_in_call() const { return in_call_; }
  // The pass has been read: from now on kernels are taken as known until one is not.
  void end_pass() { lists_first_ = std::exchange(met_untrusted_kernel_, false); }
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
  Result<void> copy_to_host(const Exec& exec);
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

  Connection& connection_;
  GpuMemory& memory_;
  Submitter& submitter_;
  Shaders& shaders_;
  Recorder& recorder_;
  Report report_;
  bool in_call_ = false, lists_first_ = true, met_untrusted_kernel_ = false;

  Mutex mutex_;
  Arena::Mark scratch_;  // that ops take on the host, as far as they were rehearsed

  // State of the call that waits for end().
  const Exec* exec_ = nullptr;
  Arena arena_;  // of the host, for kernels of a call that waits
  std::vector<OnTrial> on_trial_;
  bool is_refused_ = false;
  std::vector<Piece> written_, filled_;
  Bytes before_;
  Clock::time_point began_;
};

}  // namespace loom::gpu

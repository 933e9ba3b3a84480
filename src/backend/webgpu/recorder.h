#pragma once
// Records the kernels that forms of ops ask for: each alone, or several that look at one row at a time as one. Kernels
// whose shaders have not been proved go to the prover (prover.h).

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "backend/webgpu/gpu_memory.h"
#include "backend/webgpu/kernel.h"
#include "backend/webgpu/shaders.h"
#include "backend/webgpu/submitter.h"

namespace loom {
struct Exec;
}

namespace loom::gpu {

class Prover;

class Recorder {
 public:
  using FaultError = std::function<Error(std::uint32_t where, std::uint32_t value)>;
  // A kernel that a form has recorded.
  struct Recorded {
    Kernel kernel;
    std::uint64_t workgroups = 0;  // rows, of a kernel by rows
    bool by_rows = false;
    std::size_t beside = 1;  // of the first of kernels that run beside each other: their number
  };

  Recorder(Connection& connection, GpuMemory& memory, Submitter& submitter, Shaders& shaders);
  ~Recorder();
  // Makes the memory of faults. OutOfMemory.
  Result<void> create_buffers();

  // These record for the form of an op; see GpuDevice, which has functions of the same names.
  void record(const Exec& exec, const Kernel& kernel, std::uint64_t workgroups);
  void record_row(const Exec& exec, const Kernel& kernel, std::uint64_t rows);
  void record_beside(const Exec& exec, Kernels kernels, std::uint64_t workgroups);
  const void* upload(const Exec& exec, std::span<const std::byte> bytes);
  void* fault(const Exec& exec, FaultError error);
  static constexpr std::uint32_t kRowThreads = 256;
  std::uint64_t waiting_rows() const { return rows_.empty() ? 0 : num_rows_; }
  std::uint64_t rehearsed() const { return rehearsed_.load(std::memory_order_relaxed); }

  Result<void> dispatch(const Kernel& kernel, std::uint64_t workgroups);
  // Frees memory after all commands that name it; within an attempt, when that ends.
  void free(std::byte* memory);
  // Submits all that was recorded, and forgets the numbers of the pass.
  void flush();
  // Submits the kernels by rows that wait, and the commands, in the middle of a pass: its numbers stay.
  Result<void> submit_all();
  // Ends the kernels by rows that wait; check() returns the error.
  void end_rows_keeping_error() { submitter_.keep_error(end_rows()); }
  Result<void> check();

  Prover& prover() { return *prover_; }
  const Prover& prover() const { return *prover_; }

  // ---- for the prover ----

  // Calls form() and keeps what it records only if the shaders of all kernels are trusted. Returns whether they are.
  template <class F>
  bool attempt(F&& form) {
    begin_attempt();
    form();
    return end_attempt();
  }
  // Calls form() and lists its kernels in recorded(); nothing else comes of them.
  template <class F>
  void list(F&& form) {
    recorded_.clear();
    mode_ = Mode::List;
    form();
    mode_ = Mode::Plain;
  }
  const std::vector<Recorded>& recorded() const { return recorded_; }
  // Adds the listed kernels to what is recorded.
  Result<void> add_listed();
  // Makes room for the faults and numbers of one op.
  void make_room();
  // Dispatches each of the kernels by rows that wait alone, and submits all commands.
  Result<void> submit_rows_alone();
  Result<void> dispatch_alone(const Kernel& kernel, std::uint64_t workgroups);
  Result<Shader*> shader_of(Kernels kernels);
  // Whether a shader may be used without a trial.
  Result<bool> trusts(Shader& shader, Kernels kernels, std::uint64_t workgroups);
  const std::byte* fault_memory() const { return fault_memory_; }

 private:
  // Plain: kernels are added as they come. Attempt: they are added while the shaders of all are trusted, and else
  // forgotten (end_attempt()). List: they are listed in recorded_ only.
  enum class Mode : std::uint8_t { Plain, Attempt, List };
  // The state when an attempt began, and what it did that cannot be seen from that.
  struct Attempt {
    Submitter::Mark mark;
    std::size_t faults = 0, rows = 0;
    std::uint64_t num_rows = 0;
    bool has_untrusted_kernel = false, has_ended_rows = false;
    std::vector<Kernel> ended_rows;
    std::vector<std::byte*> freed;
  };

  void begin_attempt();
  bool end_attempt();
  void forget();
  void read_faults();
  Result<bool> knows(const Kernel& kernel, std::uint64_t workgroups);
  Result<void> add(const Kernel& kernel, std::uint64_t workgroups);
  // ---- row_kernels.cpp ----
  Result<void> add_row(const Kernel& kernel, std::uint64_t rows);
  Result<void> end_rows(bool has_last = false);
  Result<void> dispatch_rows(Kernels kernels);
  Result<void> add_beside(Kernels kernels, std::uint64_t workgroups);
  Result<void> dispatch_beside(Kernels kernels, std::uint64_t workgroups);
  bool overlaps(const Kernel::Operand& a, const Kernel::Operand& b, std::uint64_t rows) const;
  bool conflicts(const Kernel::Operand& a, const Kernel::Operand& b, std::uint64_t rows) const;
  bool binds(Kernels kernels) const;
  bool can_lead(std::uint64_t workgroups);
  // workgroup_bytes(), read once for a body and its constants; all of a workgroup where it cannot be read.
  std::uint64_t own_bytes(const Kernel& kernel);

  Connection& connection_;
  GpuMemory& memory_;
  Submitter& submitter_;
  Shaders& shaders_;
  const std::unique_ptr<Prover> prover_;

  Mode mode_ = Mode::Plain;
  Attempt attempt_;
  std::vector<Recorded> recorded_;
  std::vector<Kernel> rows_;  // of record_row(), to become one
  std::uint64_t num_rows_ = 0;
  std::byte* fault_memory_ = nullptr;
  std::vector<FaultError> faults_;                                 // since the last check()
  std::atomic<std::uint64_t> rehearsed_ = 0;                       // plans are made by any thread
  std::map<std::vector<std::uint64_t>, std::uint64_t> own_bytes_;  // of own_bytes(), by body and constants
  std::vector<std::uint64_t> own_key_;
};

}  // namespace loom::gpu

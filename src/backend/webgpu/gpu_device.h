#pragma once
// A graphics card as a Device: tensors lie in its memory, ops record kernels, and the host reads when a pass has ended.
// Tensors have addresses like everywhere else, of a range that holds no memory, so that layers go on adding to pointers
// and a host that looks at a tensor faults at once. One thread uses a device at a time.
// A card that is lost, or does not answer, is dead: every call gives the same error (DeviceLost) from then on, or does
// nothing, and the driver is asked no more.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "backend/webgpu/driver.h"
#include "backend/webgpu/kernel.h"
#include "backend/webgpu/shaders.h"

namespace loom {
struct Exec;
}

namespace loom::gpu {

class Prover;

class GpuDevice final : public Device {
 public:
  // Proves the arithmetic of the device first (probe.h), unless it is a fast one; Unsupported where it is not exact.
  // OutOfMemory.
  static Result<std::unique_ptr<GpuDevice>> create(std::unique_ptr<Driver> driver, GpuOptions options = {});
  ~GpuDevice() override;

  Result<std::byte*> allocate(std::size_t bytes) override;
  void free(std::byte* memory, std::size_t bytes) override;
  void read(const std::byte* from, std::span<std::byte> to) override;
  void write(std::byte* to, std::span<const std::byte> from) override;
  void copy(const std::byte* from, std::size_t bytes, std::byte* to) override;
  void clear(std::byte* memory, std::size_t bytes) override;
  Result<const std::byte*> place(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes) override;
  Result<void> check() override;
  // Begins to bring whole words as they are behind all that was recorded, for a host that goes on recording meanwhile;
  // each read that has begun is finished once, by waiting for it.
  Result<Ticket> begin_read(const std::byte* from, std::size_t bytes);
  Result<void> finish_read(Ticket ticket, std::span<std::byte> to);
  // In the middle of a pass, behind all that was recorded of it: bytes for an operation that is computed here, and its
  // results. What kernels to come were told of (upload()) stays.
  Result<void> bring(const std::byte* from, std::span<std::byte> to);
  Result<void> put(std::byte* to, std::span<const std::byte> from);
  // Operations of graphs that have no form for cards and read what lay there: names, and how often.
  void tell_computed_here(std::string_view operation);
  struct ComputedHere {
    std::vector<std::string> names;
    std::uint64_t calls = 0;
  };
  const ComputedHere& computed_here() const { return computed_here_; }
  Precision precision() const override { return shaders_.precision(); }
  GpuDevice* gpu() override { return this; }

  // Forms of ops record by these, inside a Call (call.h). Record so many workgroups of a kernel behind what was
  // recorded before. Nothing in a rehearsal. What goes wrong is in exec.status. Where a few workgroups see each row,
  // kernels by rows that wait become its beginning (Kernel::groups_of_row), unless memory that they write is read.
  void record(const Exec& exec, const Kernel& kernel, std::uint64_t workgroups);
  // The same of a kernel whose workgroup r, of kRowThreads threads, looks at row r alone of operands that have rows.
  // Such kernels, one behind the other over as many rows, become one, unless memory of one row is written that
  // another's lies in: a tensor and what is later put into its place, say.
  void record_row(const Exec& exec, const Kernel& kernel, std::uint64_t rows);
  static constexpr std::uint32_t kRowThreads = 256;
  // Rows of the kernels that one of record_row() could join; 0 where none wait.
  std::uint64_t waiting_rows() const { return rows_.empty() ? 0 : num_rows_; }
  // record() outside of a pass, of a kernel that nobody has proved.
  Result<void> dispatch(const Kernel& kernel, std::uint64_t workgroups);
  // Where kernels of this pass find numbers of the host: positions, ids, lengths. Null in a rehearsal.
  template <class T>
  const void* upload(const Exec& exec, std::span<const T> numbers) {
    static_assert(sizeof(T) % 4 == 0);
    return upload_bytes(exec, std::as_bytes(numbers));
  }

  // While it lives, what is recorded is submitted when it is read: the device has work until then.
  class InOnePiece {
   public:
    explicit InOnePiece(GpuDevice& device) : device_(device), before_(std::exchange(device.submits_early_, false)) {}
    ~InOnePiece() { device_.submits_early_ = before_; }
    InOnePiece(const InOnePiece&) = delete;
    InOnePiece& operator=(const InOnePiece&) = delete;

   private:
    GpuDevice& device_;
    bool before_;
  };

  // Returns whether an address is one of the device's.
  bool holds(const void* address) const { return find_spot(address).has_value(); }
  // Two words for a kernel of this pass that may meet a value which is an error: the first is 1 more than where it is,
  // the second the value, and error(where, value) is what check() gives then. Null in a rehearsal.
  void* fault(const Exec& exec, std::function<Error(std::uint32_t where, std::uint32_t value)> error);

  const AdapterInfo& adapter() const { return driver_->adapter(); }
  // What became of a card that is dead.
  const std::optional<Error>& lost() const { return lost_; }
  struct Counters {
    std::uint64_t rehearsed = 0;  // kernels of passes that were planned
    std::uint64_t dispatches = 0, submits = 0, pipelines = 0, bytes_read = 0, bytes_written = 0;
    double submit_ms = 0, wait_ms = 0;
  };
  Counters counters() const;
  // From now on each dispatch is submitted and waited for alone, so that its time can be told.
  void time_kernels() { is_timed_ = true; }
  struct KernelTime {
    std::string_view name;
    std::uint64_t workgroups = 0, uses = 0;
    double ms = 0;  // of all uses, less what a read takes behind nothing
  };
  // Since the last call; the longest first.
  std::vector<KernelTime> take_kernel_times();
  // Whether compilers may see sums of kept products, or must not (a second level for those that reassociate).
  Sums sums() const { return shaders_.sums(); }
  std::uint64_t buffer_bytes() const { return lost_ ? 0 : driver_->buffer_bytes(); }
  Prover& prover() { return *prover_; }
  const Prover& prover() const { return *prover_; }
  std::size_t known_passes() const { return shaders_.known_passes(); }  // of earlier runs

 private:
  friend class Prover;
  // A buffer and what of it has been handed out, front to back; it goes when all of that has come back.
  struct Heap {
    Id buffer = 0;
    std::uint64_t bytes = 0, used = 0;
    std::size_t live = 0;
  };
  struct Range {
    std::size_t bytes = 0, heap = 0;
    std::uint64_t offset = 0;      // of the first byte in the heap
    std::byte* of_host = nullptr;  // what it is a copy of (place())
    mutable bool moved = false;    // kernels have written there since
  };
  struct Spot {
    Id buffer = 0;
    std::uint64_t offset = 0;
  };
  struct Placed {
    std::weak_ptr<const void> owner;
    std::byte* at = nullptr;
    std::size_t bytes = 0;
  };
  // A kernel that a form has recorded.
  struct Recorded {
    Kernel kernel;
    std::uint64_t workgroups = 0;
    bool by_rows = false;
  };
  // What becomes of kernels: run as they come; run as they come as long as all are known, and otherwise forgotten
  // (forget()); listed in recorded_ alone.
  enum class Mode : std::uint8_t { Plain, Attempt, List };
  // How far things were when an attempt began, and what was then done that cannot be seen from that.
  struct Attempt {
    std::size_t commands = 0, parameters = 0, batches = 0, notes = 0, faults = 0, rows = 0;
    std::uint64_t num_rows = 0, dispatches = 0;
    bool meets_stranger = false, has_ended_rows = false;
    std::vector<Kernel> ended_rows;
    std::vector<std::byte*> freed;
  };

  GpuDevice(std::unique_ptr<Driver> driver, GpuOptions options);
  // What the driver said; a loss is remembered.
  template <class T>
  Result<T> heard(Result<T> said) {
    if (!said && said.error().code == Code::DeviceLost) return lose(said.error().message);
    return said;
  }
  tl::unexpected<Error> lose(std::string_view why);
  Result<std::byte*> take(std::size_t bytes, std::size_t& open_heap, std::uint64_t heap_bytes);
  Result<std::size_t> new_heap(std::uint64_t bytes);
  void drop_heap(std::size_t heap);
  std::byte* find_addresses(std::size_t bytes);
  using Ranges = std::map<const std::byte*, Range>;
  // The range that an address lies in, or right behind; null without one.
  const Ranges::value_type* find_range(const void* address) const;
  std::optional<Spot> find_spot(const void* address) const;
  Spot spot_of(const void* address) const;
  bool meet(const Kernel::Operand& a, const Kernel::Operand& b, std::uint64_t rows) const;
  bool clash(const Kernel::Operand& a, const Kernel::Operand& b, std::uint64_t rows) const;
  bool binds(Kernels kernels) const;
  bool can_lead(std::uint64_t workgroups) const;
  const std::byte* end_of_range(const void* address) const;
  void begin_attempt();
  bool keep_attempt();  // or forgets it
  // Whether a shader may be used without a trial.
  Result<bool> trusts(Shader& shader, Kernels kernels, std::uint64_t workgroups);
  Result<bool> knows(const Kernel& kernel, std::uint64_t workgroups);
  Result<void> add(const Kernel& kernel, std::uint64_t workgroups);
  Result<void> add_row(const Kernel& kernel, std::uint64_t rows);
  Result<Shader*> shader_of(Kernels kernels);
  Result<void> submit(Kernels kernels, std::uint64_t workgroups, Shader& shader);
  Result<void> submit_alone(const Kernel& kernel, std::uint64_t workgroups);
  Result<void> submit_rows(Kernels kernels);
  Result<void> end_rows(bool has_last = false);
  const void* upload_bytes(const Exec& exec, std::span<const std::byte> bytes);
  void make_room();    // for what one op tells its kernels
  void settle_rows();  // end_rows() where nobody waits for its error: check() tells it
  void flush();
  void submit_commands();
  void submit_timed(std::span<const std::uint32_t> commands);
  double time_of_read();
  void submit_early();  // what has been recorded of a pass, to a device that has nothing to do
  void forget();        // what was recorded
  // Reads and writes of memory as it is behind all that was submitted; notes stay.
  Result<void> fetch(const std::byte* from, std::span<std::byte> to);
  Result<void> wait_for(Ticket ticket, std::span<std::byte> to);
  void send(std::byte* to, std::span<const std::byte> from);
  void drop_expired();

  std::unique_ptr<Driver> driver_;
  ComputedHere computed_here_;
  double most_wait_ms_ = 0;
  std::optional<Error> lost_;
  std::string_view last_kernel_;    // that was submitted
  std::byte* addresses_ = nullptr;  // all of them are handed out from here
  std::size_t num_addresses_, next_address_ = 0;
  Ranges ranges_;
  // What find_range() found lately, each at a place that its address names: a token asks for the same thousand again.
  struct Found {
    const void* address = nullptr;
    const Ranges::value_type* range = nullptr;
  };
  static constexpr unsigned kFoundBits = 12;
  mutable std::vector<Found> found_ = std::vector<Found>(std::size_t{1} << kFoundBits);
  std::vector<Heap> heaps_;
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t small_heap_ = kNone, weight_heap_ = kNone;  // that have room
  std::uint64_t next_weight_heap_ = 0;
  std::map<const std::byte*, Placed> placed_;  // by where the host has it

  Shaders shaders_;
  std::unique_ptr<Prover> prover_;

  Mode mode_ = Mode::Plain;
  Attempt attempt_;
  std::vector<Recorded> recorded_;

  // Recorded, not yet submitted.
  static constexpr std::size_t kRoom = 1024;  // dispatches whose parameters the buffer for them holds
  static constexpr std::size_t kRoomWords = kRoom * kParameterBytes / 4;
  std::vector<Kernel> rows_;  // of record_row(), to become one
  std::uint64_t num_rows_ = 0;
  std::vector<std::uint32_t> commands_, parameters_;
  std::vector<std::size_t> batches_;  // where in commands_ those end that share the parameter buffer
  std::vector<std::uint32_t>
      notes_;  // since the last flush: kernels that are recorded later may name the first of them
  std::size_t notes_written_ = 0;
  Id parameter_buffer_ = 0;
  bool submits_early_ = true;
  std::byte* note_memory_ = nullptr;
  std::byte* fault_memory_ = nullptr;
  std::vector<std::function<Error(std::uint32_t, std::uint32_t)>> faults_;  // since the last check()
  Counters counters_;
  bool is_timed_ = false;
  double read_ms_ = 0;                                               // of a word, behind nothing
  std::map<std::pair<Id, std::uint64_t>, KernelTime> kernel_times_;  // by pipeline and workgroups
  std::atomic<std::uint64_t> rehearsed_ = 0;                         // plans are made by any thread
  std::optional<Error> failed_;                                      // of a read
};

}  // namespace loom::gpu

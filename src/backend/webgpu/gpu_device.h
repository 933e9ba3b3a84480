#pragma once
// A graphics card as a Device: its memory holds the tensors (gpu_memory.h), ops record kernels (recorder.h), and the
// host reads after a pass has ended (submitter.h). One thread uses a device at a time.
// A card that is lost, or does not answer, is dead: every call gives the same error (DeviceLost) from then on, or does
// nothing, and the driver is not called any more.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/webgpu/connection.h"
#include "backend/webgpu/driver.h"
#include "backend/webgpu/gpu_memory.h"
#include "backend/webgpu/kernel.h"
#include "backend/webgpu/recorder.h"
#include "backend/webgpu/shaders.h"
#include "backend/webgpu/submitter.h"

namespace loom::gpu {

class GpuDevice final : public Device {
 public:
  // Proves the arithmetic of the device first (probe.h), unless it is a fast one; Unsupported where it is not exact.
  // OutOfMemory.
  static Result<std::unique_ptr<GpuDevice>> create(std::unique_ptr<Driver> driver, GpuOptions options = {});

  Result<std::byte*> allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void free(std::byte* memory, std::size_t bytes) override;
  void read(const std::byte* from, std::span<std::byte> to) override;
  void write(std::byte* to, std::span<const std::byte> from) override;
  void copy(const std::byte* from, std::size_t bytes, std::byte* to) override;
  void clear(std::byte* memory, std::size_t bytes) override;
  Result<const std::byte*> place(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes) override;
  // The card's copy that place() has made; null without one, or where the card is lost.
  const std::byte* find_copy(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes) const;
  Result<void> check() override { return recorder_.check(); }
  Precision precision() const override { return shaders_.precision(); }
  bool records() const override { return true; }
  GpuDevice* gpu() override { return this; }
  Result<ReadTicket> begin_read(const std::byte* from, std::size_t bytes) override;
  Result<void> finish_read(ReadTicket ticket, std::span<std::byte> to) override {
    return submitter_.finish_read(ticket, to);
  }
  Result<void> read_in_pass(const std::byte* from, std::span<std::byte> to) override;
  Result<void> write_in_pass(std::byte* to, std::span<const std::byte> from) override;
  void count_host_call(std::string_view operation) override;
  // Operations of graphs that have no form for cards and read values of the card: names, and the number of calls.
  struct HostCalls {
    std::vector<std::string> names;
    std::uint64_t calls = 0;
  };
  const HostCalls& host_calls() const { return host_calls_; }
  bool set_submits_early(bool submits_early) override { return submitter_.set_submits_early(submits_early); }
  DeviceCounters counters() const override;
  std::string_view adapter_name() const override { return adapter().name; }
  bool is_software() const override { return adapter().kind == "software"; }
  void time_kernels() override { submitter_.time_kernels(); }

  // Forms of ops record with these, inside a Call (call.h). Records a kernel of so many workgroups after all that was
  // recorded before; nothing in a rehearsal. An error is left in exec.status. Where a few workgroups see each row,
  // kernels by rows that wait become its beginning (Kernel::groups_of_row), unless memory that they write is read.
  void record(const Exec& exec, const Kernel& kernel, std::uint64_t workgroups) {
    recorder_.record(exec, kernel, workgroups);
  }
  // Like record(), for a kernel whose workgroup r, of kRowThreads threads, reads and writes only row r of operands that
  // have rows. Consecutive kernels of that kind over as many rows become one, unless one writes memory of a row that
  // contains another row of the other: a tensor and one that later takes its place, say.
  void record_row(const Exec& exec, const Kernel& kernel, std::uint64_t rows) {
    recorder_.record_row(exec, kernel, rows);
  }
  // Records kernels of one body and equal constants, of so many workgroups each, that neither read nor write what
  // another of them writes: several become one dispatch. Workgroup r reads and writes only row r of operands that have
  // rows.
  void record_beside(const Exec& exec, Kernels kernels, std::uint64_t workgroups) {
    recorder_.record_beside(exec, kernels, workgroups);
  }
  static constexpr std::uint32_t kRowThreads = Recorder::kRowThreads;
  // Rows of the kernels that one of record_row() could join; 0 where none wait.
  std::uint64_t waiting_rows() const { return recorder_.waiting_rows(); }
  // Like record(), outside of a pass, for a kernel that was not proved.
  Result<void> dispatch(const Kernel& kernel, std::uint64_t workgroups) {
    return recorder_.dispatch(kernel, workgroups);
  }
  // Returns the address where kernels of this pass find numbers of the host: positions, ids, lengths. Null in a
  // rehearsal.
  template <class T>
  const void* upload(const Exec& exec, std::span<const T> numbers) {
    static_assert(sizeof(T) % 4 == 0);
    return recorder_.upload(exec, std::as_bytes(numbers));
  }

  // Returns whether an address is one of the device's.
  bool holds(const void* address) const { return memory_.find_spot(address).has_value(); }
  // Returns two words for a kernel of this pass that may find a value which is an error: it writes 1 more than the
  // place of the value, and the value; check() then returns error(place, value). Null in a rehearsal.
  void* fault(const Exec& exec, Recorder::FaultError error) { return recorder_.fault(exec, std::move(error)); }

  // The units of subgroups that multiply matrices: those of the adapter, or plain arithmetic in their place.
  enum class MatrixUnits : std::uint8_t { None, Plain, Real };
  MatrixUnits matrix_units() const {
    if (shaders_.has_plain_units()) return MatrixUnits::Plain;
    return has_units_ ? MatrixUnits::Real : MatrixUnits::None;
  }
  const AdapterInfo& adapter() const { return connection_.adapter(); }
  // The error of a card that is dead.
  const std::optional<Error>& lost() const { return connection_.lost(); }
  using KernelTime = Submitter::KernelTime;
  // Since the last call; the longest first.
  std::vector<KernelTime> take_kernel_times() { return submitter_.take_kernel_times(); }
  // Whether compilers may see sums of kept products, or must not (a second level for those that reassociate).
  Sums sums() const { return shaders_.sums(); }
  // The form of the sums of products of bytes.
  Dots dots() const { return shaders_.dots(); }
  std::uint64_t buffer_bytes() const { return connection_.buffer_bytes(); }
  Prover& prover() { return recorder_.prover(); }
  const Prover& prover() const { return recorder_.prover(); }
  std::size_t known_passes() const { return shaders_.known_passes(); }  // of earlier runs

 private:
  // The form that the user names, or else the fastest. Errors of check_dots().
  Result<void> choose_dots(std::optional<Dots> named);
  GpuDevice(std::unique_ptr<Driver> driver, const GpuOptions& options, double most_wait_ms);

  Connection connection_;
  Shaders shaders_;
  GpuMemory memory_;
  Submitter submitter_;
  Recorder recorder_;
  HostCalls host_calls_;
  bool has_units_ = false;
};

}  // namespace loom::gpu

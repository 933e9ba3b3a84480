#pragma once
// The commands of a graphics card: dispatches, copies and clears are listed with the numbers that kernels read, and
// submitted together. Reads wait for all that was submitted. Measures the time of kernels where it is asked to.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/webgpu/connection.h"
#include "backend/webgpu/gpu_memory.h"
#include "backend/webgpu/shaders.h"

namespace loom::gpu {

class Submitter {
 public:
  // How many commands, dispatches and numbers are listed.
  struct Mark {
    std::size_t commands = 0, parameters = 0, batches = 0, numbers = 0;
    std::uint64_t dispatches = 0;
  };

  // `most_wait_ms`: for a read; the card is lost then.
  Submitter(Connection& connection, GpuMemory& memory, Shaders& shaders, double most_wait_ms)
      : connection_(connection), memory_(memory), shaders_(shaders), most_wait_ms_(most_wait_ms) {}
  // Makes the buffer of parameters and the memory of numbers. OutOfMemory.
  Result<void> create_buffers();

  // Lists commands. A shader is compiled when it is first used.
  Result<void> dispatch(Kernels kernels, std::uint64_t workgroups, Shader& shader);
  // Both addresses are multiples of 4 bytes in different buffers, as is_word_copy() checks.
  void copy(const std::byte* from, std::size_t bytes, std::byte* to);
  bool is_word_copy(const std::byte* from, std::size_t bytes, const std::byte* to) const;
  void clear(const std::byte* memory, std::size_t bytes);

  // Numbers of the host for kernels: positions, ids, lengths. Returns their address on the card, null where the memory
  // for them is full until the next flush.
  std::byte* add_numbers(std::span<const std::byte> bytes);
  static constexpr std::size_t kNumberBytes = std::size_t{1} << 20;
  std::byte* number_memory() const { return number_memory_; }
  std::size_t number_bytes() const { return numbers_.size() * 4; }

  // Submits all commands; the numbers of the pass stay.
  void submit();
  // Submits what a pass has recorded so far if the card is idle: once there are enough dispatches.
  void submit_early();
  // Returns the setting before: whether submit_early() does something.
  bool set_submits_early(bool submits_early) { return std::exchange(submits_early_, submits_early); }
  // Forgets the numbers of the pass, after submit().
  void forget_numbers() {
    numbers_.clear();
    numbers_written_ = 0;
  }

  Mark mark() const;
  // Forgets what was listed since the mark.
  void rewind(const Mark& mark);
  // Forgets all that was listed.
  void forget();

  // Read and write memory after all that was submitted.
  Result<void> read(const std::byte* from, std::span<std::byte> to);
  void write(std::byte* to, std::span<const std::byte> from);
  // Whole words; see Device::begin_read().
  Result<Ticket> begin_read(const std::byte* from, std::size_t bytes);
  Result<void> finish_read(Ticket ticket, std::span<std::byte> to);
  void count_written(std::size_t bytes) { counters_.bytes_written += bytes; }

  // An error that no caller waits for: take_error() returns the first one. `replace`: the last one.
  void keep_error(Result<void> result, bool replace = false);
  std::optional<Error> take_error() { return std::exchange(error_, {}); }
  bool has_error() const { return error_.has_value(); }

  // All but `rehearsed` and `pipelines`.
  const DeviceCounters& counters() const { return counters_; }
  // From now on each dispatch is submitted and waited for alone.
  void time_kernels() { is_timed_ = true; }
  struct KernelTime {
    std::string_view name;
    std::uint64_t workgroups = 0, uses = 0;
    double ms = 0;  // of all uses, without the time of a read that waits for nothing
  };
  // Returns the times since the last call, the longest first.
  std::vector<KernelTime> take_kernel_times();

 private:
  // Dispatches whose parameters the buffer for them holds.
  static constexpr std::size_t kRoom = 1024, kRoomWords = kRoom * kParameterBytes / 4;

  Result<void> wait_for(Ticket ticket, std::span<std::byte> to);
  void submit_timed(std::span<const std::uint32_t> commands);
  double time_of_read();

  Connection& connection_;
  GpuMemory& memory_;
  Shaders& shaders_;
  double most_wait_ms_;

  std::vector<std::uint32_t> commands_, parameters_;
  std::vector<std::size_t> batches_;    // where in commands_ those end that share the parameter buffer
  std::vector<std::uint32_t> numbers_;  // since the last flush: kernels to come may name the first of them
  std::size_t numbers_written_ = 0;
  Id parameter_buffer_ = 0;
  std::byte* number_memory_ = nullptr;
  bool submits_early_ = true;

  DeviceCounters counters_;
  bool is_timed_ = false;
  double read_ms_ = 0;                                               // time of reading a word when nothing runs
  std::map<std::pair<Id, std::uint64_t>, KernelTime> kernel_times_;  // by pipeline and workgroups
  std::optional<Error> error_;
};

}  // namespace loom::gpu

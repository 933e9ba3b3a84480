#include "backend/webgpu/submitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/checked.h"
#include "core/clock.h"

namespace loom::gpu {
namespace {

constexpr std::size_t kParameterWords = kParameterBytes / 4;

std::uint32_t words(std::uint64_t bytes) { return static_cast<std::uint32_t>(bytes / 4); }

}  // namespace

Result<void> Submitter::create_buffers() {
  LOOM_TRY(parameter_buffer_,
           connection_.check_lost(connection_.driver().create_buffer(kRoom * kParameterBytes, BufferUse::Parameters)));
  LOOM_TRY(number_memory_, memory_.allocate(kNumberBytes));
  return {};
}

// ---- commands ----

Result<void> Submitter::dispatch(Kernels kernels, std::uint64_t workgroups, Shader& shader) {
  if (connection_.is_lost()) return connection_.loss();
  LOOM_TRY(const Id pipeline, connection_.check_lost(shaders_.compile(shader, kernels)));
  connection_.set_last_kernel(shader.name);
  const std::size_t begin = parameters_.size();
  parameters_.resize(begin + kParameterWords);
  std::uint32_t* word = parameters_.data() + begin;
  *word++ = 0, *word++ = static_cast<std::uint32_t>(workgroups);
  std::array<Id, kMostOperands> buffers;
  std::size_t operands = 0;
  for (const Kernel& kernel : kernels) {
    for (const Kernel::Operand& operand : kernel.operands()) {
      const auto* const range = memory_.find_range(operand.at);
      range->second.was_written |= operand.access != Access::Read;
      const GpuMemory::Spot spot = memory_.spot_in(*range, operand.at);
      buffers[operands++] = spot.buffer;
      *word++ = words(spot.offset);
    }
    for (const Kernel::Number& n : kernel.numbers()) *word++ = n.bits;
  }
  LOOM_ASSERT(word <= parameters_.data() + parameters_.size() && workgroups <= 0xffffffffu);
  const Id group = shaders_.group(shader, parameter_buffer_, {buffers.data(), operands});
  const std::uint64_t most = connection_.adapter().limits.workgroups;
  const std::uint64_t x = std::min(workgroups, most), y = ceil_div(workgroups, x);
  LOOM_ASSERT(y <= most);
  commands_.insert(commands_.end(), {static_cast<std::uint32_t>(Command::Dispatch), pipeline, group,
                                     static_cast<std::uint32_t>(begin % kRoomWords * 4), static_cast<std::uint32_t>(x),
                                     static_cast<std::uint32_t>(y)});
  if (parameters_.size() % kRoomWords == 0) batches_.push_back(commands_.size());
  ++counters_.dispatches;
  return {};
}

// WebGPU copies words, from one buffer to another.
bool Submitter::is_word_copy(const std::byte* from, std::size_t bytes, const std::byte* to) const {
  const GpuMemory::Spot a = memory_.spot_of(from), b = memory_.spot_of(to);
  return a.buffer != b.buffer && a.offset % 4 == 0 && b.offset % 4 == 0 && bytes % 4 == 0;
}

void Submitter::copy(const std::byte* from, std::size_t bytes, std::byte* to) {
  const GpuMemory::Spot a = memory_.spot_of(from), b = memory_.spot_of(to);
  commands_.insert(commands_.end(), {static_cast<std::uint32_t>(Command::Copy), a.buffer, words(a.offset), b.buffer,
                                     words(b.offset), words(bytes)});
}

void Submitter::clear(const std::byte* memory, std::size_t bytes) {
  if (connection_.is_lost()) return;
  const GpuMemory::Spot spot = memory_.spot_of(memory);
  const std::uint64_t end = round_up(spot.offset + bytes, 4);  // memory is handed out in whole words
  LOOM_ASSERT(spot.offset % 4 == 0);
  if (bytes != 0)
    commands_.insert(commands_.end(), {static_cast<std::uint32_t>(Command::Clear), spot.buffer, words(spot.offset),
                                       words(end - spot.offset)});
}

std::byte* Submitter::add_numbers(std::span<const std::byte> bytes) {
  const std::size_t room = round_up(bytes.size(), 16) / 4;
  if ((numbers_.size() + room) * 4 > kNumberBytes) return nullptr;
  const std::size_t begin = numbers_.size();
  numbers_.resize(begin + room);
  std::memcpy(numbers_.data() + begin, bytes.data(), bytes.size());
  return number_memory_ + begin * 4;
}

Submitter::Mark Submitter::mark() const {
  return {commands_.size(), parameters_.size(), batches_.size(), numbers_.size(), counters_.dispatches};
}

void Submitter::rewind(const Mark& mark) {
  commands_.resize(mark.commands), parameters_.resize(mark.parameters), batches_.resize(mark.batches);
  numbers_.resize(mark.numbers);
  counters_.dispatches = mark.dispatches;
}

void Submitter::forget() {
  commands_.clear(), parameters_.clear(), batches_.clear();
  forget_numbers();
}

void Submitter::submit_early() {
  constexpr std::size_t kEnough = 32;  // dispatches
  if (submits_early_ && parameters_.size() >= kEnough * kParameterWords) submit();
}

void Submitter::submit() {
  if (connection_.is_lost()) return forget();
  Driver& driver = connection_.driver();
  const auto numbers = std::as_bytes(std::span(numbers_).subspan(numbers_written_));
  if (!numbers.empty()) {
    const GpuMemory::Spot spot = memory_.spot_of(number_memory_);
    driver.write(spot.buffer, spot.offset + numbers_written_ * 4, numbers);
  }
  const auto begin = Clock::now();
  // As many dispatches at a time as the parameter buffer holds.
  std::size_t command = 0, parameter = 0;
  if (batches_.empty() || batches_.back() != commands_.size()) batches_.push_back(commands_.size());
  const std::vector<std::size_t> batches = std::exchange(batches_, {});
  for (const std::size_t end : batches) {
    if (connection_.is_lost()) return forget();
    const std::size_t count = std::min(kRoomWords, parameters_.size() - parameter);
    if (count != 0) driver.write(parameter_buffer_, 0, std::as_bytes(std::span(parameters_).subspan(parameter, count)));
    const auto batch = std::span(commands_).subspan(command, end - command);
    if (!batch.empty()) {
      is_timed_ ? submit_timed(batch) : driver.submit(batch);
      ++counters_.submits;
    }
    command = end, parameter += count;
  }
  counters_.submit_ms += ms_since(begin);
  counters_.bytes_written += numbers.size() + parameters_.size() * 4;
  numbers_written_ = numbers_.size();
  parameters_.clear(), commands_.clear(), batches_.clear();
}

// ---- reads and writes ----

Result<void> Submitter::read(const std::byte* from, std::span<std::byte> to) {
  if (connection_.is_lost()) return connection_.loss();
  const GpuMemory::Spot spot = memory_.spot_of(from);
  const std::uint64_t begin = spot.offset / 4 * 4, end = round_up(spot.offset + to.size(), 4);
  std::vector<std::byte> whole;
  const bool aligned = begin == spot.offset && end == begin + to.size();
  if (!aligned) whole.resize(end - begin);
  const std::span<std::byte> target = aligned ? to : std::span<std::byte>(whole);
  const auto start = Clock::now();
  LOOM_TRY(const Ticket ticket,
           connection_.check_lost(connection_.driver().begin_read(spot.buffer, begin, target.size())));
  const auto done = wait_for(ticket, target);
  counters_.wait_ms += ms_since(start);
  counters_.bytes_read += target.size();
  LOOM_TRY_VOID(done);
  if (!aligned) std::memcpy(to.data(), whole.data() + (spot.offset - begin), to.size());
  return {};
}

Result<Ticket> Submitter::begin_read(const std::byte* from, std::size_t bytes) {
  if (connection_.is_lost()) return connection_.loss();
  const GpuMemory::Spot spot = memory_.spot_of(from);
  LOOM_ASSERT(spot.offset % 4 == 0 && bytes % 4 == 0);
  return connection_.check_lost(connection_.driver().begin_read(spot.buffer, spot.offset, bytes));
}

Result<void> Submitter::finish_read(Ticket ticket, std::span<std::byte> to) {
  if (connection_.is_lost()) return connection_.loss();
  const auto start = Clock::now();
  const auto done = wait_for(ticket, to);
  counters_.wait_ms += ms_since(start);
  counters_.bytes_read += to.size();
  return done;
}

// A read that does not come waits for a dispatch that does not end.
Result<void> Submitter::wait_for(Ticket ticket, std::span<std::byte> to) {
  const auto start = Clock::now();
  for (;;) {
    LOOM_TRY(const bool has_come, connection_.check_lost(connection_.driver().poll(ticket, to, true)));
    if (has_come) return {};
    if (ms_since(start) < most_wait_ms_) continue;
    connection_.driver().abandon();
    return connection_.mark_lost(fmt::format("no answer for {:g} seconds", most_wait_ms_ / 1000));
  }
}

void Submitter::write(std::byte* to, std::span<const std::byte> from) {
  if (connection_.is_lost()) return;
  const GpuMemory::Spot spot = memory_.spot_of(to);
  counters_.bytes_written += from.size();
  Driver& driver = connection_.driver();
  if (spot.offset % 4 == 0 && from.size() % 4 == 0) return driver.write(spot.buffer, spot.offset, from);
  const std::size_t before = spot.offset % 4;
  std::vector<std::byte> whole(round_up(before + from.size(), 4));
  if (auto done = read(to - before, whole); !done) return keep_error(std::move(done), true);
  std::memcpy(whole.data() + before, from.data(), from.size());
  driver.write(spot.buffer, spot.offset - before, whole);
}

void Submitter::keep_error(Result<void> result, bool replace) {
  if (!result && (replace || !error_)) error_ = std::move(result).error();
}

// ---- times ----

// The least of several: other work only adds to it.
double Submitter::time_of_read() {
  double least = most_wait_ms_;
  for (int i = 0; i < 32; ++i) {
    std::byte word[4];
    const auto begin = Clock::now();
    if (!read(number_memory_, word)) break;
    least = std::min(least, ms_since(begin));
  }
  return least;
}

void Submitter::submit_timed(std::span<const std::uint32_t> commands) {
  if (read_ms_ == 0) read_ms_ = time_of_read();
  while (!commands.empty()) {
    const auto kind = static_cast<Command>(commands[0]);
    const auto one = commands.first(kind == Command::Clear ? 4 : 6);
    commands = commands.subspan(one.size());
    const auto begin = Clock::now();
    connection_.driver().submit(one);
    std::byte word[4];
    if (!read(number_memory_, word)) return;
    if (kind != Command::Dispatch) continue;
    const std::uint64_t workgroups = std::uint64_t{one[4]} * one[5];
    KernelTime& time = kernel_times_[{one[1], workgroups}];
    time.name = shaders_.name_of(one[1]), time.workgroups = workgroups, ++time.uses;
    time.ms += std::max(0.0, ms_since(begin) - read_ms_);
  }
}

std::vector<Submitter::KernelTime> Submitter::take_kernel_times() {
  std::vector<KernelTime> all;
  for (const auto& [key, time] : std::exchange(kernel_times_, {})) all.push_back(time);
  std::ranges::sort(all, std::ranges::greater{}, &KernelTime::ms);
  return all;
}

}  // namespace loom::gpu

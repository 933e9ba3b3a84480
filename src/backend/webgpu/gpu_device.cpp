#include "backend/webgpu/gpu_device.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "backend/exec.h"
#include "backend/webgpu/prelude.h"
#include "backend/webgpu/probe.h"
#include "core/checked.h"
#include "core/system.h"

namespace loom::gpu {
namespace {

constexpr auto kAddresses = static_cast<std::size_t>(std::uint64_t{1} << (sizeof(std::size_t) > 4 ? 42 : 30));
constexpr std::size_t kAlignment = 256;               // of tensors
constexpr std::size_t kSmall = std::size_t{1} << 18;  // smaller pieces of memory share a buffer
constexpr std::uint64_t kSmallHeap = 1 << 20, kFirstWeightHeap = 4 << 20, kLargestWeightHeap = 64 << 20;
constexpr std::size_t kBatch = 32;  // dispatches with which the device begins while others are recorded
constexpr std::size_t kNoteBytes = std::size_t{1} << 20;
constexpr std::size_t kMostFaults = 256;  // between two calls of check()
constexpr std::size_t kParameterWords = kParameterBytes / 4;

std::uint32_t words(std::uint64_t bytes) { return static_cast<std::uint32_t>(bytes / 4); }

// Of the counters that tell where the time of a pass goes.
using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace

Result<std::unique_ptr<GpuDevice>> GpuDevice::create(std::unique_ptr<Driver> driver) {
  std::unique_ptr<GpuDevice> device(new GpuDevice(std::move(driver)));
  device->addresses_ = os::reserve_addresses(kAddresses);
  if (device->addresses_ == nullptr) return fail(Code::OutOfMemory, "no addresses for the memory of a graphics card");
  LOOM_TRY(device->parameter_buffer_, device->driver_->create_buffer(kBatch * kParameterBytes, BufferUse::Parameters));
  LOOM_TRY(device->note_memory_, device->allocate(kNoteBytes));
  LOOM_TRY(device->fault_memory_, device->allocate(kMostFaults * 8));
  if (auto proved = prove_arithmetic(*device); !proved) {
    device->sums_ = Sums::Kept, device->prelude_ = prelude(device->sums_);
    device->shaders_.clear();
    LOOM_TRY_VOID(prove_arithmetic(*device));
  }
  return device;
}

GpuDevice::~GpuDevice() {
  driver_.reset();
  if (addresses_ != nullptr) os::give_addresses_back(addresses_, kAddresses);
}

// ---- memory ----

Result<std::size_t> GpuDevice::new_heap(std::uint64_t bytes) {
  const Limits& limits = adapter().limits;
  if (const std::uint64_t most = std::min(limits.binding_bytes, limits.buffer_bytes); bytes > most)
    return fail(Code::OutOfMemory, "{}: {} bytes in one piece, the device binds {} at most", adapter().name, bytes,
                most);
  LOOM_TRY(const Id buffer, driver_->create_buffer(bytes, BufferUse::Storage));
  const auto unused = std::ranges::find(heaps_, Id{0}, &Heap::buffer);
  const auto heap = static_cast<std::size_t>(unused - heaps_.begin());
  if (unused == heaps_.end()) heaps_.emplace_back();
  heaps_[heap] = {buffer, bytes, 0, 0};
  return heap;
}

void GpuDevice::drop_heap(std::size_t heap) {
  const Id buffer = heaps_[heap].buffer;
  for (auto group = groups_.begin(); group != groups_.end();) {
    bool holds = false;
    for (std::size_t at = 8; at < group->first.size(); at += 4) {
      Id id = 0;
      std::memcpy(&id, group->first.data() + at, 4);
      holds |= id == buffer;
    }
    if (holds) driver_->destroy_group(group->second);
    group = holds ? groups_.erase(group) : std::next(group);
  }
  driver_->destroy_buffer(buffer);
  heaps_[heap] = {};
  if (small_heap_ == heap) small_heap_ = kNone;
  if (weight_heap_ == heap) weight_heap_ = kNone;
}

// Memory at the end of the heap that is open, or of a new one; pieces as large as half a heap have their own.
Result<std::byte*> GpuDevice::take(std::size_t bytes, std::size_t& open_heap, std::uint64_t heap_bytes) {
  const std::uint64_t room = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  std::size_t heap = open_heap;
  if (heap == kNone || heaps_[heap].bytes - heaps_[heap].used < room) {
    LOOM_TRY(heap, new_heap(std::max(room, heap_bytes)));
    if (room < heap_bytes / 2) open_heap = heap;
  }
  if (next_address_ + room + kAlignment > kAddresses)
    return fail(Code::OutOfMemory, "no addresses left for the memory of a graphics card");
  std::byte* const at = addresses_ + next_address_;
  next_address_ += room + kAlignment;
  ranges_[at] = {bytes, heap, heaps_[heap].used};
  heaps_[heap].used += room;
  ++heaps_[heap].live;
  return at;
}

Result<std::byte*> GpuDevice::allocate(std::size_t bytes) {
  if (bytes < kSmall) return take(bytes, small_heap_, kSmallHeap);
  std::size_t alone = kNone;
  return take(bytes, alone, 0);
}

void GpuDevice::free(std::byte* memory, std::size_t /*bytes*/) {
  // What was recorded may name it. Notes stay: kernels that come next in a pass were told where theirs lie.
  settle_rows();
  submit_commands();
  const auto range = ranges_.find(memory);
  LOOM_ASSERT(range != ranges_.end());
  const std::size_t heap = range->second.heap;
  ranges_.erase(range);
  if (--heaps_[heap].live == 0) drop_heap(heap);
}

std::optional<GpuDevice::Spot> GpuDevice::find_spot(const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  auto range = ranges_.upper_bound(at);
  if (range == ranges_.begin()) return {};
  --range;
  const auto inside = static_cast<std::size_t>(at - range->first);
  if (inside > range->second.bytes) return {};
  return Spot{heaps_[range->second.heap].buffer, range->second.offset + inside};
}

GpuDevice::Spot GpuDevice::spot_of(const void* address) const {
  const auto spot = find_spot(address);
  LOOM_ASSERT(spot);
  return *spot;
}

void GpuDevice::read(const std::byte* from, std::span<std::byte> to) {
  if (to.empty()) return;
  flush();
  const Spot spot = spot_of(from);
  const std::uint64_t begin = spot.offset / 4 * 4, end = round_up(spot.offset + to.size(), 4);
  std::vector<std::byte> whole;
  const bool aligned = begin == spot.offset && end == begin + to.size();
  if (!aligned) whole.resize(end - begin);
  const std::span<std::byte> target = aligned ? to : std::span<std::byte>(whole);
  const auto start = Clock::now();
  auto ticket = driver_->begin_read(spot.buffer, begin, target.size());
  Result<bool> done = false;
  if (!ticket) done = tl::make_unexpected(ticket.error());
  while (done && !*done) done = driver_->poll(*ticket, target, true);
  counters_.wait_ms += ms_since(start);
  counters_.bytes_read += target.size();
  if (!done) {
    failed_ = std::move(done).error();
    std::ranges::fill(to, std::byte{0xff});
    return;
  }
  if (!aligned) std::memcpy(to.data(), whole.data() + (spot.offset - begin), to.size());
}

void GpuDevice::write(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return;
  flush();  // what was recorded comes before
  const Spot spot = spot_of(to);
  counters_.bytes_written += from.size();
  if (spot.offset % 4 == 0 && from.size() % 4 == 0) return driver_->write(spot.buffer, spot.offset, from);
  const std::size_t before = spot.offset % 4;
  std::vector<std::byte> whole(round_up(before + from.size(), 4));
  read(to - before, whole);
  std::memcpy(whole.data() + before, from.data(), from.size());
  driver_->write(spot.buffer, spot.offset - before, whole);
}

void GpuDevice::copy(const std::byte* from, std::size_t bytes, std::byte* to) {
  if (bytes == 0) return;
  settle_rows();
  const Spot a = spot_of(from), b = spot_of(to);
  if (a.buffer != b.buffer && a.offset % 4 == 0 && b.offset % 4 == 0 && bytes % 4 == 0) {
    commands_.insert(commands_.end(), {static_cast<std::uint32_t>(Command::Copy), a.buffer, words(a.offset), b.buffer,
                                       words(b.offset), words(bytes)});
    return;
  }
  std::vector<std::byte> here(bytes);  // WebGPU copies words, from one buffer to another
  read(from, here);
  write(to, here);
}

void GpuDevice::clear(std::byte* memory, std::size_t bytes) {
  settle_rows();
  const Spot spot = spot_of(memory);
  const std::uint64_t end = round_up(spot.offset + bytes, 4);  // memory is handed out in whole words
  LOOM_ASSERT(spot.offset % 4 == 0);
  if (bytes != 0)
    commands_.insert(commands_.end(), {static_cast<std::uint32_t>(Command::Clear), spot.buffer, words(spot.offset),
                                       words(end - spot.offset)});
}

Result<const std::byte*> GpuDevice::place(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes) {
  const auto same = [&](const Placed& p) {
    return p.bytes == bytes.size() && !p.owner.expired() && !p.owner.owner_before(owner) &&
           !owner.owner_before(p.owner);
  };
  if (const auto known = placed_.find(bytes.data()); known != placed_.end() && same(known->second))
    return known->second.at;
  drop_expired();
  if (const auto other = placed_.find(bytes.data()); other != placed_.end()) {  // other values of the host lay there
    free(other->second.at, other->second.bytes);
    placed_.erase(other);
  }
  if (next_weight_heap_ == 0) next_weight_heap_ = kFirstWeightHeap;
  const std::size_t before = weight_heap_;
  LOOM_TRY(std::byte* const at, take(bytes.size(), weight_heap_, next_weight_heap_));
  if (weight_heap_ != before) next_weight_heap_ = std::min(kLargestWeightHeap, 2 * next_weight_heap_);
  const Spot spot = spot_of(at);
  counters_.bytes_written += bytes.size();
  const std::size_t whole = bytes.size() / 4 * 4;
  driver_->write(spot.buffer, spot.offset, bytes.first(whole));
  if (whole != bytes.size()) {
    std::byte last[4] = {};
    std::ranges::copy(bytes.subspan(whole), last);
    driver_->write(spot.buffer, spot.offset + whole, last);
  }
  placed_[bytes.data()] = {owner, at, bytes.size()};
  return at;
}

void GpuDevice::drop_expired() {
  for (auto p = placed_.begin(); p != placed_.end();) {
    if (!p->second.owner.expired()) {
      ++p;
      continue;
    }
    free(p->second.at, p->second.bytes);
    p = placed_.erase(p);
  }
}

// ---- recording ----

Result<const GpuDevice::Shader*> GpuDevice::shader_of(Kernels kernels, std::span<const Id> buffers) {
  Bindings bindings;
  std::array<Id, kMostOperands> slots{};
  std::uint32_t written = 0;
  key_.clear();
  const auto add = [&](const auto& value) { key_.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  std::size_t i = 0;
  for (const Kernel& kernel : kernels) {
    add(kernel.body().data()), add(kernel.name().data()), add(kernel.threads());
    for (const Kernel::Number& c : kernel.constants()) add(c.bits);
    for (const Kernel::Operand& operand : kernel.operands()) {
      std::uint32_t s = 0;
      while (s < bindings.buffers && slots[s] != buffers[i]) ++s;
      if (s == bindings.buffers) slots[bindings.buffers++] = buffers[i];
      bindings.slot[i] = static_cast<std::uint8_t>(s);
      add(bindings.slot[i++]);
      if (operand.access != Access::Read) written |= 1u << s;
    }
  }
  bindings.read_only = ~written & ((1u << bindings.buffers) - 1);
  add(bindings.read_only);
  if (const auto known = shaders_.find(key_); known != shaders_.end()) return &known->second;

  const std::string_view name = kernels.back().name();
  if (bindings.buffers > adapter().limits.storage_buffers)
    return fail(Code::Unsupported, "{}: {} needs {} storage buffers, the device binds {}", adapter().name, name,
                bindings.buffers, adapter().limits.storage_buffers);
  LOOM_TRY(const Id pipeline, driver_->create_pipeline(name, shader_text(kernels, bindings, prelude_), bindings.buffers,
                                                       bindings.read_only));
  ++counters_.pipelines;
  return &(shaders_[key_] = {pipeline, bindings});
}

Id GpuDevice::group_of(const Shader& shader, std::span<const Id> buffers) {
  key_.clear();
  const auto add = [&](const auto& value) { key_.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  add(shader.bindings.buffers), add(shader.bindings.read_only);
  std::array<Id, kMostOperands> bound{};
  for (std::size_t i = 0; i < buffers.size(); ++i) bound[shader.bindings.slot[i]] = buffers[i];
  for (std::uint32_t s = 0; s < shader.bindings.buffers; ++s) add(bound[s]);
  Id& group = groups_[key_];
  if (group == 0)
    group = driver_->create_group(shader.pipeline, parameter_buffer_, {bound.data(), shader.bindings.buffers});
  return group;
}

void GpuDevice::record(const Exec& exec, const Kernel& kernel, std::uint64_t workgroups) {
  if (exec.rehearsal() || exec.status || workgroups == 0) return;
  if (auto done = dispatch(kernel, workgroups); !done) exec.status = std::move(done).error();
}

// Whether one of two operands, of kernels that become one, is written where rows of the other lie which are not the
// same row.
bool GpuDevice::clash(const Kernel::Operand& a, const Kernel::Operand& b, std::uint64_t rows) const {
  if ((a.access == Access::Read && b.access == Access::Read) || (a.at == b.at && a.row == b.row)) return false;
  const auto begin = [](const Kernel::Operand& o) { return static_cast<const std::byte*>(o.at); };
  const auto end = [&](const Kernel::Operand& o) {
    if (o.row != 0) return begin(o) + rows * o.row * 4;
    const auto range = std::prev(ranges_.upper_bound(begin(o)));  // as far as its memory goes
    return range->first + range->second.bytes;
  };
  const Kernel::Operand& first = begin(a) < begin(b) ? a : b;
  return end(first) > begin(begin(a) < begin(b) ? b : a);
}

void GpuDevice::record_row(const Exec& exec, const Kernel& kernel, std::uint64_t rows) {
  if (exec.rehearsal() || exec.status || rows == 0) return;
  LOOM_ASSERT(kernel.threads() == kRowThreads);
  rows_.push_back(kernel);
  std::size_t operands = 0;
  for (const Kernel& k : rows_) operands += k.operands().size();
  const auto clashes = [&](const Kernel& earlier) {
    return std::ranges::any_of(kernel.operands(), [&](const Kernel::Operand& a) {
      return std::ranges::any_of(earlier.operands(), [&](const Kernel::Operand& b) { return clash(a, b, rows); });
    });
  };
  const bool fits =
      rows_.size() <= kMostKernels && operands <= kMostOperands && parameter_words(rows_) <= kParameterWords;
  if (rows_.size() > 1 && (rows != num_rows_ || !fits || std::any_of(rows_.begin(), rows_.end() - 1, clashes))) {
    rows_.pop_back();
    if (auto done = end_rows(); !done) return void(exec.status = std::move(done).error());
    rows_.push_back(kernel);
  }
  num_rows_ = rows;
}

Result<void> GpuDevice::end_rows() {
  if (rows_.empty()) return {};
  std::vector<Kernel> kernels;
  kernels.swap(rows_);
  auto done = submit(kernels, num_rows_);
  kernels.clear();
  rows_.swap(kernels);  // keeps its memory
  return done;
}

Result<void> GpuDevice::dispatch(const Kernel& kernel, std::uint64_t workgroups) {
  LOOM_TRY_VOID(end_rows());
  return submit({&kernel, 1}, workgroups);
}

Result<void> GpuDevice::submit(Kernels kernels, std::uint64_t workgroups) {
  std::array<Id, kMostOperands> buffers{};
  std::array<std::uint32_t, kMostOperands> offsets{};
  std::size_t operands = 0;
  for (const Kernel& kernel : kernels)
    for (const Kernel::Operand& operand : kernel.operands()) {
      const auto spot = find_spot(operand.at);
      if (!spot || spot->offset % 4 != 0)
        return fail(Code::Unsupported, "{}: {} of {} is not in the memory of the device", adapter().name, operand.name,
                    kernel.name());
      buffers[operands] = spot->buffer, offsets[operands++] = words(spot->offset);
    }
  LOOM_TRY(const Shader* const shader, shader_of(kernels, {buffers.data(), operands}));
  const Id group = group_of(*shader, {buffers.data(), operands});
  const std::size_t begin = parameters_.size();
  parameters_.resize(begin + kParameterWords);
  std::uint32_t* word = parameters_.data() + begin;
  *word++ = 0, *word++ = static_cast<std::uint32_t>(workgroups);
  operands = 0;
  for (const Kernel& kernel : kernels) {
    for (std::size_t i = 0; i < kernel.operands().size(); ++i) *word++ = offsets[operands++];
    for (const Kernel::Number& n : kernel.numbers()) *word++ = n.bits;
  }
  LOOM_ASSERT(word <= parameters_.data() + parameters_.size() && workgroups <= 0xffffffffu);
  const std::uint64_t most = adapter().limits.workgroups;
  const std::uint64_t x = std::min(workgroups, most), y = ceil_div(workgroups, x);
  LOOM_ASSERT(y <= most);
  commands_.insert(commands_.end(), {static_cast<std::uint32_t>(Command::Dispatch), shader->pipeline, group,
                                     static_cast<std::uint32_t>(begin * 4), static_cast<std::uint32_t>(x),
                                     static_cast<std::uint32_t>(y)});
  ++counters_.dispatches;
  if (parameters_.size() == kBatch * kParameterWords) submit_commands();
  return {};
}

const void* GpuDevice::upload_bytes(const Exec& exec, std::span<const std::byte> bytes) {
  if (exec.rehearsal()) return nullptr;
  if (bytes.size() > kNoteBytes) {
    exec.status = Error{Code::LimitExceeded, fmt::format("{} bytes of ids or positions in one pass on a graphics card, "
                                                         "{} are possible",
                                                         bytes.size(), kNoteBytes)};
    return note_memory_;
  }
  const std::size_t room = round_up(bytes.size(), 16) / 4;
  if ((notes_.size() + room) * 4 > kNoteBytes) flush();
  const std::size_t begin = notes_.size();
  notes_.resize(begin + room);
  std::memcpy(notes_.data() + begin, bytes.data(), bytes.size());
  return note_memory_ + begin * 4;
}

void GpuDevice::settle_rows() {
  if (auto done = end_rows(); !done && !failed_) failed_ = std::move(done).error();
}

void GpuDevice::flush() {
  settle_rows();
  submit_commands();
  notes_.clear(), notes_written_ = 0;
}

void GpuDevice::submit_commands() {
  const auto notes = std::as_bytes(std::span(notes_).subspan(notes_written_));
  if (!notes.empty()) {
    const Spot spot = spot_of(note_memory_);
    driver_->write(spot.buffer, spot.offset + notes_written_ * 4, notes);
  }
  if (!parameters_.empty()) driver_->write(parameter_buffer_, 0, std::as_bytes(std::span(parameters_)));
  const auto begin = Clock::now();
  if (!commands_.empty()) driver_->submit(commands_), ++counters_.submits;
  counters_.submit_ms += ms_since(begin);
  counters_.bytes_written += notes.size() + parameters_.size() * 4;
  notes_written_ = notes_.size();
  parameters_.clear(), commands_.clear();
}

void* GpuDevice::fault(const Exec& exec, std::function<Error(std::uint32_t, std::uint32_t)> error) {
  if (exec.rehearsal()) return nullptr;
  if (faults_.size() == kMostFaults)
    if (auto none = check(); !none && !exec.status) exec.status = std::move(none).error();
  faults_.push_back(std::move(error));
  return fault_memory_ + (faults_.size() - 1) * 8;
}

Result<void> GpuDevice::check() {
  if (!faults_.empty()) {
    const auto faults = std::exchange(faults_, {});
    std::vector<std::uint32_t> words(faults.size() * 2);
    read(fault_memory_, std::as_writable_bytes(std::span(words)));
    for (std::size_t i = 0; i < faults.size() && !failed_; ++i)
      if (words[2 * i] != 0) failed_ = faults[i](words[2 * i] - 1, words[2 * i + 1]);
    clear(fault_memory_, words.size() * 4);
  }
  if (failed_) {
    Error error = *std::move(failed_);
    failed_.reset();
    return tl::make_unexpected(std::move(error));
  }
  return driver_->check();
}

}  // namespace loom::gpu

#include "backend/webgpu/gpu_device.h"

#include <algorithm>
#include <cstring>

#include "backend/exec.h"
#include "backend/webgpu/probe.h"
#include "backend/webgpu/prover.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/system.h"

namespace loom::gpu {
namespace {

constexpr auto kMostAddresses = static_cast<std::size_t>(std::uint64_t{1} << (sizeof(std::size_t) > 4 ? 42 : 30));
constexpr std::size_t kAlignment = 256;               // of tensors
constexpr std::size_t kSmall = std::size_t{1} << 18;  // smaller pieces of memory share a buffer
constexpr std::uint64_t kSmallHeap = 1 << 20, kFirstWeightHeap = 4 << 20, kLargestWeightHeap = 8 << 20;
constexpr std::size_t kNoteBytes = std::size_t{1} << 20;
constexpr std::size_t kMostFaults = 256;  // between two calls of check()
constexpr std::size_t kParameterWords = kParameterBytes / 4;
constexpr double kMinute = 60'000;
constexpr std::string_view kWhenFull =
    "free memory on the card, take a smaller context, batch or model, or run with --device cpu";

std::uint32_t words(std::uint64_t bytes) { return static_cast<std::uint32_t>(bytes / 4); }

}  // namespace

GpuDevice::GpuDevice(std::unique_ptr<Driver> driver, GpuOptions options)
    : driver_(std::move(driver)),
      num_addresses_(options.addresses == 0 ? kMostAddresses : options.addresses),
      shaders_(*driver_, std::move(options)),
      prover_(std::make_unique<Prover>(*this, shaders_)) {}

Result<std::unique_ptr<GpuDevice>> GpuDevice::create(std::unique_ptr<Driver> driver, GpuOptions options) {
  const bool checks_arithmetic = options.checks_arithmetic && options.precision == Precision::Strict;
  if (options.precision == Precision::Fast) options.passes.clear();
  double most_wait_ms = options.most_wait_ms;
  if (most_wait_ms == 0) most_wait_ms = (driver->adapter().kind == "software" ? 60 : 10) * kMinute;
  std::unique_ptr<GpuDevice> device(new GpuDevice(std::move(driver), std::move(options)));
  device->most_wait_ms_ = most_wait_ms;
  device->addresses_ = os::reserve_addresses(device->num_addresses_);
  if (device->addresses_ == nullptr) return fail(Code::OutOfMemory, "no addresses for the memory of a graphics card");
  LOOM_TRY(device->parameter_buffer_,
           device->heard(device->driver_->create_buffer(kRoom * kParameterBytes, BufferUse::Parameters)));
  LOOM_TRY(device->note_memory_, device->allocate(kNoteBytes));
  LOOM_TRY(device->fault_memory_, device->allocate(kMostFaults * 8));
  if (checks_arithmetic && !prove_arithmetic(*device)) {
    device->shaders_.set_sums(Sums::Kept);
    LOOM_TRY_VOID(prove_arithmetic(*device));
  }
  device->shaders_.read_passes();
  return device;
}

GpuDevice::~GpuDevice() {
  driver_.reset();
  if (addresses_ != nullptr) os::give_addresses_back(addresses_, num_addresses_);
}

tl::unexpected<Error> GpuDevice::lose(std::string_view why) {
  const std::string behind = last_kernel_.empty() ? std::string() : fmt::format(" behind {}", last_kernel_);
  std::string line;  // drivers write several
  for (const char c : why) {
    const bool is_space = static_cast<unsigned char>(c) <= ' ';
    if (!is_space || (!line.empty() && line.back() != ' ')) line += is_space ? ' ' : c;
  }
  if (line.ends_with(' ')) line.pop_back();
  if (!lost_)
    lost_ = Error{Code::DeviceLost,
                  fmt::format("{}: the card was lost{}: {}; --device cpu does without{}", adapter().name, behind, line,
                              precision() == Precision::Strict ? ", with the same bits" : "")};
  forget();
  return tl::make_unexpected(*lost_);
}

void GpuDevice::forget() {
  rows_.clear(), commands_.clear(), parameters_.clear(), batches_.clear(), notes_.clear(), faults_.clear();
  notes_written_ = 0;
}

// ---- memory ----

Result<std::size_t> GpuDevice::new_heap(std::uint64_t bytes) {
  const Limits& limits = adapter().limits;
  if (const std::uint64_t most = std::min(limits.binding_bytes, limits.buffer_bytes); bytes > most)
    return fail(Code::OutOfMemory, "{}: {} bytes in one piece, the device binds {} at most: {}", adapter().name, bytes,
                most, kWhenFull);
  auto made = heard(driver_->create_buffer(bytes, BufferUse::Storage));
  if (!made && made.error().code == Code::OutOfMemory)
    return fail(Code::OutOfMemory, "{}: {}", made.error().message, kWhenFull);
  LOOM_TRY(const Id buffer, std::move(made));
  const auto unused = std::ranges::find(heaps_, Id{0}, &Heap::buffer);
  const auto heap = static_cast<std::size_t>(unused - heaps_.begin());
  if (unused == heaps_.end()) heaps_.emplace_back();
  heaps_[heap] = {buffer, bytes, 0, 0};
  return heap;
}

void GpuDevice::drop_heap(std::size_t heap) {
  const Id buffer = heaps_[heap].buffer;
  if (!lost_) {
    shaders_.drop_groups(buffer);
    driver_->destroy_buffer(buffer);
  }
  heaps_[heap] = {};
  if (small_heap_ == heap) small_heap_ = kNone;
  if (weight_heap_ == heap) weight_heap_ = kNone;
}

// Behind all that have been handed out, so that a stale pointer is noticed for as long as possible; when there are no
// more, the first that have come back and suffice. Null without such.
std::byte* GpuDevice::find_addresses(std::size_t bytes) {
  if (bytes <= num_addresses_ - next_address_) return addresses_ + std::exchange(next_address_, next_address_ + bytes);
  const std::byte* begin = addresses_;
  const auto suffice = [&](const std::byte* end) {
    return begin <= end && bytes <= static_cast<std::size_t>(end - begin);
  };
  for (const auto& [at, range] : ranges_) {
    if (suffice(at)) break;
    begin = at + round_up(std::max<std::size_t>(range.bytes, 1), kAlignment) + kAlignment;
  }
  return suffice(addresses_ + num_addresses_) ? const_cast<std::byte*>(begin) : nullptr;
}

// Memory at the end of the heap that is open, or of a new one; pieces as large as half a heap have their own.
Result<std::byte*> GpuDevice::take(std::size_t bytes, std::size_t& open_heap, std::uint64_t heap_bytes) {
  if (lost_) return tl::make_unexpected(*lost_);
  const std::uint64_t room = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  std::byte* const at = find_addresses(static_cast<std::size_t>(room) + kAlignment);
  if (at == nullptr) return fail(Code::OutOfMemory, "no addresses left for the memory of a graphics card");
  std::size_t heap = open_heap;
  if (heap == kNone || heaps_[heap].bytes - heaps_[heap].used < room) {
    LOOM_TRY(heap, new_heap(std::max(room, heap_bytes)));
    if (room < heap_bytes / 2) open_heap = heap;
  }
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
  if (mode_ == Mode::Attempt) return attempt_.freed.push_back(memory);  // it may yet be forgotten
  // What was recorded may name it. Notes stay: kernels that come next in a pass were told where theirs lie.
  settle_rows();
  submit_commands();
  const auto range = ranges_.find(memory);
  LOOM_ASSERT(range != ranges_.end());
  const std::size_t heap = range->second.heap;
  ranges_.erase(range);
  std::ranges::fill(found_, Found{});
  if (--heaps_[heap].live == 0) drop_heap(heap);
}

const GpuDevice::Ranges::value_type* GpuDevice::find_range(const void* address) const {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
  Found& found = found_[reinterpret_cast<std::uintptr_t>(address) * kSpread >> (64 - kFoundBits)];
  if (found.address == address && address != nullptr) return found.range;
  const auto* const at = static_cast<const std::byte*>(address);
  const auto behind = ranges_.upper_bound(at);
  if (behind == ranges_.begin()) return nullptr;
  const auto& range = *std::prev(behind);
  if (static_cast<std::size_t>(at - range.first) > range.second.bytes) return nullptr;
  found = {address, &range};
  return &range;
}

std::optional<GpuDevice::Spot> GpuDevice::find_spot(const void* address) const {
  const auto* const range = find_range(address);
  if (range == nullptr) return {};
  const auto inside = static_cast<std::size_t>(static_cast<const std::byte*>(address) - range->first);
  return Spot{heaps_[range->second.heap].buffer, range->second.offset + inside};
}

// Where the memory ends that an address lies in.
const std::byte* GpuDevice::end_of_range(const void* address) const {
  const auto* const range = find_range(address);
  return range->first + range->second.bytes;
}

GpuDevice::Spot GpuDevice::spot_of(const void* address) const {
  const auto spot = find_spot(address);
  LOOM_ASSERT(spot);
  return *spot;
}

void GpuDevice::read(const std::byte* from, std::span<std::byte> to) {
  if (to.empty()) return;
  flush();
  if (auto done = fetch(from, to); !done) {
    failed_ = std::move(done).error();
    std::ranges::fill(to, std::byte{0xff});
  }
}

Result<void> GpuDevice::fetch(const std::byte* from, std::span<std::byte> to) {
  if (lost_) return tl::make_unexpected(*lost_);
  const Spot spot = spot_of(from);
  const std::uint64_t begin = spot.offset / 4 * 4, end = round_up(spot.offset + to.size(), 4);
  std::vector<std::byte> whole;
  const bool aligned = begin == spot.offset && end == begin + to.size();
  if (!aligned) whole.resize(end - begin);
  const std::span<std::byte> target = aligned ? to : std::span<std::byte>(whole);
  const auto start = Clock::now();
  LOOM_TRY(const Ticket ticket, heard(driver_->begin_read(spot.buffer, begin, target.size())));
  const auto done = wait_for(ticket, target);
  counters_.wait_ms += ms_since(start);
  counters_.bytes_read += target.size();
  LOOM_TRY_VOID(done);
  if (!aligned) std::memcpy(to.data(), whole.data() + (spot.offset - begin), to.size());
  return {};
}

Result<void> GpuDevice::bring(const std::byte* from, std::span<std::byte> to) {
  if (to.empty()) return {};
  LOOM_TRY_VOID(end_rows());
  submit_commands();
  return fetch(from, to);
}

Result<void> GpuDevice::put(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return {};
  LOOM_TRY_VOID(end_rows());
  submit_commands();
  if (lost_) return tl::make_unexpected(*lost_);
  send(to, from);
  return {};
}

void GpuDevice::tell_computed_here(std::string_view operation) {
  ++computed_here_.calls;
  if (std::ranges::find(computed_here_.names, operation) == computed_here_.names.end())
    computed_here_.names.emplace_back(operation);
}

Result<Ticket> GpuDevice::begin_read(const std::byte* from, std::size_t bytes) {
  flush();
  if (lost_) return tl::make_unexpected(*lost_);
  const Spot spot = spot_of(from);
  LOOM_ASSERT(spot.offset % 4 == 0 && bytes % 4 == 0);
  return heard(driver_->begin_read(spot.buffer, spot.offset, bytes));
}

Result<void> GpuDevice::finish_read(Ticket ticket, std::span<std::byte> to) {
  if (lost_) return tl::make_unexpected(*lost_);
  const auto start = Clock::now();
  const auto done = wait_for(ticket, to);
  counters_.wait_ms += ms_since(start);
  counters_.bytes_read += to.size();
  return done;
}

// A read that does not come stands behind a dispatch that does not end.
Result<void> GpuDevice::wait_for(Ticket ticket, std::span<std::byte> to) {
  const auto start = Clock::now();
  for (;;) {
    LOOM_TRY(const bool has_come, heard(driver_->poll(ticket, to, true)));
    if (has_come) return {};
    if (ms_since(start) < most_wait_ms_) continue;
    driver_->abandon();
    return lose(fmt::format("no answer for {:g} seconds", most_wait_ms_ / 1000));
  }
}

void GpuDevice::write(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return;
  flush();  // what was recorded comes before
  send(to, from);
}

void GpuDevice::send(std::byte* to, std::span<const std::byte> from) {
  if (lost_) return;
  const Spot spot = spot_of(to);
  counters_.bytes_written += from.size();
  if (spot.offset % 4 == 0 && from.size() % 4 == 0) return driver_->write(spot.buffer, spot.offset, from);
  const std::size_t before = spot.offset % 4;
  std::vector<std::byte> whole(round_up(before + from.size(), 4));
  if (auto done = fetch(to - before, whole); !done) return void(failed_ = std::move(done).error());
  std::memcpy(whole.data() + before, from.data(), from.size());
  driver_->write(spot.buffer, spot.offset - before, whole);
}

void GpuDevice::copy(const std::byte* from, std::size_t bytes, std::byte* to) {
  if (bytes == 0) return;
  settle_rows();
  if (lost_) return;
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
  if (lost_) return;
  const Spot spot = spot_of(memory);
  const std::uint64_t end = round_up(spot.offset + bytes, 4);  // memory is handed out in whole words
  LOOM_ASSERT(spot.offset % 4 == 0);
  if (bytes != 0)
    commands_.insert(commands_.end(), {static_cast<std::uint32_t>(Command::Clear), spot.buffer, words(spot.offset),
                                       words(end - spot.offset)});
}

Result<const std::byte*> GpuDevice::place(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes) {
  if (lost_) return tl::make_unexpected(*lost_);
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
  ranges_[at].of_host = const_cast<std::byte*>(bytes.data());
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

void GpuDevice::begin_attempt() {
  mode_ = Mode::Attempt;
  attempt_.commands = commands_.size(), attempt_.parameters = parameters_.size(), attempt_.batches = batches_.size();
  attempt_.notes = notes_.size(), attempt_.faults = faults_.size();
  attempt_.rows = rows_.size(), attempt_.num_rows = num_rows_, attempt_.dispatches = counters_.dispatches;
  attempt_.meets_stranger = attempt_.has_ended_rows = false;
}

bool GpuDevice::keep_attempt() {
  mode_ = Mode::Plain;
  if (attempt_.meets_stranger && !lost_) {
    commands_.resize(attempt_.commands), parameters_.resize(attempt_.parameters), batches_.resize(attempt_.batches);
    notes_.resize(attempt_.notes), faults_.resize(attempt_.faults);
    if (attempt_.has_ended_rows) rows_.swap(attempt_.ended_rows);
    rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(attempt_.rows), rows_.end());
    num_rows_ = attempt_.num_rows, counters_.dispatches = attempt_.dispatches;
  }
  for (std::byte* const memory : std::exchange(attempt_.freed, {})) free(memory, 0);
  return !attempt_.meets_stranger;
}

void GpuDevice::record(const Exec& exec, const Kernel& kernel, std::uint64_t workgroups) {
  if (exec.rehearsal()) rehearsed_.fetch_add(1, std::memory_order_relaxed);
  if (exec.rehearsal() || exec.status || workgroups == 0) return;
  LOOM_ASSERT(prover_->is_in_call());
  if (mode_ == Mode::List) return void(recorded_.push_back({kernel, workgroups, false}));
  if (auto done = add(kernel, workgroups); !done) exec.status = std::move(done).error();
}

void GpuDevice::record_row(const Exec& exec, const Kernel& kernel, std::uint64_t rows) {
  if (exec.rehearsal()) rehearsed_.fetch_add(1, std::memory_order_relaxed);
  if (exec.rehearsal() || exec.status || rows == 0) return;
  LOOM_ASSERT(prover_->is_in_call() && kernel.threads() == kRowThreads);
  if (mode_ == Mode::List) return void(recorded_.push_back({kernel, rows, true}));
  if (auto done = add_row(kernel, rows); !done) exec.status = std::move(done).error();
}

Result<bool> GpuDevice::trusts(Shader& shader, Kernels kernels, std::uint64_t workgroups) {
  if (precision() == Precision::Strict) return shader.is_trusted(sizes_of(kernels, workgroups));
  if (shader.is_refused) return false;
  return prover_->compile(shader, kernels);
}

// Whether a kernel can be run as it comes: in an attempt, one that is not known is noted, and ends it.
Result<bool> GpuDevice::knows(const Kernel& kernel, std::uint64_t workgroups) {
  if (mode_ != Mode::Attempt) return true;
  if (attempt_.meets_stranger) return false;
  LOOM_TRY(Shader* const shader, shader_of({&kernel, 1}));
  LOOM_TRY(const bool is_trusted, trusts(*shader, {&kernel, 1}, workgroups));
  attempt_.meets_stranger = !is_trusted;
  ++shader->uses;  // of one that is joined to others too: they are held against it at their next trial
  return !attempt_.meets_stranger;
}

Result<void> GpuDevice::add(const Kernel& kernel, std::uint64_t workgroups) {
  LOOM_TRY(const bool is_known, knows(kernel, workgroups));
  if (!is_known) return {};
  if (kernel.groups_of_row() != 0 && !rows_.empty()) {
    rows_.push_back(kernel);
    if (can_lead(workgroups)) return end_rows(true);
    rows_.pop_back();
  }
  LOOM_TRY_VOID(end_rows());
  return submit_alone(kernel, workgroups);
}

// Whether the first of rows_ can run at the head of each workgroup of the last. The rows that they write are then kept
// by each, so none may be read from memory; larger ones than half of what a workgroup has are not kept.
bool GpuDevice::can_lead(std::uint64_t workgroups) const {
  constexpr std::uint64_t kMostGroups = 512;  // that do the same once more; from there on another dispatch is cheaper
  const Kernel& last = rows_.back();
  std::size_t operands = 0;
  for (const Kernel& kernel : rows_) operands += kernel.operands().size();
  if (operands > kMostOperands || workgroups > kMostGroups || rows_.size() > kMostKernels ||
      last.threads() != kRowThreads || num_rows_ * last.groups_of_row() != workgroups ||
      parameter_words(rows_) > kParameterWords || !binds(rows_))
    return false;
  struct Place {
    const Kernel::Operand* operand;
    std::size_t kernel;
    const std::byte *begin, *end;
    bool meets(const Place& other) const { return begin < other.end && other.begin < end; }
    bool is_row_of(const Place& other) const { return begin == other.begin && operand->row == other.operand->row; }
  };
  std::vector<Place> places;
  for (std::size_t k = 0; k < rows_.size(); ++k)
    for (const Kernel::Operand& operand : rows_[k].operands()) {
      const auto* const begin = static_cast<const std::byte*>(operand.at);
      places.push_back(
          {&operand, k, begin, operand.row != 0 ? begin + num_rows_ * operand.row * 4 : end_of_range(operand.at)});
    }
  std::uint64_t kept_words = 0;
  for (const Place& written : places) {
    if (written.operand->access == Access::Read) continue;
    const bool is_last = written.kernel + 1 == rows_.size();
    if (!is_last && (written.operand->access == Access::Both || written.operand->row == 0)) return false;
    for (const Place& other : places) {
      if (other.operand == written.operand || !written.meets(other)) continue;
      if (is_last
              ? other.kernel != written.kernel
              : other.kernel <= written.kernel || other.operand->access != Access::Read || !other.is_row_of(written))
        return false;
    }
    if (!is_last) kept_words += written.operand->row;
  }
  return kept_words * 4 <= adapter().limits.workgroup_bytes / 2;
}

// Whether the device binds all buffers that operands lie in.
bool GpuDevice::binds(Kernels kernels) const {
  if (adapter().limits.storage_buffers >= kMostOperands) return true;
  std::array<Id, kMostOperands> seen;
  std::size_t count = 0;
  for (const Kernel& kernel : kernels)
    for (const Kernel::Operand& operand : kernel.operands()) {
      const auto spot = find_spot(operand.at);
      const Id buffer = spot ? spot->buffer : 0;
      if (std::find(seen.begin(), seen.begin() + count, buffer) == seen.begin() + count) seen[count++] = buffer;
    }
  return count <= adapter().limits.storage_buffers;
}

// Whether rows of one of two operands lie where rows of the other do.
bool GpuDevice::meet(const Kernel::Operand& a, const Kernel::Operand& b, std::uint64_t rows) const {
  const auto begin = [](const Kernel::Operand& o) { return static_cast<const std::byte*>(o.at); };
  const auto end = [&](const Kernel::Operand& o) {
    return o.row != 0 ? begin(o) + rows * o.row * 4 : end_of_range(o.at);
  };
  const Kernel::Operand& first = begin(a) < begin(b) ? a : b;
  return end(first) > begin(begin(a) < begin(b) ? b : a);
}

// Whether one of two operands, of kernels that become one, is written where rows of the other lie which are not the
// same row.
bool GpuDevice::clash(const Kernel::Operand& a, const Kernel::Operand& b, std::uint64_t rows) const {
  if ((a.access == Access::Read && b.access == Access::Read) || (a.at == b.at && a.row == b.row && a.row != 0))
    return false;
  return meet(a, b, rows);
}

Result<void> GpuDevice::add_row(const Kernel& kernel, std::uint64_t rows) {
  LOOM_TRY(const bool is_known, knows(kernel, rows));
  if (!is_known) return {};
  rows_.push_back(kernel);
  std::size_t operands = 0;
  for (const Kernel& k : rows_) operands += k.operands().size();
  const auto clashes = [&](const Kernel& earlier) {
    return std::ranges::any_of(kernel.operands(), [&](const Kernel::Operand& a) {
      return std::ranges::any_of(earlier.operands(), [&](const Kernel::Operand& b) { return clash(a, b, rows); });
    });
  };
  const bool fits = rows_.size() < kMostKernels && operands <= kMostOperands &&
                    parameter_words(rows_) <= kParameterWords && binds(rows_);
  if (rows_.size() > 1 && (rows != num_rows_ || !fits || std::any_of(rows_.begin(), rows_.end() - 1, clashes))) {
    rows_.pop_back();
    LOOM_TRY_VOID(end_rows());
    rows_.push_back(kernel);
  }
  num_rows_ = rows;
  return {};
}

// Runs the kernels that wait; `has_last`: the last of them is none by rows.
Result<void> GpuDevice::end_rows(bool has_last) {
  if (rows_.empty()) return {};
  std::vector<Kernel> kernels;
  kernels.swap(rows_);
  auto done = submit_rows(kernels);
  if (has_last) kernels.pop_back();
  if (mode_ == Mode::Attempt && !attempt_.has_ended_rows) {
    attempt_.has_ended_rows = true;
    attempt_.ended_rows.swap(kernels);
  }
  kernels.clear();
  if (rows_.empty()) rows_.swap(kernels);  // keeps its memory
  return done;
}

Result<void> GpuDevice::submit_rows(Kernels kernels) {
  if (kernels.size() == 1) return submit_alone(kernels[0], num_rows_);
  LOOM_TRY(Shader* const shader, shader_of(kernels));
  const std::uint64_t workgroups = workgroups_of(kernels.back(), num_rows_);
  LOOM_TRY(const bool is_trusted, trusts(*shader, kernels, workgroups));
  if (is_trusted) {
    ++shader->uses;
    return submit(kernels, workgroups, *shader);
  }
  if (!shader->is_refused) {
    if (mode_ == Mode::Attempt) return void(attempt_.meets_stranger = true), Result<void>();
    return prover_->prove_joined(kernels, num_rows_, *shader);
  }
  for (const Kernel& kernel : kernels) LOOM_TRY_VOID(submit_alone(kernel, workgroups_of(kernel, num_rows_)));
  return {};
}

Result<void> GpuDevice::dispatch(const Kernel& kernel, std::uint64_t workgroups) {
  LOOM_TRY_VOID(end_rows());
  return submit_alone(kernel, workgroups);
}

Result<Shader*> GpuDevice::shader_of(Kernels kernels) {
  std::array<Id, kMostOperands> buffers;
  std::size_t operands = 0;
  for (const Kernel& kernel : kernels)
    for (const Kernel::Operand& operand : kernel.operands()) {
      const auto spot = find_spot(operand.at);
      if (!spot || spot->offset % 4 != 0)
        return fail(Code::InvalidState, "{}: {} of {} is not in the memory of the device", adapter().name, operand.name,
                    kernel.name());
      buffers[operands++] = spot->buffer;
    }
  return shaders_.find(kernels, {buffers.data(), operands});
}

Result<void> GpuDevice::submit_alone(const Kernel& kernel, std::uint64_t workgroups) {
  LOOM_TRY(Shader* const shader, shader_of({&kernel, 1}));
  return submit({&kernel, 1}, workgroups, *shader);
}

Result<void> GpuDevice::submit(Kernels kernels, std::uint64_t workgroups, Shader& shader) {
  if (lost_) return tl::make_unexpected(*lost_);
  LOOM_TRY(const Id pipeline, heard(shaders_.compile(shader, kernels)));
  last_kernel_ = shader.name;
  const std::size_t begin = parameters_.size();
  parameters_.resize(begin + kParameterWords);
  std::uint32_t* word = parameters_.data() + begin;
  *word++ = 0, *word++ = static_cast<std::uint32_t>(workgroups);
  std::array<Id, kMostOperands> buffers;
  std::size_t operands = 0;
  for (const Kernel& kernel : kernels) {
    for (const Kernel::Operand& operand : kernel.operands()) {
      const auto* const range = find_range(operand.at);
      range->second.moved |= operand.access != Access::Read;
      const auto inside = static_cast<std::size_t>(static_cast<const std::byte*>(operand.at) - range->first);
      buffers[operands++] = heaps_[range->second.heap].buffer;
      *word++ = words(range->second.offset + inside);
    }
    for (const Kernel::Number& n : kernel.numbers()) *word++ = n.bits;
  }
  LOOM_ASSERT(word <= parameters_.data() + parameters_.size() && workgroups <= 0xffffffffu);
  const Id group = shaders_.group(shader, parameter_buffer_, {buffers.data(), operands});
  const std::uint64_t most = adapter().limits.workgroups;
  const std::uint64_t x = std::min(workgroups, most), y = ceil_div(workgroups, x);
  LOOM_ASSERT(y <= most);
  commands_.insert(commands_.end(), {static_cast<std::uint32_t>(Command::Dispatch), pipeline, group,
                                     static_cast<std::uint32_t>(begin % kRoomWords * 4), static_cast<std::uint32_t>(x),
                                     static_cast<std::uint32_t>(y)});
  if (parameters_.size() % kRoomWords == 0) batches_.push_back(commands_.size());
  ++counters_.dispatches;
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
  if ((notes_.size() + room) * 4 > kNoteBytes) {
    if (mode_ == Mode::Attempt) return void(attempt_.meets_stranger = true), note_memory_;
    flush();
  }
  const std::size_t begin = notes_.size();
  notes_.resize(begin + room);
  std::memcpy(notes_.data() + begin, bytes.data(), bytes.size());
  return note_memory_ + begin * 4;
}

void GpuDevice::make_room() {
  if (2 * faults_.size() >= kMostFaults)
    if (auto none = check(); !none) failed_ = std::move(none).error();
  if (2 * notes_.size() * 4 >= kNoteBytes) flush();
}

GpuDevice::Counters GpuDevice::counters() const {
  Counters all = counters_;
  all.pipelines = shaders_.compiled();
  all.rehearsed = rehearsed_.load(std::memory_order_relaxed);
  return all;
}

void GpuDevice::settle_rows() {
  if (auto done = end_rows(); !done && !failed_) failed_ = std::move(done).error();
}

void GpuDevice::flush() {
  settle_rows();
  submit_commands();
  notes_.clear(), notes_written_ = 0;
}

void GpuDevice::submit_early() {
  constexpr std::size_t kEnough = 32;  // dispatches
  if (submits_early_ && parameters_.size() >= kEnough * kParameterWords) submit_commands();
}

void GpuDevice::submit_commands() {
  if (lost_) return forget();
  const auto notes = std::as_bytes(std::span(notes_).subspan(notes_written_));
  if (!notes.empty()) {
    const Spot spot = spot_of(note_memory_);
    driver_->write(spot.buffer, spot.offset + notes_written_ * 4, notes);
  }
  const auto begin = Clock::now();
  // Dispatches by as many as the parameter buffer holds.
  std::size_t command = 0, parameter = 0;
  if (batches_.empty() || batches_.back() != commands_.size()) batches_.push_back(commands_.size());
  const std::vector<std::size_t> batches = std::exchange(batches_, {});
  for (const std::size_t end : batches) {
    if (lost_) return;  // and with it all that was recorded
    const std::size_t count = std::min(kRoomWords, parameters_.size() - parameter);
    if (count != 0)
      driver_->write(parameter_buffer_, 0, std::as_bytes(std::span(parameters_).subspan(parameter, count)));
    const auto batch = std::span(commands_).subspan(command, end - command);
    if (!batch.empty()) is_timed_ ? submit_timed(batch) : driver_->submit(batch), ++counters_.submits;
    command = end, parameter += count;
  }
  counters_.submit_ms += ms_since(begin);
  counters_.bytes_written += notes.size() + parameters_.size() * 4;
  notes_written_ = notes_.size();
  parameters_.clear(), commands_.clear(), batches_.clear();
}

// Least of several: what does not belong to it comes on top.
double GpuDevice::time_of_read() {
  double least = most_wait_ms_;
  for (int i = 0; i < 32; ++i) {
    std::byte word[4];
    const auto begin = Clock::now();
    if (!fetch(note_memory_, word)) break;
    least = std::min(least, ms_since(begin));
  }
  return least;
}

void GpuDevice::submit_timed(std::span<const std::uint32_t> commands) {
  if (read_ms_ == 0) read_ms_ = time_of_read();
  while (!commands.empty()) {
    const auto kind = static_cast<Command>(commands[0]);
    const auto one = commands.first(kind == Command::Clear ? 4 : 6);
    commands = commands.subspan(one.size());
    const auto begin = Clock::now();
    driver_->submit(one);
    std::byte word[4];
    if (!fetch(note_memory_, word)) return;
    if (kind != Command::Dispatch) continue;
    const std::uint64_t workgroups = std::uint64_t{one[4]} * one[5];
    KernelTime& time = kernel_times_[{one[1], workgroups}];
    time.name = shaders_.name_of(one[1]), time.workgroups = workgroups, ++time.uses;
    time.ms += std::max(0.0, ms_since(begin) - read_ms_);
  }
}

std::vector<GpuDevice::KernelTime> GpuDevice::take_kernel_times() {
  std::vector<KernelTime> all;
  for (const auto& [key, time] : std::exchange(kernel_times_, {})) all.push_back(time);
  std::ranges::sort(all, std::ranges::greater{}, &KernelTime::ms);
  return all;
}

void* GpuDevice::fault(const Exec& exec, std::function<Error(std::uint32_t, std::uint32_t)> error) {
  if (exec.rehearsal()) return nullptr;
  if (faults_.size() == kMostFaults && mode_ == Mode::Attempt) {
    attempt_.meets_stranger = true;
    return fault_memory_;
  }
  if (faults_.size() == kMostFaults)
    if (auto none = check(); !none && !exec.status) exec.status = std::move(none).error();
  faults_.push_back(std::move(error));
  return fault_memory_ + (faults_.size() - 1) * 8;
}

Result<void> GpuDevice::check() {
  prover_->end_pass();
  if (lost_) {
    forget(), failed_.reset();
    return tl::make_unexpected(*lost_);
  }
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
  return heard(driver_->check());
}

}  // namespace loom::gpu

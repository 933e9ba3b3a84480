// Kernels by rows (Recorder::record_row), and beside each other: which of them become one shader.

#include <algorithm>
#include <array>
#include <bit>

#include "backend/webgpu/prover.h"
#include "backend/webgpu/recorder.h"
#include "backend/webgpu/workgroup_memory.h"

namespace loom::gpu {
namespace {

constexpr std::size_t kMostParameterWords = kParameterBytes / 4;

const std::byte* begin_of(const Kernel::Operand& operand) { return static_cast<const std::byte*>(operand.at); }

}  // namespace

// Whether the first of rows_ can run at the head of each workgroup of the last. Each workgroup then keeps the rows that
// they write, so none may be read from memory. Rows larger than half of a workgroup's memory are not kept, or than
// three quarters of it where there are so few workgroups that none share a processor. The kernels' own memory has to
// fit beside the rows.
bool Recorder::can_lead(std::uint64_t workgroups) {
  constexpr std::uint64_t kMostGroups = 512;  // that repeat the work; for more of them another dispatch is cheaper
  constexpr std::uint64_t kFewGroups = 64;
  const Kernel& last = rows_.back();
  std::size_t operands = 0;
  for (const Kernel& kernel : rows_) operands += kernel.operands().size();
  if (operands > kMostOperands || workgroups > kMostGroups || rows_.size() > kMostKernels ||
      last.threads() != kRowThreads || num_rows_ * last.groups_of_row() != workgroups ||
      parameter_words(rows_) > kMostParameterWords || !binds(rows_))
    return false;
  struct Place {
    const Kernel::Operand* operand;
    std::size_t kernel;
    const std::byte *begin, *end;
    bool overlaps(const Place& other) const { return begin < other.end && other.begin < end; }
    bool is_row_of(const Place& other) const { return begin == other.begin && operand->row == other.operand->row; }
  };
  std::vector<Place> places;
  for (std::size_t k = 0; k < rows_.size(); ++k)
    for (const Kernel::Operand& operand : rows_[k].operands()) {
      const std::byte* const begin = begin_of(operand);
      places.push_back({&operand, k, begin,
                        operand.row != 0 ? begin + num_rows_ * operand.row * 4 : memory_.end_of_range(operand.at)});
    }
  std::uint64_t kept_bytes = 0;
  for (const Place& written : places) {
    if (written.operand->access == Access::Read) continue;
    const bool is_last = written.kernel + 1 == rows_.size();
    if (!is_last && (written.operand->access == Access::Both || written.operand->row == 0)) return false;
    for (const Place& other : places) {
      if (other.operand == written.operand || !written.overlaps(other)) continue;
      if (is_last
              ? other.kernel != written.kernel
              : other.kernel <= written.kernel || other.operand->access != Access::Read || !other.is_row_of(written))
        return false;
    }
    if (!is_last) kept_bytes += (written.operand->row * 4 + 15) / 16 * 16;
  }
  const std::uint64_t most = connection_.adapter().limits.workgroup_bytes;
  if (kept_bytes > (workgroups <= kFewGroups ? most - most / 4 : most / 2)) return false;
  std::uint64_t bytes = kept_bytes;
  for (const Kernel& kernel : rows_) bytes += own_bytes(kernel);
  return bytes <= most;
}

std::uint64_t Recorder::own_bytes(const Kernel& kernel) {
  own_key_.assign(1, reinterpret_cast<std::uintptr_t>(kernel.body().data()));
  for (const Kernel::Number& c : kernel.constants()) own_key_.push_back(c.bits);
  const auto [known, is_new] = own_bytes_.try_emplace(own_key_);
  if (is_new) known->second = workgroup_bytes(kernel).value_or(connection_.adapter().limits.workgroup_bytes);
  return known->second;
}

// Whether the device binds as many buffers as the operands are in.
bool Recorder::binds(Kernels kernels) const {
  const std::uint32_t most = connection_.adapter().limits.storage_buffers;
  if (most >= kMostOperands) return true;
  std::array<Id, kMostOperands> seen;
  std::size_t count = 0;
  for (const Kernel& kernel : kernels)
    for (const Kernel::Operand& operand : kernel.operands()) {
      const auto spot = memory_.find_spot(operand.at);
      const Id buffer = spot ? spot->buffer : 0;
      if (std::find(seen.begin(), seen.begin() + count, buffer) == seen.begin() + count) seen[count++] = buffer;
    }
  return count <= most;
}

// Whether rows of one operand share memory with rows of the other.
bool Recorder::overlaps(const Kernel::Operand& a, const Kernel::Operand& b, std::uint64_t rows) const {
  const Kernel::Operand &first = begin_of(a) < begin_of(b) ? a : b, &second = begin_of(a) < begin_of(b) ? b : a;
  const std::byte* const end = first.row != 0 ? begin_of(first) + rows * first.row * 4 : memory_.end_of_range(first.at);
  return end > begin_of(second);
}

// Whether two operands keep their kernels from becoming one: one of them is written where another row of the other is.
bool Recorder::conflicts(const Kernel::Operand& a, const Kernel::Operand& b, std::uint64_t rows) const {
  if ((a.access == Access::Read && b.access == Access::Read) || (a.at == b.at && a.row == b.row && a.row != 0))
    return false;
  return overlaps(a, b, rows);
}

Result<void> Recorder::add_row(const Kernel& kernel, std::uint64_t rows) {
  LOOM_TRY(const bool is_known, knows(kernel, rows));
  if (!is_known) return {};
  rows_.push_back(kernel);
  std::size_t operands = 0;
  for (const Kernel& k : rows_) operands += k.operands().size();
  const auto has_conflict = [&](const Kernel& earlier) {
    return std::ranges::any_of(kernel.operands(), [&](const Kernel::Operand& a) {
      return std::ranges::any_of(earlier.operands(), [&](const Kernel::Operand& b) { return conflicts(a, b, rows); });
    });
  };
  const bool fits = rows_.size() < kMostKernels && operands <= kMostOperands &&
                    parameter_words(rows_) <= kMostParameterWords && binds(rows_);
  if (rows_.size() > 1 && (rows != num_rows_ || !fits || std::any_of(rows_.begin(), rows_.end() - 1, has_conflict))) {
    rows_.pop_back();
    LOOM_TRY_VOID(end_rows());
    rows_.push_back(kernel);
  }
  num_rows_ = rows;
  return {};
}

// Dispatches the kernels that wait. `has_last`: the last of them is not by rows.
Result<void> Recorder::end_rows(bool has_last) {
  if (connection_.is_lost()) rows_.clear();
  if (rows_.empty()) return {};
  std::vector<Kernel> kernels;
  kernels.swap(rows_);
  auto done = dispatch_rows(kernels);
  if (has_last) kernels.pop_back();
  if (mode_ == Mode::Attempt && !attempt_.has_ended_rows) {
    attempt_.has_ended_rows = true;
    attempt_.ended_rows.swap(kernels);
  }
  kernels.clear();
  if (rows_.empty()) rows_.swap(kernels);  // keeps its memory
  return done;
}

Result<void> Recorder::dispatch_rows(Kernels kernels) {
  if (kernels.size() == 1) return dispatch_alone(kernels[0], num_rows_);
  LOOM_TRY(Shader* const shader, shader_of(kernels));
  const std::uint64_t workgroups = workgroups_of(kernels.back(), num_rows_);
  LOOM_TRY(const bool is_trusted, trusts(*shader, kernels, workgroups));
  if (is_trusted) {
    ++shader->uses;
    return submitter_.dispatch(kernels, workgroups, *shader);
  }
  if (!shader->is_refused) {
    if (mode_ != Mode::Attempt) return prover_->prove_joined(kernels, num_rows_, *shader);
    attempt_.has_untrusted_kernel = true;
    return {};
  }
  for (const Kernel& kernel : kernels) LOOM_TRY_VOID(dispatch_alone(kernel, workgroups_of(kernel, num_rows_)));
  return {};
}

// As many at a time as fit into one shader: a power of two, so that few shaders are compiled.
Result<void> Recorder::add_beside(Kernels kernels, std::uint64_t workgroups) {
  for (const Kernel& kernel : kernels) {
    LOOM_TRY(const bool is_known, knows(kernel, workgroups));
    if (!is_known) return {};
  }
  LOOM_TRY_VOID(end_rows());
  while (!kernels.empty()) {
    std::size_t count = std::bit_floor(std::min(kernels.size(), kMostBeside));
    while (count > 1 && (count * kernels[0].operands().size() > kMostOperands ||
                         parameter_words(kernels.first(count)) > kMostParameterWords || !binds(kernels.first(count))))
      count /= 2;
    LOOM_TRY_VOID(dispatch_beside(kernels.first(count), workgroups));
    kernels = kernels.subspan(count);
  }
  return {};
}

Result<void> Recorder::dispatch_beside(Kernels kernels, std::uint64_t workgroups) {
  if (kernels.size() == 1) return dispatch_alone(kernels[0], workgroups);
  std::vector<Kernel> together(kernels.begin(), kernels.end());
  for (Kernel& kernel : together) kernel.beside();
  LOOM_TRY(Shader* const shader, shader_of(together));
  LOOM_TRY(const bool is_trusted, trusts(*shader, together, kernels.size() * workgroups));
  if (is_trusted) {
    ++shader->uses;
    return submitter_.dispatch(together, kernels.size() * workgroups, *shader);
  }
  if (!shader->is_refused) {
    if (mode_ != Mode::Attempt) return prover_->prove_joined(together, workgroups, *shader);
    attempt_.has_untrusted_kernel = true;
    return {};
  }
  for (const Kernel& kernel : kernels) LOOM_TRY_VOID(dispatch_alone(kernel, workgroups));
  return {};
}

}  // namespace loom::gpu

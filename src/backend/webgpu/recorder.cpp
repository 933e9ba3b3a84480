#include "backend/webgpu/recorder.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "backend/exec.h"
#include "backend/webgpu/prover.h"

namespace loom::gpu {
namespace {

constexpr std::size_t kMostFaults = 256;  // between two calls of check()

}  // namespace

Recorder::Recorder(Connection& connection, GpuMemory& memory, Submitter& submitter, Shaders& shaders)
    : connection_(connection),
      memory_(memory),
      submitter_(submitter),
      shaders_(shaders),
      prover_(std::make_unique<Prover>(connection, memory, submitter, shaders, *this)) {}

Recorder::~Recorder() = default;

Result<void> Recorder::create_buffers() {
  LOOM_TRY(fault_memory_, memory_.allocate(kMostFaults * 8));
  return {};
}

// ---- attempts ----

void Recorder::begin_attempt() {
  mode_ = Mode::Attempt;
  attempt_.mark = submitter_.mark(), attempt_.faults = faults_.size();
  attempt_.rows = rows_.size(), attempt_.num_rows = num_rows_;
  attempt_.has_untrusted_kernel = attempt_.has_ended_rows = false;
}

bool Recorder::end_attempt() {
  mode_ = Mode::Plain;
  if (attempt_.has_untrusted_kernel && !connection_.is_lost()) {
    submitter_.rewind(attempt_.mark);
    faults_.resize(attempt_.faults);
    if (attempt_.has_ended_rows) rows_.swap(attempt_.ended_rows);
    rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(attempt_.rows), rows_.end());
    num_rows_ = attempt_.num_rows;
  }
  for (std::byte* const memory : std::exchange(attempt_.freed, {})) free(memory);
  return !attempt_.has_untrusted_kernel;
}

// ---- recording ----

void Recorder::record(const Exec& exec, const Kernel& kernel, std::uint64_t workgroups) {
  if (exec.rehearsal()) rehearsed_.fetch_add(1, std::memory_order_relaxed);
  if (exec.rehearsal() || exec.status || workgroups == 0) return;
  LOOM_ASSERT(prover_->is_in_call());
  if (mode_ == Mode::List) return void(recorded_.push_back({kernel, workgroups, false, 1}));
  if (auto done = add(kernel, workgroups); !done) exec.status = std::move(done).error();
}

void Recorder::record_row(const Exec& exec, const Kernel& kernel, std::uint64_t rows) {
  if (exec.rehearsal()) rehearsed_.fetch_add(1, std::memory_order_relaxed);
  if (exec.rehearsal() || exec.status || rows == 0) return;
  LOOM_ASSERT(prover_->is_in_call() && kernel.threads() == kRowThreads);
  if (mode_ == Mode::List) return void(recorded_.push_back({kernel, rows, true, 1}));
  if (auto done = add_row(kernel, rows); !done) exec.status = std::move(done).error();
}

void Recorder::record_beside(const Exec& exec, Kernels kernels, std::uint64_t workgroups) {
  if (exec.rehearsal()) rehearsed_.fetch_add(kernels.size(), std::memory_order_relaxed);
  if (exec.rehearsal() || exec.status || workgroups == 0) return;
  LOOM_ASSERT(prover_->is_in_call());
  if (mode_ == Mode::List) {
    for (const Kernel& kernel : kernels)
      recorded_.push_back({kernel, workgroups, false, &kernel == kernels.data() ? kernels.size() : 1});
    return;
  }
  if (auto done = add_beside(kernels, workgroups); !done) exec.status = std::move(done).error();
}

Result<void> Recorder::add_listed() {
  for (std::size_t i = 0; i < recorded_.size();) {
    const auto& [kernel, workgroups, by_rows, beside] = recorded_[i];
    if (beside > 1) {
      std::vector<Kernel> kernels;
      kernels.reserve(beside);
      for (std::size_t k = 0; k < beside; ++k) kernels.push_back(recorded_[i + k].kernel);
      LOOM_TRY_VOID(add_beside(kernels, workgroups));
    } else {
      LOOM_TRY_VOID(by_rows ? add_row(kernel, workgroups) : add(kernel, workgroups));
    }
    i += beside;
  }
  return {};
}

Result<bool> Recorder::trusts(Shader& shader, Kernels kernels, std::uint64_t workgroups) {
  if (shaders_.precision() == Precision::Strict) return shader.is_trusted(sizes_of(kernels, workgroups));
  if (shader.is_refused) return false;
  return prover_->compile(shader, kernels);
}

// Whether a kernel can be added as it comes. In an attempt, one that is not trusted is noted, and ends it.
Result<bool> Recorder::knows(const Kernel& kernel, std::uint64_t workgroups) {
  if (mode_ != Mode::Attempt) return true;
  if (attempt_.has_untrusted_kernel) return false;
  LOOM_TRY(Shader* const shader, shader_of({&kernel, 1}));
  LOOM_TRY(const bool is_trusted, trusts(*shader, {&kernel, 1}, workgroups));
  attempt_.has_untrusted_kernel = !is_trusted;
  ++shader->uses;  // of one that is joined to others too: the next trial compares them with it
  return is_trusted;
}

Result<void> Recorder::add(const Kernel& kernel, std::uint64_t workgroups) {
  LOOM_TRY(const bool is_known, knows(kernel, workgroups));
  if (!is_known) return {};
  if (kernel.groups_of_row() != 0 && !rows_.empty()) {
    rows_.push_back(kernel);
    if (can_lead(workgroups)) return end_rows(true);
    rows_.pop_back();
  }
  LOOM_TRY_VOID(end_rows());
  return dispatch_alone(kernel, workgroups);
}

Result<void> Recorder::dispatch(const Kernel& kernel, std::uint64_t workgroups) {
  LOOM_TRY_VOID(end_rows());
  return dispatch_alone(kernel, workgroups);
}

Result<Shader*> Recorder::shader_of(Kernels kernels) {
  std::array<Id, kMostOperands> buffers;
  std::size_t operands = 0;
  for (const Kernel& kernel : kernels)
    for (const Kernel::Operand& operand : kernel.operands()) {
      const auto spot = memory_.find_spot(operand.at);
      if (!spot || spot->offset % 4 != 0)
        return fail(Code::InvalidState, "{}: {} of {} is not in the memory of the device", connection_.adapter().name,
                    operand.name, kernel.name());
      buffers[operands++] = spot->buffer;
    }
  return shaders_.find(kernels, {buffers.data(), operands});
}

Result<void> Recorder::dispatch_alone(const Kernel& kernel, std::uint64_t workgroups) {
  LOOM_TRY(Shader* const shader, shader_of({&kernel, 1}));
  return submitter_.dispatch({&kernel, 1}, workgroups, *shader);
}

Result<void> Recorder::submit_rows_alone() {
  const std::vector<Kernel> joined = std::exchange(rows_, {});
  for (const Kernel& kernel : joined) LOOM_TRY_VOID(dispatch_alone(kernel, num_rows_));
  submitter_.submit();
  return {};
}

// ---- numbers and faults ----

const void* Recorder::upload(const Exec& exec, std::span<const std::byte> bytes) {
  if (exec.rehearsal()) return nullptr;
  if (bytes.size() > Submitter::kNumberBytes) {
    exec.status = Error{Code::LimitExceeded, fmt::format("{} bytes of ids or positions in one pass on a graphics card, "
                                                         "{} are possible",
                                                         bytes.size(), Submitter::kNumberBytes)};
    return submitter_.number_memory();
  }
  const std::byte* at = submitter_.add_numbers(bytes);
  if (at != nullptr) return at;
  if (mode_ == Mode::Attempt) {
    attempt_.has_untrusted_kernel = true;
    return submitter_.number_memory();
  }
  flush();
  return submitter_.add_numbers(bytes);
}

void* Recorder::fault(const Exec& exec, FaultError error) {
  if (exec.rehearsal()) return nullptr;
  if (faults_.size() == kMostFaults && mode_ == Mode::Attempt) {
    attempt_.has_untrusted_kernel = true;
    return fault_memory_;
  }
  if (faults_.size() == kMostFaults)
    if (auto none = check(); !none && !exec.status) exec.status = std::move(none).error();
  faults_.push_back(std::move(error));
  return fault_memory_ + (faults_.size() - 1) * 8;
}

void Recorder::make_room() {
  if (2 * faults_.size() >= kMostFaults) submitter_.keep_error(check(), true);
  if (2 * submitter_.number_bytes() >= Submitter::kNumberBytes) flush();
}

void Recorder::read_faults() {
  if (faults_.empty()) return;
  const auto faults = std::exchange(faults_, {});
  std::vector<std::uint32_t> words(faults.size() * 2);
  flush();
  submitter_.keep_error(submitter_.read(fault_memory_, std::as_writable_bytes(std::span(words))), true);
  for (std::size_t i = 0; i < faults.size() && !submitter_.has_error(); ++i)
    if (words[2 * i] != 0) submitter_.keep_error(tl::make_unexpected(faults[i](words[2 * i] - 1, words[2 * i + 1])));
  end_rows_keeping_error();
  submitter_.clear(fault_memory_, words.size() * 4);
}

Result<void> Recorder::check() {
  prover_->end_pass();
  if (connection_.is_lost()) {
    forget();
    return connection_.loss();
  }
  read_faults();
  if (auto error = submitter_.take_error()) return tl::make_unexpected(*std::move(error));
  return connection_.check_lost(connection_.driver().check());
}

// ---- submission ----

void Recorder::forget() {
  rows_.clear(), faults_.clear();
  submitter_.forget();
  submitter_.take_error();
}

void Recorder::free(std::byte* memory) {
  if (mode_ == Mode::Attempt) return attempt_.freed.push_back(memory);  // kernels to come may be recorded again
  // Numbers stay: kernels that come next in a pass have their addresses.
  end_rows_keeping_error();
  submitter_.submit();
  memory_.free(memory);
}

void Recorder::flush() {
  end_rows_keeping_error();
  submitter_.submit();
  submitter_.forget_numbers();
}

Result<void> Recorder::submit_all() {
  LOOM_TRY_VOID(end_rows());
  submitter_.submit();
  return {};
}

}  // namespace loom::gpu

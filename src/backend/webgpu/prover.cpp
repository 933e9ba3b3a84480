#include "backend/webgpu/prover.h"

#include <algorithm>
#include <cstring>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/system.h"

namespace loom::gpu {

struct Call::HostRun {
  HostRun(const Exec& exec, Prover& by) : caller(exec), prover(by), planned(Arena::measuring()), host(with(planned)) {}
  HostRun(const Exec& exec, Prover& by, Arena& scratch) : caller(exec), prover(by), host(with(scratch)) {}
  Exec with(Arena& arena) const {
    return {caller.pool, caller.kernels, arena, caller.cancel, caller.activations, caller.status};
  }

  const Exec& caller;
  Prover& prover;
  Arena planned;  // in a rehearsal
  const Exec host;
};

void Call::start(const Exec& exec, const Form& form) {
  Prover& prover = exec.gpu()->prover();
  if (exec.rehearsal()) {
    form();
    run_.reset(new HostRun(exec, prover));
  } else if (Arena* const scratch = prover.begin(exec, form); scratch != nullptr) {
    run_.reset(new HostRun(exec, prover, *scratch));
  }
  host_ = run_ == nullptr ? nullptr : &run_->host;
}

void Call::Finish::operator()(HostRun* run) const {
  const std::unique_ptr<HostRun> ended(run);
  if (run->host.status && !run->caller.status) run->caller.status = run->host.status;
  run->caller.rehearsal() ? run->prover.plan(run->planned.peak()) : run->prover.end();
}

void Prover::plan(const Arena::Mark& scratch) {
  const Mutex::Guard lock(mutex_);
  scratch_ = scratch_.max(scratch);
}

Arena::Mark Prover::planned() {
  const Mutex::Guard lock(mutex_);
  return scratch_;
}

Arena* Prover::begin(const Exec& exec, const Form& form) {
  if (connection_.is_lost() && !exec.status) exec.status = connection_.lost();
  if (exec.status) return nullptr;
  if (in_call_) {  // a part of another op's form
    form();
    return nullptr;
  }
  in_call_ = true;
  exec_ = &exec;
  if (!record(exec, form)) return &arena_;
  in_call_ = false;
  submitter_.submit_early();
  return nullptr;
}

bool Prover::record(const Exec& exec, const Form& form) {
  if (!lists_first_) {
    if (recorder_.attempt(form)) return true;
    lists_first_ = true;
  }
  recorder_.make_room();
  recorder_.list(form);
  if (exec.status) return true;
  const auto failed = [&](auto result) {
    const bool is_error = !result;
    if (is_error) exec.status = std::move(result).error();
    return is_error;
  };
  on_trial_.clear();
  is_refused_ = false;
  for (const auto& [kernel, workgroups, by_rows, beside] : recorder_.recorded()) {
    auto shader = recorder_.shader_of({&kernel, 1});
    if (failed(shader)) return true;
    const auto trusted = recorder_.trusts(**shader, {&kernel, 1}, workgroups);
    if (failed(trusted)) return true;
    is_refused_ |= (*shader)->is_refused;
    if (!*trusted) on_trial_.push_back({*shader, &kernel, sizes_of({&kernel, 1}, workgroups)});
  }
  if (on_trial_.empty()) {
    (void)failed(recorder_.add_listed());
    return true;
  }
  met_untrusted_kernel_ = true;
  began_ = Clock::now();
  const bool failed_to_prepare = failed(copy_to_host(exec));
  if (failed_to_prepare) empty_addresses();
  report_.ms += ms_since(began_);
  return failed_to_prepare;
}

// The tensors of the call as they are before it, at their own addresses; the kernels run on the card.
Result<void> Prover::copy_to_host(const Exec& exec) {
  LOOM_TRY_VOID(recorder_.submit_rows_alone());

  std::vector<Piece> read;
  written_.clear();
  for (const auto& [kernel, workgroups, by_rows, beside] : recorder_.recorded()) {
    const std::uint64_t rows = by_rows ? workgroups : 0;
    std::ranges::copy(pieces_of({&kernel, 1}, rows, &exec.arena, false), std::back_inserter(read));
    std::ranges::copy(pieces_of({&kernel, 1}, rows, &exec.arena, true), std::back_inserter(written_));
  }
  merge(read), merge(written_);
  filled_ = read;
  for (Piece& piece : filled_) {
    std::byte* const first = memory_.addresses();
    const auto begin = static_cast<std::size_t>(piece.begin - first) / os::kAddressPiece;
    const auto end = ceil_div(static_cast<std::size_t>(piece.end - first), os::kAddressPiece);
    piece = {first + begin * os::kAddressPiece, first + end * os::kAddressPiece};
  }
  merge(filled_);
  for (const Piece& piece : filled_)
    if (!os::fill_addresses(piece.begin, piece.size()))
      return fail(Code::OutOfMemory, "{}: no memory for copies of {} bytes, to prove {} by", connection_.adapter().name,
                  piece.size(), on_trial_[0].shader->name);
  for (const Piece& piece : read) LOOM_TRY_VOID(submitter_.read(piece.begin, piece.bytes()));
  before_.clear();
  for (const Piece& piece : written_) before_.emplace_back(piece.begin, piece.end);
  LOOM_TRY_VOID(use_current_weights());
  const Arena::Mark scratch = planned();
  if (!arena_.holds(scratch)) {
    LOOM_TRY(arena_, Arena::create(scratch.plus(Buffer::kAlignment)));
  }
  LOOM_TRY_VOID(compile_all());
  if (!is_refused_) LOOM_TRY_VOID(run_alone());
  arena_.clear();
  return {};
}

// Updates weights of the host that its kernels read, where the card has changed its copies.
Result<void> Prover::use_current_weights() {
  for (const auto& [kernel, workgroups, by_rows, beside] : recorder_.recorded())
    for (const Kernel::Operand& operand : kernel.operands()) {
      const auto* const range = memory_.find_range(operand.at);
      if (range->second.of_host == nullptr || !range->second.was_written) continue;
      std::vector<std::byte> now(range->second.bytes);
      LOOM_TRY_VOID(submitter_.read(range->first, now));
      if (std::memcmp(now.data(), range->second.of_host, now.size()) != 0)
        std::memcpy(range->second.of_host, now.data(), now.size());
    }
  return {};
}

// Compiles the shaders on trial. One that does not compile is refused: the host computes its op from now on.
Result<void> Prover::compile_all() {
  for (const OnTrial& one : on_trial_) {
    if (one.shader->is_refused) continue;
    LOOM_TRY(const bool compiles, compile(*one.shader, {one.kernel, 1}));
    is_refused_ |= !compiles;
  }
  return {};
}

Result<bool> Prover::compile(Shader& shader, Kernels kernels) {
  auto made = connection_.check_lost(shaders_.compile(shader, kernels));
  if (made) return true;
  if (made.error().code != Code::Unsupported) return tl::make_unexpected(std::move(made).error());
  report_.problems.push_back(made.error().message);
  refuse(shader);
  return false;
}

Result<void> Prover::run_alone() {
  for (const auto& [kernel, workgroups, by_rows, beside] : recorder_.recorded())
    LOOM_TRY_VOID(recorder_.dispatch_alone(kernel, workgroups));
  submitter_.submit();
  return {};
}

void Prover::end() {
  in_call_ = false;
  const auto begin = Clock::now();
  // A value that is an error leaves results that nobody reads.
  if (!exec_->status)
    if (auto judged = judge(); !judged) exec_->status = std::move(judged).error();
  empty_addresses();
  report_.ms += ms_since(begin);
}

Result<void> Prover::judge() {
  Bytes expected;
  for (const Piece& piece : written_) expected.emplace_back(piece.begin, piece.end);
  if (is_refused_) {
    ++report_.calls_on_host;
    send(expected, written_);
    return {};
  }
  ++report_.trials;
  LOOM_TRY(bool equal, results_are(expected, written_));
  bool other_level = false;
  for (const OnTrial& one : on_trial_) {
    if (equal || one.shader->sums == Sums::Kept) continue;
    shaders_.set_sums(*one.shader, {one.kernel, 1}, Sums::Kept);
    other_level = true;
  }
  if (other_level) {
    send(before_, written_);
    LOOM_TRY_VOID(run_alone());
    LOOM_TRY(equal, results_are(expected, written_));
  }
  const unsigned trials = trials_for(written_);
  for (const OnTrial& one : on_trial_) equal ? shaders_.pass(*one.shader, one.sizes, trials) : refuse(*one.shader);
  if (!equal) send(expected, written_);
  return {};
}

void Prover::refuse(Shader& shader) {
  if (!shader.is_refused) report_.refused.emplace_back(shader.name);
  shader.is_refused = true;
}

Result<void> Prover::prove_joined(Kernels kernels, std::uint64_t rows, Shader& shader) {
  const auto begin = Clock::now();
  const bool are_beside = kernels[0].is_beside();
  const std::uint64_t workgroups = are_beside ? kernels.size() * rows : workgroups_of(kernels.back(), rows);
  met_untrusted_kernel_ = true;
  submitter_.submit();
  const std::vector<Piece> written = pieces_of(kernels, rows, nullptr, true);
  LOOM_TRY(const Bytes before, fetch(written));
  for (const Kernel& kernel : kernels)
    LOOM_TRY_VOID(recorder_.dispatch_alone(Kernel(kernel).beside(false), workgroups_of(kernel, rows)));
  submitter_.submit();
  LOOM_TRY(const Bytes expected, fetch(written));
  const auto shows_it = [&]() -> Result<bool> {
    send(before, written);
    LOOM_TRY_VOID(submitter_.dispatch(kernels, workgroups, shader));
    submitter_.submit();
    return results_are(expected, written);
  };
  LOOM_TRY(const bool compiles, compile(shader, kernels));
  if (!compiles) return {};  // each of them has run
  ++report_.trials;
  LOOM_TRY(bool equal, shows_it());
  if (!equal && shader.sums == Sums::Left) {
    shaders_.set_sums(shader, kernels, Sums::Kept);
    LOOM_TRY(equal, shows_it());
  }
  equal ? shaders_.pass(shader, sizes_of(kernels, workgroups), trials_for(written)) : refuse(shader);
  if (!equal) send(expected, written);
  report_.ms += ms_since(begin);
  return {};
}

// ---- memory ----

// A number or two may be right by chance.
unsigned Prover::trials_for(std::span<const Piece> written) {
  std::size_t bytes = 0;
  for (const Piece& piece : written) bytes += piece.size();
  return bytes < 256 ? 8 : 1;
}

void Prover::merge(std::vector<Piece>& pieces) {
  std::ranges::sort(pieces, {}, &Piece::begin);
  std::size_t kept = 0;
  for (const Piece& piece : pieces) {
    if (kept != 0 && piece.begin <= pieces[kept - 1].end)
      pieces[kept - 1].end = std::max(pieces[kept - 1].end, piece.end);
    else
      pieces[kept++] = piece;
  }
  pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(kept), pieces.end());
}

// The memory that kernels read or write (`written`: write), without the scratch of their forms, which is the free part
// of `arena`.
std::vector<Prover::Piece> Prover::pieces_of(Kernels kernels, std::uint64_t rows, const Arena* arena,
                                             bool written) const {
  std::vector<Piece> pieces;
  for (const Kernel& kernel : kernels)
    for (const Kernel::Operand& operand : kernel.operands()) {
      auto* const begin = static_cast<std::byte*>(const_cast<void*>(operand.at));
      if ((written && operand.access == Access::Read) || (arena != nullptr && arena->is_free(begin))) continue;
      const auto* const range = memory_.find_range(begin);
      if (range->first == recorder_.fault_memory()) continue;
      const std::byte* end = range->first + range->second.bytes;
      if (range->first == submitter_.number_memory())
        end = range->first + submitter_.number_bytes();
      else if (operand.row != 0 && rows != 0)
        end = begin + rows * operand.row * 4;
      else if (arena != nullptr && arena->holds(begin))
        end = arena->end_of_piece(begin);
      LOOM_ASSERT(end <= range->first + range->second.bytes);  // the kernel has no more rows than it was given memory
      if (end > begin) pieces.push_back({begin, const_cast<std::byte*>(end)});
    }
  merge(pieces);
  return pieces;
}

Result<Prover::Bytes> Prover::fetch(std::span<const Piece> pieces) {
  Bytes bytes;
  for (const Piece& piece : pieces) {
    bytes.emplace_back(piece.size());
    LOOM_TRY_VOID(submitter_.read(piece.begin, bytes.back()));
  }
  return bytes;
}

void Prover::send(const Bytes& bytes, std::span<const Piece> pieces) {
  for (std::size_t i = 0; i < pieces.size(); ++i) submitter_.write(pieces[i].begin, bytes[i]);
}

Result<bool> Prover::results_are(const Bytes& expected, std::span<const Piece> pieces) {
  LOOM_TRY(const Bytes got, fetch(pieces));
  return got == expected;
}

void Prover::empty_addresses() {
  for (const Piece& piece : filled_) os::empty_addresses(piece.begin, piece.size());
  filled_.clear();
}

}  // namespace loom::gpu

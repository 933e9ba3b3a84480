// Passes that choose the next token (Session::feed_and_choose, feed_pass). A graphics card chooses by itself: a pass
// leaves its choice where the next one finds it, so that passes are recorded while others run, and the host reads one
// id of each.

#include <algorithm>
#include <array>

#include "core/checked.h"
#include "core/fp_environment.h"
#include "lm/session.h"
#include "ops/choice/choice.h"
#include "ops/draw/draw.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

// Nobody reads these caches any more.
Session::~Session() {
  ahead_run_.end = 0;
  drop_run();
}

const SamplingOptions& Session::options_of(const Feed& feed) {
  static const SamplingOptions greedy;
  return feed.sampling != nullptr ? *feed.sampling : greedy;
}

Result<std::int32_t> Session::feed_and_choose(const Feed& feed, std::size_t ahead, const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(check(std::span(&feed, 1)));
  Feed plain = feed;
  plain.drafts = {};
  return with_host_fallback([&]() -> Result<std::int32_t> {
    if (device_ != nullptr && device_->records()) return feed_card(plain, ahead, cancel);
    LOOM_TRY(const ConstTensor logits, feed_once(std::span(&plain, 1), cancel));
    row_of_ = RowOf{plain.sequence, revisions_[plain.sequence]};
    clear_choosers();
    add_chooser(options_of(plain), plain.sampling_session, tokens_[plain.sequence], {});
    return choose_on_host({logits.row(0), logits.cols}, 0);
  });
}

void Session::clear_choosers() {
  banned_.clear(), drawings_.clear();
  draws_ = false;
}

void Session::add_chooser(const SamplingOptions& options, std::uint32_t session, std::span<const std::int32_t> tokens,
                          std::span<const std::int32_t> fed, std::span<const std::uint32_t> unread) {
  if (draw_rows_.size() == banned_.size()) draw_rows_.emplace_back();
  draw_rows_[banned_.size()].set(options, session, tokens, fed, unread);
  banned_.push_back(options.banned);
  draws_ = draws_ || DrawRow::draws(options);
}

Session::Choosing Session::choosing() {
  if (!draws_) return {.banned = banned_};
  drawings_.clear();
  for (std::size_t i = 0; i < banned_.size(); ++i) drawings_.push_back(draw_rows_[i].drawing());
  return {.banned = banned_, .drawings = drawings_};
}

std::int32_t Session::choose_on_host(std::span<const float> logits, std::size_t chooser) const {
  const FpEnvironment environment;
  Arena none;
  const Exec exec{*pool_, *kernels_, none};
  const ConstTensor row{logits.data(), 1, logits.size()};
  std::int32_t id = kNoChoice;
  if (draws_)
    draw(exec, row, std::span(&draw_rows_[chooser].drawing(), 1), {}, {&id, 1});
  else
    choose(exec, row, banned_[chooser], {&id, 1});
  return id;
}

bool Session::continues_run(const Feed& feed) const {
  return ahead_run_.is_kept && ahead_run_.sequence == feed.sequence && feed.ids.size() == 1 &&
         feed.ids[0] == ahead_run_.next && ahead_run_.revision == revisions_[feed.sequence] &&
         ahead_run_.sampling == options_of(feed) && ahead_run_.sampling_session == feed.sampling_session;
}

Result<std::int32_t> Session::feed_card(const Feed& feed, std::size_t ahead, const std::atomic<bool>* cancel) {
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed))
    return fail(Code::Cancelled, "cancelled by the caller");
  const DeviceTurn turn(device_);
  row_of_.reset();
  Result<void> begun;
  const bool goes = continues_run(feed);
  if (goes) begun = run_ahead(feed.ids, ahead);
  // The first choice does not wait for others to be recorded.
  if (begun && (!goes || ahead_run_.choices.empty())) begun = begin_run(feed, cancel);
  const Result<std::int32_t> id = begun ? next_choice() : tl::make_unexpected(std::move(begun).error());
  std::vector<std::int32_t>& tokens = tokens_[feed.sequence];
  if (!id) {
    drop_run();
    states_.rewind(feed.sequence, tokens.size());
    return id;
  }
  tokens.insert(tokens.end(), feed.ids.begin(), feed.ids.end());
  ahead_run_.next = *id, ahead_run_.revision = ++revisions_[feed.sequence], ahead_run_.is_kept = true;
  return id;
}

Result<void> Session::begin_run(const Feed& feed, const std::atomic<bool>* cancel) {
  drop_run();
  forget_ahead(feed.sequence);
  LOOM_TRY_VOID(refill(feed.sequence, cancel));
  if (ahead_run_.logits.data() == nullptr) {
    LOOM_TRY(ahead_run_.ids, Memory::create(device_, ChoiceRun::kRows * sizeof(std::int32_t)));
    LOOM_TRY(const std::size_t bytes, checked_product({ChoiceRun::kRows, vocab(), sizeof(float)}));
    LOOM_TRY(ahead_run_.logits, Memory::create(device_, bytes));
  }
  ahead_run_.sequence = feed.sequence;
  ahead_run_.sampling = options_of(feed), ahead_run_.sampling_session = feed.sampling_session;
  ahead_run_.passes = 0, ahead_run_.is_stopped = false;
  LOOM_TRY_VOID(read_beginnings(std::span(&feed, 1), chunk_rows_, cancel));
  lay_out(std::span(&feed, 1), chunk_rows_);
  return begin_choice({runs_, ids_, want_}, feed.ids, cancel);
}

// A pass whose row in `want` chooses, and the reading of its choice.
Result<void> Session::begin_choice(Rows rows, std::span<const std::int32_t> fed, const std::atomic<bool>* cancel) {
  const std::size_t row = ahead_run_.passes % ChoiceRun::kRows;
  const auto* const choices = reinterpret_cast<const std::int32_t*>(ahead_run_.ids.data());
  std::array<std::uint32_t, ChoiceRun::kMostAhead> unread{};
  const std::size_t num_unread = ahead_run_.choices.size();
  for (std::size_t i = 0; i < num_unread; ++i)
    unread[i] = static_cast<std::uint32_t>((ahead_run_.passes - num_unread + i) % ChoiceRun::kRows);
  clear_choosers();
  add_chooser(ahead_run_.sampling, ahead_run_.sampling_session, tokens_[ahead_run_.sequence], fed,
              std::span(unread).first(num_unread));
  rows.kept_logits = {ahead_run_.logits.data() + row * vocab() * sizeof(float), 1, vocab()};
  rows.choice = {reinterpret_cast<std::int32_t*>(ahead_run_.ids.data()) + row, 1};
  rows.choosing = choosing();
  rows.choosing.recent = {choices, ChoiceRun::kRows};
  LOOM_TRY_VOID(run_rows(rows, nullptr, cancel));
  Device& card = *device_;
  LOOM_TRY(const ReadTicket ticket, card.begin_read(ahead_run_.ids.data() + row * sizeof(std::int32_t), 4));
  if (auto checked = card.check(); !checked) {  // what was wrong with the last kernels
    std::int32_t unread = 0;
    (void)card.finish_read(ticket, std::as_writable_bytes(std::span(&unread, 1)));
    return checked;
  }
  ahead_run_.choices.push_back(ticket);
  ahead_run_.end = rows.runs[0].position + rows.runs[0].count, ++ahead_run_.passes;
  return {};
}

// Keeps the logits of the requested rows from `begin` on that choose, and chooses.
void Session::keep_choice(const Exec& exec, ConstTensor logits, const Rows& rows, std::size_t begin) {
  if (exec.rehearsal()) {
    const Tensor any{const_cast<void*>(logits.data), logits.rows, logits.cols};
    const std::span<std::int32_t> ids(any.as<std::int32_t>(), any.rows);
    copy(exec, any, any);
    choose(exec, any, {}, ids);
    const std::vector<Drawing> most(any.rows, Drawing{.top_k = kMostDrawn});
    return draw(exec, any, most, {}, ids);
  }
  const std::size_t read = rows.want.size() - rows.choice.size(), first = std::max(begin, read);
  const std::size_t end = begin + logits.rows;
  const auto part = [&](std::size_t from, std::size_t to) {
    return ConstTensor{logits.row(from - begin), to - from, logits.cols};
  };
  if (first >= end) return;
  copy(exec, part(first, end), {rows.kept_logits.row(first - read), end - first, logits.cols});
  const auto& [banned, drawings, recent] = rows.choosing;
  if (!drawings.empty())
    return draw(exec, part(first, end), drawings.subspan(first - read, end - first), recent,
                rows.choice.subspan(first - read, end - first));
  for (std::size_t at = first; at < end;) {  // those with equal bans at once
    std::size_t next = at + 1;
    while (next < end && std::ranges::equal(banned[next - read], banned[at - read])) ++next;
    choose(exec, part(at, next), banned[at - read], rows.choice.subspan(at - read, next - at));
    at = next;
  }
}

Result<void> Session::reserve_choices(std::size_t rows) {
  LOOM_TRY(const std::size_t bytes, checked_product({rows, vocab(), sizeof(float)}));
  if (bytes > kept_logits_.size()) {
    LOOM_TRY(kept_logits_, Memory::create(device_, bytes));
    LOOM_TRY(kept_ids_, Memory::create(device_, rows * sizeof(std::int32_t)));
  }
  return {};
}

// The pass of feed_pass(): the first `read` rows of want_ leave logits, the others choices. The host computes both from
// the logits of all.
Result<void> Session::choose_in_pass(std::span<const Feed> feeds, std::size_t read, const std::atomic<bool>* cancel) {
  const std::size_t count = banned_.size();
  const bool on_card = device_ != nullptr && device_->records();
  kept_.clear(), choices_.assign(count, kNoChoice);
  LOOM_TRY_VOID(reserve_logits(on_card ? read : want_.size()));
  Rows rows{runs_, ids_, want_};
  if (!on_card || count == 0) {
    LOOM_TRY_VOID(run_rows(rows, logits_.as<float>(), cancel));
    for (std::size_t i = 0; i < count; ++i)
      choices_[i] = choose_on_host({logits_.as<float>() + (read + i) * vocab(), vocab()}, i);
    return {};
  }
  const DeviceTurn turn(device_);
  LOOM_TRY_VOID(reserve_choices(count));
  rows.kept_logits = {kept_logits_.data(), count, vocab()};
  rows.choice = {reinterpret_cast<std::int32_t*>(kept_ids_.data()), count};
  rows.choosing = choosing();
  LOOM_TRY_VOID(run_rows(rows, logits_.as<float>(), cancel));
  device_->read(kept_ids_.data(), std::as_writable_bytes(std::span(choices_)));
  LOOM_TRY_VOID(device_->check());
  for (const Feed& feed : feeds)
    if (feed.wants_logits && feed.chooses) kept_.push_back({feed.sequence, revisions_[feed.sequence] + 1});
  return {};
}

// As many passes more as may be under way. None makes a sliding window move on that the tokens so far have not: a
// sequence that is not gone on with has all that it had.
Result<void> Session::run_ahead(std::span<const std::int32_t> fed, std::size_t passes) {
  const std::size_t most = 1 + std::min(passes, kMostAhead);
  const SubmitOnRead scope(*device_);
  while (!ahead_run_.is_stopped && ahead_run_.choices.size() < most && ahead_run_.end < context_tokens_ &&
         states_.keeps_all(ahead_run_.sequence, ahead_run_.end + 1)) {
    const SequenceRows run{0, 1, ahead_run_.end, ahead_run_.sequence};
    const auto* const ids = reinterpret_cast<const std::int32_t*>(ahead_run_.ids.data());
    constexpr std::size_t kFirst = 0;
    auto begun =
        begin_choice({std::span(&run, 1), {ids + (ahead_run_.passes - 1) % ChoiceRun::kRows, 1}, std::span(&kFirst, 1)},
                     fed, nullptr);
    if (begun) continue;
    if (begun.error().code != Code::OutOfMemory) return begun;
    states_.rewind(ahead_run_.sequence, ahead_run_.end);
    ahead_run_.is_stopped = true;
  }
  return {};
}

Result<std::int32_t> Session::next_choice() {
  const ReadTicket ticket = ahead_run_.choices.front();
  ahead_run_.choices.pop_front();
  std::int32_t id = kNoChoice;
  LOOM_TRY_VOID(device_->finish_read(ticket, std::as_writable_bytes(std::span(&id, 1))));
  LOOM_TRY_VOID(device_->check());
  return id;
}

void Session::drop_run() {
  const DeviceTurn turn(device_);
  std::int32_t unread = 0;
  for (; !ahead_run_.choices.empty(); ahead_run_.choices.pop_front())
    (void)device_->finish_read(ahead_run_.choices.front(), std::as_writable_bytes(std::span(&unread, 1)));
  const std::size_t end = std::exchange(ahead_run_.end, 0);
  ahead_run_.is_kept = false;
  if (end != 0 && end > length(ahead_run_.sequence)) states_.rewind(ahead_run_.sequence, length(ahead_run_.sequence));
}

Result<std::span<const float>> Session::logits(std::size_t sequence, const std::atomic<bool>* cancel) {
  if (sequence >= tokens_.size())
    return fail(Code::OutOfRange, "sequence {} is asked for, the session holds {}", sequence, tokens_.size());
  if (broken_) return tl::make_unexpected(*broken_);
  if (tokens_[sequence].empty()) return fail(Code::InvalidState, "no logits follow a sequence without tokens");
  return with_host_fallback([&] { return logits_once(sequence, cancel); });
}

Result<std::span<const float>> Session::logits_once(std::size_t sequence, const std::atomic<bool>* cancel) {
  const std::span<float> row(logits_.as<float>(), vocab());
  const auto is_last = [&](std::size_t of, std::uint64_t revision) {
    return of == sequence && revision == revisions_[sequence];
  };
  if (row_of_ && is_last(row_of_->sequence, row_of_->revision)) return row;
  if (ahead_run_.is_kept && is_last(ahead_run_.sequence, ahead_run_.revision)) {
    const DeviceTurn turn(device_);
    const std::size_t kept = (ahead_run_.passes - ahead_run_.choices.size() - 1) % ChoiceRun::kRows;
    ahead_run_.logits.read(kept * row.size_bytes(), std::as_writable_bytes(row));
    LOOM_TRY_VOID(device_->check());
    row_of_ = RowOf{sequence, revisions_[sequence]};
    return row;
  }
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (!is_last(kept_[i].sequence, kept_[i].revision)) continue;
    const DeviceTurn turn(device_);
    if (kept_row_.size() == 0) {
      LOOM_TRY(kept_row_, Buffer::create(row.size_bytes()));
    }
    kept_logits_.read(i * row.size_bytes(), {kept_row_.data(), row.size_bytes()});
    LOOM_TRY_VOID(device_->check());
    return std::span<const float>(kept_row_.as<float>(), vocab());
  }
  const std::int32_t last = tokens_[sequence].back();
  LOOM_TRY_VOID(truncate(tokens_[sequence].size() - 1, sequence));
  const Feed again{sequence, std::span(&last, 1)};
  auto fed = feed_once(std::span(&again, 1), cancel);
  if (!fed) {
    tokens_[sequence].push_back(last);
    return tl::make_unexpected(std::move(fed).error());
  }
  row_of_ = RowOf{sequence, revisions_[sequence]};
  return row;
}

}  // namespace loom

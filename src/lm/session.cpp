#include "lm/session.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/rehearsal.h"
#include "core/checked.h"
#include "core/fp_environment.h"
#include "core/nearest.h"
#include "lm/peft.h"
#include "ops/all.h"
#include "ops/gather/gather.h"

namespace loom {
namespace {

constexpr std::size_t kHeadRows = 16;  // logits are computed for this many rows at a time: a vocabulary is wide

}  // namespace

Result<Activations> activations_from_name(std::string_view name) {
  LOOM_TRY(const std::size_t type, find_name("activations", name, kActivationTypes));
  return static_cast<Activations>(type);
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const DecoderModel> model,
                                                 const SessionOptions& options) {
  const FpEnvironment environment;
  std::unique_ptr<Session> s(new Session);
  s->model_ = std::move(model), s->plan_ = s->model_->plan;
  if (!s->plan_->is_of(s->model_->network))
    return fail(Code::InvalidState, "the model's network was edited after it was planned");
  const auto trained = static_cast<std::size_t>(s->model_->config.max_position_embeddings);
  s->context_tokens_ = options.context_tokens != 0 ? options.context_tokens : std::min(trained, kDefaultContext);
  if (s->context_tokens_ > (std::size_t{1} << 24))
    return fail(Code::InvalidArgument, "a context of {} tokens is beyond the limit of 2^24", s->context_tokens_);
  if (options.sequences < 1 || options.sequences > 4096)
    return fail(Code::InvalidArgument, "{} sequences asked for, 1 to 4096 are possible", options.sequences);
  LOOM_TRY(s->pool_, ThreadPool::given_or_new(options.pool, options.threads));
  s->activations_ = options.activations, s->kv_dtype_ = options.kv_dtype;
  s->device_ = options.choose_device == nullptr ? options.device : options.choose_device(*s->model_, options);
  // A sliding window moves on with each pass, and snapshots have the keys that it still holds: those of the host.
  const bool on_card = s->device_ != nullptr && s->model_->config.sliding_window == 0;
  const std::size_t rows = options.chunk_rows != 0 ? options.chunk_rows : on_card ? 512 : 128;
  s->chunk_rows_ = std::max(std::min(rows, s->context_tokens_), options.sequences);
  s->arena_ = Arena(s->device_), s->precision_ = precision_of(s->device_), s->on_loss_ = options.on_loss;
  s->isa_ = options.isa.value_or(best_isa());
  LOOM_TRY(s->kernels_, kernels_for(s->isa_));
  s->weights_ = HostWeights(s->model_->network);
  if (s->device_ == nullptr) LOOM_TRY_VOID(s->weights_.hold(*s->pool_));
  LOOM_TRY_VOID(s->check_adapters(options.adapters));
  s->adapters_ = options.adapters;
  LOOM_TRY_VOID(s->with_host_fallback([&]() -> Result<void> {
    LOOM_TRY_VOID(s->create_states(options.sequences));
    return s->plan(options.sequences);
  }));
  return s;
}

// Continues on the host with empty caches: each sequence is read again when it is next fed (refill()).
Result<void> Session::move_to_host(const Error& lost) {
  broken_ = lost, device_ = nullptr, has_moved_ = true;
  ahead_run_ = {};
  kept_.clear(), kept_logits_ = {}, kept_ids_ = {};
  for (DraftsAhead& ahead : ahead_) ahead.ids.clear();
  const std::size_t sequences = std::max<std::size_t>(tokens_.size(), 1);
  if (auto held = weights_.hold(*pool_); !held) {
    broken_ = std::move(held.error().in_source("the card was lost, and generation cannot continue on the CPU"));
    return tl::make_unexpected(*broken_);
  }
  LOOM_TRY_VOID(states_.plan(plan_->state_needs(), model_->network.settings.activations,
                             {device_, context_tokens_, sequences, chunk_rows_, kv_dtype_}));
  arena_ = Arena();
  LOOM_TRY_VOID(plan(sequences));
  broken_.reset();
  if (on_loss_) on_loss_("generation continues on the CPU: " + lost.message);
  return {};
}

Result<void> Session::check_adapters(const std::optional<std::vector<std::string>>& names) const {
  if (!names) return {};
  const std::vector<PeftInfo> known = list_peft(*model_);
  for (const std::string& name : *names)
    if (std::ranges::find(known, name, &PeftInfo::name) == known.end())
      return fail(Code::NotFound, "the model has no adapters named \"{}\"", printable(name));
  for (const std::string& fixed : model_->fixed_adapters)
    if (std::ranges::find(*names, fixed) == names->end())
      return fail(Code::Unsupported,
                  "adapter \"{}\" changed the model's own tensors on load and cannot be left out; load the model "
                  "without it",
                  fixed);
  return {};
}

Result<void> Session::choose_adapters(std::optional<std::vector<std::string>> names) {
  LOOM_TRY_VOID(check_adapters(names));
  for (std::size_t sequence = 0; sequence < tokens_.size(); ++sequence) LOOM_TRY_VOID(truncate(0, sequence));
  std::swap(adapters_, names);
  auto planned = with_host_fallback([&] { return plan(tokens_.size()); });
  if (!planned) std::swap(adapters_, names);
  return planned;
}

// Caches, and what else lasts from call to call.
Result<void> Session::create_states(std::size_t sequences) {
  const Network& net = model_->network;
  LOOM_TRY_VOID(states_.plan(plan_->state_needs(), net.settings.activations,
                             {device_, context_tokens_, sequences, chunk_rows_, kv_dtype_}));
  tokens_.resize(sequences), revisions_.resize(sequences), ahead_.resize(sequences);
  for (auto& t : tokens_) t.reserve(context_tokens_);

  LOOM_TRY(const std::size_t logits, checked_product({sequences, vocab(), sizeof(float)}));
  LOOM_TRY(logits_, Buffer::create(logits));
  positions_.reserve(chunk_rows_);
  runs_.reserve(sequences);
  ids_.reserve(chunk_rows_);
  want_.reserve(chunk_rows_);
  return {};
}

// Plans the largest forward pass: as many rows as fit, at the end of the context, with the logits of all rows.
Result<void> Session::plan(std::size_t sequences) {
  ids_.assign(chunk_rows_, 0), want_.clear(), runs_.clear();
  for (std::size_t i = 0; i < std::min(kHeadRows, chunk_rows_); ++i) want_.push_back(i);
  for (std::size_t sequence = 0; sequence < sequences; ++sequence) {
    const std::size_t count = sequence == 0 ? chunk_rows_ - (sequences - 1) : 1;
    runs_.push_back({chunk_rows_ - count, count, context_tokens_ - count, sequence});
  }
  // A card attends many rows of one sequence in other kernels than few of each.
  const SequenceRows whole{0, chunk_rows_, context_tokens_ - std::min(chunk_rows_, context_tokens_), 0};
  LOOM_TRY(const Arena::Mark needed, rehearse(exec(nullptr), [&](const Exec& rehearsal) {
             run_rows(rehearsal, {runs_, ids_, want_}, nullptr);
             if (device_ != nullptr) run_rows(rehearsal, {std::span(&whole, 1), ids_, want_}, nullptr);
           }));
  ids_.clear(), want_.clear(), runs_.clear();
  auto made = Arena::create(needed, device_);
  if (!made) return at(fmt::format("activations of {} tokens", chunk_rows_), std::move(made).error());
  arena_ = *std::move(made);
  return {};
}

Result<void> Session::check(std::span<const Feed> feeds) const {
  const auto vocab = static_cast<std::int32_t>(model_->config.vocab_size);
  if (broken_) return tl::make_unexpected(*broken_);
  if (feeds.empty()) return fail(Code::InvalidArgument, "no sequence to feed");
  if (feeds.size() > tokens_.size())
    return fail(Code::InvalidArgument, "{} feeds given, the session holds {} sequences", feeds.size(), tokens_.size());
  for (std::size_t f = 0; f < feeds.size(); ++f) {
    const Feed& feed = feeds[f];
    if (feed.sequence >= tokens_.size())
      return fail(Code::OutOfRange, "sequence {} is fed, the session holds {}", feed.sequence, tokens_.size());
    for (std::size_t other = 0; other < f; ++other)
      if (feeds[other].sequence == feed.sequence)
        return fail(Code::InvalidArgument, "sequence {} is fed twice in one call", feed.sequence);
    if (feed.ids.empty()) return fail(Code::InvalidArgument, "no token to feed: the prompt is empty");
    const std::size_t length = tokens_[feed.sequence].size();
    if (feed.ids.size() > context_tokens_ - length && length == 0)
      return fail(Code::ContextFull, "{} tokens do not fit into a context of {} tokens", feed.ids.size(),
                  context_tokens_);
    if (feed.ids.size() > context_tokens_ - length)
      return fail(Code::ContextFull, "{} tokens do not fit after {} in a context of {} tokens", feed.ids.size(), length,
                  context_tokens_);
    if (feed.sampling != nullptr && !DrawRow::takes(*feed.sampling, context_tokens_))
      return fail(Code::Unsupported, "a session does not choose by these options of sampling: read the logits");
    for (const auto& ids : {feed.ids, feed.drafts})
      for (const std::int32_t id : ids)
        if (id < 0 || id >= vocab)
          return fail(Code::IndexOutOfRange, "token id {} is outside the vocabulary of {}", id, vocab);
  }
  return {};
}

Result<void> Session::run_rows(const Rows& rows, float* logits, const std::atomic<bool>* cancel) {
  const FpEnvironment environment;
  const DeviceTurn turn(device_);
  std::size_t last = 0;
  for (const SequenceRows& run : rows.runs) last = std::max(last, run.position + run.count);
  LOOM_TRY_VOID(states_.begin(last));
  const Exec now = exec(cancel);
  run_rows(now, rows, logits);
  Result<void> checked = device_ != nullptr ? device_->check() : Result<void>();  // ends the pass on the device
  if (now.status) return tl::make_unexpected(*std::move(now.status));
  if (checked && device_ != nullptr) weights_.leave(*device_, *pool_);
  return checked;
}

void Session::run_rows(const Exec& exec, const Rows& rows, float* logits) {
  const std::span<const SequenceRows> runs = rows.runs;
  const std::span<const std::int32_t> ids = rows.ids;
  const std::span<const std::size_t> want = rows.want;
  exec.arena.clear();
  positions_.clear();
  for (const SequenceRows& run : runs)
    for (std::size_t i = 0; i < run.count; ++i) positions_.push_back(static_cast<std::uint32_t>(run.position + i));

  const Network& net = model_->network;
  Run run(exec);
  run.inputs.ids = ids, run.inputs.sequences = runs, run.inputs.positions = positions_;
  run.states = states_.slots(), run.adapters = adapters_ ? &*adapters_ : nullptr;
  run.watch = device_ == nullptr ? watch_ : nullptr;
  const std::size_t blocks_end = model_->blocks_end();
  const ConstTensor hidden = plan_->forward(run, {nullptr, Shape::of({ids.size()})}, 0, blocks_end);
  for (std::size_t begin = 0; begin < want.size() && !exec.status; begin += kHeadRows) {
    const ArenaScope scope(exec.arena);
    const std::size_t count = std::min(kHeadRows, want.size() - begin);
    const Tensor wanted = exec.arena.tensor(count, hidden.cols);
    const std::span<std::int32_t> wanted_rows(exec.arena.note<std::int32_t>(count), count);
    for (std::size_t i = 0; i < count && !exec.rehearsal(); ++i)
      wanted_rows[i] = static_cast<std::int32_t>(want[begin + i]);
    take_rows(exec, hidden, wanted_rows, wanted);
    const ConstTensor out =
        plan_->forward(run, {wanted.data, Shape::of({count, hidden.cols})}, blocks_end, net.num_cells());
    if (exec.records() && (exec.rehearsal() || !rows.choice.empty())) keep_choice(exec, out, rows, begin);
    const std::size_t read = want.size() - rows.choice.size();
    if (exec.rehearsal() || exec.status || begin >= read) continue;
    const auto wanted_logits =
        std::as_writable_bytes(std::span(logits + begin * out.cols, std::min(count, read - begin) * out.cols));
    if (device_ != nullptr)
      device_->read(out.as<std::byte>(), wanted_logits);
    else
      std::memcpy(wanted_logits.data(), out.data, wanted_logits.size());
  }
}

Result<void> Session::refill(std::size_t sequence, const std::atomic<bool>* cancel) {
  const std::span<const std::int32_t> ids = tokens_[sequence];
  if (states_.continues_at(sequence, ids.size())) return {};
  states_.rewind(sequence, 0);
  return read(ids, 0, sequence, cancel);
}

Result<void> Session::read(std::span<const std::int32_t> ids, std::size_t position, std::size_t sequence,
                           const std::atomic<bool>* cancel) {
  for (std::size_t begin = 0; begin < ids.size(); begin += chunk_rows_) {
    const SequenceRows run{0, std::min(chunk_rows_, ids.size() - begin), position + begin, sequence};
    LOOM_TRY_VOID(run_rows({std::span(&run, 1), ids.subspan(begin, run.count)}, nullptr, cancel));
  }
  return {};
}

bool Session::foresees(std::int32_t id, std::size_t sequence) const {
  const DraftsAhead& ahead = ahead_[sequence];
  return ahead.next < ahead.ids.size() && ahead.ids[ahead.next] == id;
}

void Session::forget_ahead(std::size_t sequence) {
  if (ahead_run_.sequence == sequence) drop_run();
  DraftsAhead& ahead = ahead_[sequence];
  if (ahead.next < ahead.ids.size()) states_.rewind(sequence, tokens_[sequence].size());
  ahead.ids.clear();
}

Result<void> Session::read_beginnings(std::span<const Feed> feeds, std::size_t share, const std::atomic<bool>* cancel) {
  for (const Feed& feed : feeds)
    for (std::size_t rest = feed.ids.size(), begin = 0; rest > share;) {
      const std::size_t n = std::min(rest - 1, chunk_rows_);
      const SequenceRows run{0, n, tokens_[feed.sequence].size() + begin, feed.sequence};
      LOOM_TRY_VOID(run_rows({std::span(&run, 1), feed.ids.subspan(begin, n)}, nullptr, cancel));
      begin += n, rest -= n;
    }
  return {};
}

void Session::lay_out(std::span<const Feed> feeds, std::size_t share) {
  runs_.clear(), ids_.clear(), want_.clear();
  for (const Feed& feed : feeds) {
    if (foresees(feed)) continue;
    std::size_t rest = feed.ids.size();
    while (rest > share) rest -= std::min(rest - 1, chunk_rows_);
    const std::size_t length = tokens_[feed.sequence].size() + feed.ids.size();
    const std::size_t room = std::min(share - rest, context_tokens_ - length);
    const auto drafts = feed.drafts.first(std::min(room, feed.drafts.size()));
    runs_.push_back({ids_.size(), rest + drafts.size(), length - rest, feed.sequence});
    ids_.insert(ids_.end(), feed.ids.end() - static_cast<std::ptrdiff_t>(rest), feed.ids.end());
    want_.push_back(ids_.size() - 1);
    ids_.insert(ids_.end(), drafts.begin(), drafts.end());
  }
  for (std::size_t i = 0; i < runs_.size(); ++i)
    for (std::size_t row = want_[i] + 1; row < runs_[i].first + runs_[i].count; ++row) want_.push_back(row);
}

Result<void> Session::reserve_logits(std::size_t rows) {
  LOOM_TRY(const std::size_t needed, checked_product({rows, vocab(), sizeof(float)}));
  if (needed > logits_.size()) {
    LOOM_TRY(logits_, Buffer::create(std::max(needed, 2 * logits_.size())));
  }
  return {};
}

Result<void> Session::last_pass(std::span<const Feed> feeds, std::size_t share, const std::atomic<bool>* cancel) {
  lay_out(feeds, share);
  if (runs_.empty())
    return cancel != nullptr && cancel->load(std::memory_order_relaxed)
               ? fail(Code::Cancelled, "cancelled by the caller")
               : Result<void>();
  LOOM_TRY_VOID(reserve_logits(want_.size()));
  LOOM_TRY_VOID(run_rows({runs_, ids_, want_}, logits_.as<float>(), cancel));
  return want_.size() == runs_.size() ? Result<void>() : keep_ahead();
}

Result<void> Session::keep_ahead() {
  const float* row = logits_.as<float>() + runs_.size() * vocab();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const std::size_t drafts = runs_[i].first + runs_[i].count - want_[i] - 1;
    std::size_t kept = 0;
    while (kept < drafts && std::isfinite(row[kept * vocab()])) ++kept;
    DraftsAhead& ahead = ahead_[runs_[i].sequence];
    if (const std::size_t bytes = kept * vocab() * sizeof(float); bytes > 0) {
      if (bytes > ahead.logits.size()) {
        LOOM_TRY(ahead.logits, Buffer::create(std::max(bytes, 2 * ahead.logits.size())));
      }
      std::memcpy(ahead.logits.data(), row, bytes);
    }
    const auto first = ids_.begin() + static_cast<std::ptrdiff_t>(want_[i] + 1);
    ahead.ids.assign(first, first + static_cast<std::ptrdiff_t>(kept));
    ahead.next = 0;
    states_.rewind(runs_[i].sequence, runs_[i].position + runs_[i].count - (drafts - kept));
    row += drafts * vocab();
  }
  return {};
}

// A pass writes its rows of logits without gaps. The rows of later feeds move to their places first, so that none is
// overwritten.
void Session::commit(std::span<const Feed> feeds) {
  const std::size_t row_bytes = vocab() * sizeof(float);
  std::size_t computed = runs_.size();
  for (std::size_t f = feeds.size(); f-- > 0;) {
    const Feed& feed = feeds[f];
    std::byte* const row = logits_.data() + f * row_bytes;
    DraftsAhead& ahead = ahead_[feed.sequence];
    if (computed == 0 || runs_[computed - 1].sequence != feed.sequence)
      std::memcpy(row, ahead.logits.data() + ahead.next++ * row_bytes, row_bytes);
    else if (--computed != f)
      std::memcpy(row, logits_.data() + computed * row_bytes, row_bytes);
    tokens_[feed.sequence].insert(tokens_[feed.sequence].end(), feed.ids.begin(), feed.ids.end());
    ++revisions_[feed.sequence];
  }
}

Result<ConstTensor> Session::feed(std::span<const Feed> feeds, const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(check(feeds));
  return with_host_fallback([&] { return feed_once(feeds, cancel); });
}

Result<ConstTensor> Session::feed_once(std::span<const Feed> feeds, const std::atomic<bool>* cancel) {
  row_of_.reset();
  for (const Feed& feed : feeds) {
    if (foresees(feed)) continue;
    forget_ahead(feed.sequence);
    LOOM_TRY_VOID(refill(feed.sequence, cancel));
  }
  // Long feeds run first, chunk by chunk and alone; the remaining ids of all feeds share one forward pass.
  const std::size_t share = std::max<std::size_t>(1, chunk_rows_ / feeds.size());
  auto status = read_beginnings(feeds, share, cancel);
  if (status) status = last_pass(feeds, share, cancel);
  if (!status) {
    for (const Feed& feed : feeds) {
      ahead_[feed.sequence].ids.clear();
      states_.rewind(feed.sequence, tokens_[feed.sequence].size());
    }
    return tl::make_unexpected(std::move(status).error());
  }
  commit(feeds);
  return ConstTensor{logits_.as<float>(), feeds.size(), vocab()};
}

Result<ConstTensor> Session::feed_pass(std::span<const Feed> feeds, const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(check(feeds));
  std::size_t rows = 0;
  for (const Feed& feed : feeds) rows += feed.ids.size();
  if (rows > chunk_rows_)
    return fail(Code::InvalidArgument, "{} ids given for one pass, it takes {} at most", rows, chunk_rows_);
  return with_host_fallback([&] { return feed_pass_once(feeds, cancel); });
}

Result<ConstTensor> Session::feed_pass_once(std::span<const Feed> feeds, const std::atomic<bool>* cancel) {
  row_of_.reset();
  for (const Feed& feed : feeds) {
    forget_ahead(feed.sequence);
    LOOM_TRY_VOID(refill(feed.sequence, cancel));
  }
  runs_.clear(), ids_.clear(), want_.clear();
  clear_choosers();
  for (const Feed& feed : feeds) {
    runs_.push_back({ids_.size(), feed.ids.size(), tokens_[feed.sequence].size(), feed.sequence});
    ids_.insert(ids_.end(), feed.ids.begin(), feed.ids.end());
    if (feed.wants_logits && !feed.chooses) want_.push_back(ids_.size() - 1);
  }
  const std::size_t read = want_.size();
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (!feeds[i].wants_logits || !feeds[i].chooses) continue;
    want_.push_back(runs_[i].first + runs_[i].count - 1);
    add_chooser(options_of(feeds[i]), feeds[i].sampling_session, tokens_[feeds[i].sequence], feeds[i].ids);
  }
  if (auto done = choose_in_pass(feeds, read, cancel); !done) {
    kept_.clear();
    for (const Feed& feed : feeds) states_.rewind(feed.sequence, tokens_[feed.sequence].size());
    return tl::make_unexpected(std::move(done).error());
  }
  for (const Feed& feed : feeds) {
    tokens_[feed.sequence].insert(tokens_[feed.sequence].end(), feed.ids.begin(), feed.ids.end());
    ++revisions_[feed.sequence];
  }
  return ConstTensor{logits_.as<float>(), read, vocab()};
}

Result<std::span<const float>> Session::feed(std::span<const std::int32_t> ids, std::size_t sequence,
                                             const std::atomic<bool>* cancel) {
  const Feed one{sequence, ids};
  LOOM_TRY(const ConstTensor logits, feed(std::span(&one, 1), cancel));
  return std::span<const float>(logits.as(), logits.cols);
}

Result<void> Session::prefill(std::span<const std::int32_t> ids, std::size_t sequence,
                              const std::atomic<bool>* cancel) {
  const Feed one{sequence, ids};
  LOOM_TRY_VOID(check(std::span(&one, 1)));
  LOOM_TRY_VOID(with_host_fallback([&]() -> Result<void> {
    forget_ahead(sequence);
    LOOM_TRY_VOID(refill(sequence, cancel));
    const std::size_t before = tokens_[sequence].size();
    auto done = read(ids, before, sequence, cancel);
    if (!done) states_.rewind(sequence, before);
    return done;
  }));
  tokens_[sequence].insert(tokens_[sequence].end(), ids.begin(), ids.end());
  ++revisions_[sequence];
  return {};
}

Result<void> Session::feed_all(std::span<const std::int32_t> ids,
                               const std::function<void(std::size_t, std::span<const float>)>& visit,
                               std::size_t sequence, const std::atomic<bool>* cancel) {
  const Feed one{sequence, ids};
  LOOM_TRY_VOID(check(std::span(&one, 1)));
  std::size_t visited = 0;
  const auto visit_next = [&](std::size_t i, std::span<const float> logits) {
    if (i >= visited) {
      visit(i, logits);
      visited = i + 1;
    }
  };
  return with_host_fallback([&] { return feed_all_once(ids, visit_next, sequence, cancel); });
}

Result<void> Session::feed_all_once(std::span<const std::int32_t> ids,
                                    const std::function<void(std::size_t, std::span<const float>)>& visit,
                                    std::size_t sequence, const std::atomic<bool>* cancel) {
  forget_ahead(sequence);
  LOOM_TRY_VOID(refill(sequence, cancel));
  ++revisions_[sequence];
  const std::size_t before = tokens_[sequence].size();
  const std::size_t width = vocab();
  LOOM_TRY(Buffer logits, Buffer::create(std::min(chunk_rows_, ids.size()) * width * sizeof(float)));
  for (std::size_t begin = 0; begin < ids.size(); begin += chunk_rows_) {
    const std::size_t n = std::min(chunk_rows_, ids.size() - begin);
    const SequenceRows run{0, n, tokens_[sequence].size(), sequence};
    want_.clear();
    for (std::size_t i = 0; i < n; ++i) want_.push_back(i);
    if (auto done = run_rows({std::span(&run, 1), ids.subspan(begin, n), want_}, logits.as<float>(), cancel); !done) {
      tokens_[sequence].resize(before);
      states_.rewind(sequence, before);
      return done;
    }
    tokens_[sequence].insert(tokens_[sequence].end(), ids.begin() + static_cast<std::ptrdiff_t>(begin),
                             ids.begin() + static_cast<std::ptrdiff_t>(begin + n));
    for (std::size_t i = 0; i < n; ++i) visit(begin + i, {logits.as<float>() + i * width, width});
  }
  return {};
}

Result<void> Session::rewind(std::size_t n, std::size_t sequence) {
  if (sequence >= tokens_.size())
    return fail(Code::OutOfRange, "sequence {} is rewound, the session holds {}", sequence, tokens_.size());
  if (n > tokens_[sequence].size())
    return fail(Code::OutOfRange, "cannot rewind to {} tokens, the sequence has {}", n, tokens_[sequence].size());
  if (n == tokens_[sequence].size()) return {};
  if (!states_.continues_at(sequence, n))
    return fail(Code::OutOfRange, "cannot rewind to {} tokens: the sliding window has moved on", n);
  return truncate(n, sequence);
}

Result<void> Session::truncate(std::size_t n, std::size_t sequence) {
  if (sequence >= tokens_.size() || n > tokens_[sequence].size()) return rewind(n, sequence);  // which says why not
  forget_after(n, sequence);
  states_.rewind(sequence, n);
  return {};
}

void Session::forget_after(std::size_t n, std::size_t sequence) {
  if (ahead_run_.sequence == sequence) drop_run();
  ahead_[sequence].ids.clear();
  tokens_[sequence].resize(n);
  ++revisions_[sequence];
}

Result<void> Session::share(std::size_t from, std::size_t n, std::size_t to) {
  if (from >= tokens_.size() || to >= tokens_.size() || n > tokens_[from].size())
    return fail(Code::OutOfRange, "share {} tokens of sequence {} with {}: the session holds {} sequences", n, from, to,
                tokens_.size());
  if (from == to) return truncate(n, to);
  LOOM_TRY_VOID(with_host_fallback([&]() -> Result<void> {
    if (!states_.can_share(from, n, to))
      return fail(Code::Unsupported, "cannot share {} tokens of sequence {}: its first positions are no longer held", n,
                  from);
    LOOM_TRY_VOID(clear(to));
    return states_.share(from, n, to);
  }));
  tokens_[to].assign(tokens_[from].begin(), tokens_[from].begin() + static_cast<std::ptrdiff_t>(n));
  return {};
}

Result<void> Session::clear(std::size_t sequence, std::size_t n) {
  if (sequence >= tokens_.size() || n > tokens_[sequence].size()) return rewind(n, sequence);  // which says why not
  forget_after(n, sequence);
  states_.clear(sequence, n);
  return {};
}

Result<void> Session::fork(std::size_t from, std::size_t to) {
  if (from >= tokens_.size() || to >= tokens_.size())
    return fail(Code::OutOfRange, "fork {} to {}: the session holds {} sequences", from, to, tokens_.size());
  if (from == to) return {};
  LOOM_TRY(const std::vector<std::byte> saved, snapshot(from));
  return restore(saved, to);
}

}  // namespace loom

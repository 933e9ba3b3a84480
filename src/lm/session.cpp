#include "lm/session.h"

#include <algorithm>
#include <cstring>

#include "core/checked.h"
#include "core/fp_environment.h"
#include "ops/all.h"
#include "ops/gather/gather.h"

namespace loom {
namespace {

constexpr std::size_t kHeadRows = 16;  // logits are computed for this many rows at a time: a vocabulary is wide

bool same(const RopeConfig& a, const RopeConfig& b) {
  return a.dim == b.dim && a.theta == b.theta && a.interleaved == b.interleaved && a.scaling == b.scaling && a.factor == b.factor &&
         a.low_freq_factor == b.low_freq_factor && a.high_freq_factor == b.high_freq_factor && a.original_max_positions == b.original_max_positions &&
         a.beta_fast == b.beta_fast && a.beta_slow == b.beta_slow && a.attention_factor == b.attention_factor && a.divisors == b.divisors;
}

}  // namespace

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const DecoderModel> model, const SessionOptions& options) {
  const FpEnvironment environment;
  std::unique_ptr<Session> s(new Session);
  s->model_ = std::move(model);
  const auto trained = static_cast<std::size_t>(s->model_->config.max_position_embeddings);
  s->context_tokens_ = options.context_tokens != 0 ? options.context_tokens : std::min(trained, kDefaultContext);
  if (s->context_tokens_ > (std::size_t{1} << 24))
    return fail(Code::InvalidArgument, "a context of {} tokens is beyond the limit of 2^24", s->context_tokens_);
  if (options.sequences < 1 || options.sequences > 4096)
    return fail(Code::InvalidArgument, "{} sequences asked for, 1 to 4096 are possible", options.sequences);
  s->chunk_rows_ = std::max(std::min(options.chunk_rows, s->context_tokens_), options.sequences);
  LOOM_TRY(s->pool_, ThreadPool::create(options.threads > 0 ? options.threads : ThreadPool::default_threads()));
  s->activations_ = options.activations;
  s->isa_ = options.isa.value_or(best_isa());
  LOOM_TRY(s->kernels_, kernels_for(s->isa_));
  LOOM_TRY_VOID(s->create_states(options.sequences));
  LOOM_TRY_VOID(s->rehearse(options.sequences));
  return s;
}

// Rope tables, of which layers share the equal ones; caches; what else lasts from call to call.
Result<void> Session::create_states(std::size_t sequences) {
  const Network& net = model_->network;
  slots_ = net.state_needs().size();
  std::vector<std::size_t> rope_index(slots_);
  std::vector<const RopeConfig*> distinct;
  for (std::size_t i = 0; i < slots_; ++i) {
    const StateNeeds& need = net.state_needs()[i];
    std::size_t found = 0;
    while (found < distinct.size() && !same(*distinct[found], need.rope)) ++found;
    rope_index[i] = found;
    if (found < distinct.size()) continue;
    distinct.push_back(&need.rope);
    LOOM_TRY(RopeTable table, RopeTable::create(need.rope, context_tokens_));
    ropes_.push_back(std::move(table));
  }
  for (const std::size_t i : rope_index) rope_of_slot_.push_back(&ropes_[i]);
  for (const StateNeeds& need : net.state_needs())
    for (std::size_t sequence = 0; sequence < sequences; ++sequence) {
      LOOM_TRY(KvCache cache, KvCache::create({need.attention.kv_heads, need.attention.head_dim, context_tokens_, need.attention.window, chunk_rows_}));
      caches_.push_back(std::move(cache));
    }
  held_from_.assign(caches_.size(), 0);
  tokens_.resize(sequences), written_.assign(sequences, 0);
  for (auto& t : tokens_) t.reserve(context_tokens_);

  LOOM_TRY(const std::size_t logits, checked_product({sequences, net.shape_after(net.num_cells() - 1).cols(), sizeof(float)}));
  LOOM_TRY(logits_, Buffer::create(logits));
  caches_of_call_.reserve(slots_ * sequences);
  positions_.reserve(chunk_rows_);
  runs_.reserve(sequences);
  ids_.reserve(chunk_rows_);
  want_.reserve(chunk_rows_);
  return {};
}

// The largest sweep: as many rows as fit, at the end of the context, all of their logits asked for.
Result<void> Session::rehearse(std::size_t sequences) {
  arena_ = Arena::measuring();
  ids_.assign(chunk_rows_, 0);
  for (std::size_t i = 0; i < std::min(kHeadRows, chunk_rows_); ++i) want_.push_back(i);
  for (std::size_t sequence = 0; sequence < sequences; ++sequence) {
    const std::size_t count = sequence == 0 ? chunk_rows_ - (sequences - 1) : 1;
    runs_.push_back({chunk_rows_ - count, count, context_tokens_ - count, sequence});
  }
  const auto rehearsed = sweep(runs_, ids_, want_, nullptr);
  if (!rehearsed) return tl::make_unexpected(rehearsed.error());
  LOOM_TRY(arena_, Arena::create(arena_.peak()));
  ids_.clear(), want_.clear(), runs_.clear();
  return {};
}

Result<void> Session::check(std::span<const Feed> feeds) const {
  const auto vocab = static_cast<std::int32_t>(model_->config.vocab_size);
  if (feeds.empty()) return fail(Code::InvalidArgument, "no sequence to feed");
  if (feeds.size() > tokens_.size())
    return fail(Code::InvalidArgument, "{} feeds given, the session holds {} sequences", feeds.size(), tokens_.size());
  for (std::size_t f = 0; f < feeds.size(); ++f) {
    const Feed& feed = feeds[f];
    if (feed.sequence >= tokens_.size()) return fail(Code::OutOfRange, "sequence {} is fed, the session holds {}", feed.sequence, tokens_.size());
    for (std::size_t other = 0; other < f; ++other)
      if (feeds[other].sequence == feed.sequence) return fail(Code::InvalidArgument, "sequence {} is fed twice in one call", feed.sequence);
    if (feed.ids.empty()) return fail(Code::InvalidArgument, "no token to feed: the prompt is empty");
    const std::size_t length = tokens_[feed.sequence].size();
    if (feed.ids.size() > context_tokens_ - length && length == 0)
      return fail(Code::ContextFull, "{} tokens do not fit into a context of {} tokens", feed.ids.size(), context_tokens_);
    if (feed.ids.size() > context_tokens_ - length)
      return fail(Code::ContextFull, "{} tokens do not fit behind {} in a context of {} tokens", feed.ids.size(), length, context_tokens_);
    for (const std::int32_t id : feed.ids)
      if (id < 0 || id >= vocab) return fail(Code::IndexOutOfRange, "token id {} is outside the vocabulary of {}", id, vocab);
  }
  return {};
}

Result<void> Session::sweep(std::span<const SequenceRows> runs, std::span<const std::int32_t> ids, std::span<const std::size_t> want, float* logits) {
  const FpEnvironment environment;
  const Network& net = model_->network;
  arena_.clear();
  positions_.clear();
  caches_of_call_.clear();
  std::size_t last = 0;
  for (const SequenceRows& run : runs) {
    for (std::size_t i = 0; i < run.count; ++i) positions_.push_back(static_cast<std::uint32_t>(run.position + i));
    last = std::max(last, run.position + run.count);
  }
  for (std::size_t slot = 0; slot < slots_; ++slot)
    for (const SequenceRows& run : runs) {
      caches_of_call_.push_back(&cache(slot, run.sequence));
      if (arena_.measures()) continue;
      written_[run.sequence] = std::max(written_[run.sequence], run.position + run.count);
      std::size_t& held = held_from(slot, run.sequence);
      held = std::max(held, cache(slot, run.sequence).first_held(run.position + run.count));
    }
  if (!arena_.measures())
    for (RopeTable& rope : ropes_) rope.fill(last);

  const Exec exec{*pool_, *kernels_, arena_, &cancel_, activations_};
  Run run(exec);
  run.inputs.ids = ids, run.inputs.sequences = runs, run.inputs.positions = positions_;
  run.states.rope_tables = rope_of_slot_, run.states.caches = caches_of_call_;
  const std::size_t blocks_end = model_->blocks_end();
  const ConstTensor hidden = net.forward(run, {nullptr, Shape::of({ids.size()})}, 0, blocks_end);
  if (exec.status) return tl::make_unexpected(*exec.status);
  if (want.empty()) return {};
  for (std::size_t begin = 0; begin < want.size(); begin += kHeadRows) {
    const ArenaScope scope(arena_);
    const std::size_t rows = std::min(kHeadRows, want.size() - begin);
    const Tensor wanted = arena_.tensor(rows, hidden.cols);
    const std::span<std::int32_t> wanted_rows(arena_.note<std::int32_t>(rows), rows);
    for (std::size_t i = 0; i < rows && !exec.rehearsal(); ++i) wanted_rows[i] = static_cast<std::int32_t>(want[begin + i]);
    take_rows(exec, hidden, wanted_rows, wanted);
    const ConstTensor out = net.forward(run, {wanted.data, Shape::of({rows, hidden.cols})}, blocks_end, net.num_cells());
    if (exec.status) return tl::make_unexpected(*exec.status);
    exec.run(1, [&](std::size_t) { std::memcpy(logits + begin * out.cols, out.data, rows * out.cols * sizeof(float)); });
  }
  return {};
}

std::size_t Session::first_needed(std::size_t slot, std::size_t n) const {
  const std::size_t window = model_->network.state_needs()[slot].attention.window;
  return window != 0 && n > window ? n - window : 0;
}

Result<void> Session::refill(std::size_t sequence) {
  const std::span<const std::int32_t> ids = tokens_[sequence];
  bool lacking = false;
  for (std::size_t slot = 0; slot < slots_; ++slot) lacking = lacking || held_from(slot, sequence) > first_needed(slot, ids.size());
  if (!lacking) return {};
  for (std::size_t slot = 0; slot < slots_; ++slot) held_from(slot, sequence) = 0;
  for (std::size_t begin = 0; begin < ids.size(); begin += chunk_rows_) {
    const SequenceRows run{0, std::min(chunk_rows_, ids.size() - begin), begin, sequence};
    if (auto swept = sweep(std::span(&run, 1), ids.subspan(begin, run.count), {}, nullptr); !swept) {
      for (std::size_t slot = 0; slot < slots_; ++slot) held_from(slot, sequence) = ids.size() + 1;
      return swept;
    }
  }
  return {};
}

Result<ConstTensor> Session::feed(std::span<const Feed> feeds) {
  LOOM_TRY_VOID(check(feeds));
  for (const Feed& feed : feeds) {
    LOOM_TRY_VOID(refill(feed.sequence));
  }
  const std::size_t vocab = model_->network.shape_after(model_->network.num_cells() - 1).cols();
  // Long feeds go first, chunk by chunk and alone; what is left of all feeds shares one sweep.
  const std::size_t share = std::max<std::size_t>(1, chunk_rows_ / feeds.size());
  Result<void> status;
  for (const Feed& feed : feeds) {
    for (std::size_t rest = feed.ids.size(), begin = 0; status && rest > share;) {
      const std::size_t n = std::min(rest - 1, chunk_rows_);
      const SequenceRows run{0, n, tokens_[feed.sequence].size() + begin, feed.sequence};
      status = sweep(std::span(&run, 1), feed.ids.subspan(begin, n), {}, nullptr);
      begin += n, rest -= n;
    }
  }
  runs_.clear(), ids_.clear(), want_.clear();
  for (const Feed& feed : feeds) {
    std::size_t rest = feed.ids.size();
    while (rest > share) rest -= std::min(rest - 1, chunk_rows_);
    runs_.push_back({ids_.size(), rest, tokens_[feed.sequence].size() + feed.ids.size() - rest, feed.sequence});
    ids_.insert(ids_.end(), feed.ids.end() - static_cast<std::ptrdiff_t>(rest), feed.ids.end());
    want_.push_back(ids_.size() - 1);
  }
  if (status) status = sweep(runs_, ids_, want_, logits_.as<float>());
  if (!status) {
    for (const Feed& feed : feeds) forget_behind(feed.sequence, tokens_[feed.sequence].size());
    return tl::make_unexpected(std::move(status).error());
  }
  for (const Feed& feed : feeds) tokens_[feed.sequence].insert(tokens_[feed.sequence].end(), feed.ids.begin(), feed.ids.end());
  return ConstTensor{logits_.as<float>(), feeds.size(), vocab};
}

Result<std::span<const float>> Session::feed(std::span<const std::int32_t> ids, std::size_t sequence) {
  const Feed one{sequence, ids};
  LOOM_TRY(const ConstTensor logits, feed(std::span(&one, 1)));
  return std::span<const float>(logits.as(), logits.cols);
}

Result<void> Session::feed_all(std::span<const std::int32_t> ids, const std::function<void(std::size_t, std::span<const float>)>& visit,
                               std::size_t sequence) {
  const Feed one{sequence, ids};
  LOOM_TRY_VOID(check(std::span(&one, 1)));
  LOOM_TRY_VOID(refill(sequence));
  const std::size_t before = tokens_[sequence].size();
  const std::size_t vocab = model_->network.shape_after(model_->network.num_cells() - 1).cols();
  LOOM_TRY(Buffer logits, Buffer::create(std::min(chunk_rows_, ids.size()) * vocab * sizeof(float)));
  for (std::size_t begin = 0; begin < ids.size(); begin += chunk_rows_) {
    const std::size_t n = std::min(chunk_rows_, ids.size() - begin);
    const SequenceRows run{0, n, tokens_[sequence].size(), sequence};
    want_.clear();
    for (std::size_t i = 0; i < n; ++i) want_.push_back(i);
    if (auto swept = sweep(std::span(&run, 1), ids.subspan(begin, n), want_, logits.as<float>()); !swept) {
      tokens_[sequence].resize(before);
      forget_behind(sequence, before);
      return swept;
    }
    tokens_[sequence].insert(tokens_[sequence].end(), ids.begin() + static_cast<std::ptrdiff_t>(begin),
                             ids.begin() + static_cast<std::ptrdiff_t>(begin + n));
    for (std::size_t i = 0; i < n; ++i) visit(begin + i, {logits.as<float>() + i * vocab, vocab});
  }
  return {};
}

// Zeros for what was written behind position n: attention multiplies whole blocks, in which 0 x NaN would show.
void Session::forget_behind(std::size_t sequence, std::size_t n) {
  for (std::size_t slot = 0; slot < slots_; ++slot) cache(slot, sequence).forget(n, written_[sequence]);
  written_[sequence] = std::min(written_[sequence], n);
}

Result<void> Session::rewind(std::size_t n, std::size_t sequence) {
  if (sequence >= tokens_.size()) return fail(Code::OutOfRange, "sequence {} is rewound, the session holds {}", sequence, tokens_.size());
  if (n > tokens_[sequence].size()) return fail(Code::OutOfRange, "cannot rewind to {} tokens, the sequence has {}", n, tokens_[sequence].size());
  if (n == tokens_[sequence].size()) return {};
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    if (n == 0) held_from(slot, sequence) = 0;
    if (held_from(slot, sequence) > first_needed(slot, n))
      return fail(Code::OutOfRange, "cannot rewind to {} tokens: the sliding window has moved on", n);
  }
  forget_behind(sequence, n);
  tokens_[sequence].resize(n);
  return {};
}

Result<void> Session::fork(std::size_t from, std::size_t to) {
  if (from >= tokens_.size() || to >= tokens_.size())
    return fail(Code::OutOfRange, "fork {} to {}: the session holds {} sequences", from, to, tokens_.size());
  if (from == to) return {};
  return restore(snapshot(from), to);
}

}  // namespace loom

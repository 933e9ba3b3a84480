#include "network/session/state_store.h"

#include <algorithm>

#include "core/checked.h"
#include "layers/metacognition/metacognition.h"
#include "ops/elementwise/elementwise.h"

namespace loom {
namespace {

constexpr std::size_t kMostWatchedStates = std::size_t{1} << 14;  // each remembers a hundred calls: 90 MB in all

}  // namespace

std::vector<MetaState> metas_of(std::span<const StateNeeds> needs, std::span<const MetaState> before) {
  const bool watches = std::ranges::any_of(needs, &StateNeeds::meta);
  std::vector<MetaState> metas(watches ? needs.size() : 0);
  for (const StateNeeds& need : needs) {
    if (!need.meta) continue;
    // uses of one layer
    std::ptrdiff_t earlier =
        std::ranges::count_if(metas, [&](const MetaState& m) { return m.planned && m.site == need.site; });
    const auto kept = std::ranges::find_if(
        before, [&](const MetaState& m) { return m.planned && m.site == need.site && earlier-- == 0; });
    if (kept != before.end()) metas[need.slot] = *kept;
    metas[need.slot].site = need.site, metas[need.slot].planned = true;
  }
  return metas;
}

Result<void> StateStore::plan(std::span<const StateNeeds> needs, Element element, const StateOptions& options) {
  needs_.assign(needs.begin(), needs.end());
  element_ = element, options_ = options;
  const std::size_t slots = needs_.size();
  recurrent_.assign(slots, {}), recurrent_memory_.clear(), recurrent_memory_.resize(slots), recurrent_slots_.clear();
  kept_.clear(), kept_.resize(slots);
  for (const StateNeeds& need : needs_)
    if (need.recurrent) recurrent_slots_.push_back(need.slot);
  LOOM_TRY_VOID(plan_metas());
  ropes_.clear(), attention_.clear();
  pieces_ = std::make_unique<PiecePool>();
  return has_caches() ? plan_attention() : Result<void>();
}

Result<void> StateStore::plan_metas() {
  const std::size_t slots = needs_.size();
  if (slots > kMostWatchedStates && std::ranges::any_of(needs_, &StateNeeds::meta))
    return fail(Code::LimitExceeded, "{} session states beside metacognition layers, at most {} are kept", slots,
                kMostWatchedStates);
  metas_ = metas_of(needs_, metas_);
  return {};
}

// Caches where calls name their sequences, and rotary tables, of which layers share the equal ones.
Result<void> StateStore::plan_attention() {
  attention_.resize(needs_.size());
  std::vector<const RopeConfig*> distinct;
  std::vector<std::size_t> table(needs_.size());
  for (const StateNeeds& need : needs_) {
    const AttentionConfig& attention = need.attention;
    if (attention.heads == 0) continue;
    if (element_ != Element::f32)
      return fail(Code::Unsupported, "caches of attention are those of networks that compute in float32");
    if (!attention.causal) return fail(Code::Unsupported, "mha: only causal attention reads a cache");
    AttentionState& state = attention_[need.slot];
    state.limit = need.max_positions == 0 || options_.sequences != 0 ? options_.context
                                                                     : std::min(options_.context, need.max_positions);
    if (options_.sequences != 0) LOOM_TRY_VOID(create_caches(need.slot, options_.sequences));
    if (!need.uses_rope) continue;
    const auto found = std::ranges::find_if(distinct, [&](const RopeConfig* rope) { return *rope == need.rope; });
    table[need.slot] = static_cast<std::size_t>(found - distinct.begin());
    if (found != distinct.end()) continue;
    distinct.push_back(&need.rope);
    LOOM_TRY(RopeTable rope, RopeTable::create(need.rope, options_.context, options_.device));
    ropes_.push_back(std::move(rope));
  }
  std::size_t pieces = 0;
  for (const AttentionState& state : attention_)
    for (const KvCache& cache : state.caches) pieces += cache.slots();
  pieces_->reserve(pieces);
  for (const StateNeeds& need : needs_)
    if (need.attention.heads != 0 && need.uses_rope) attention_[need.slot].rope = &ropes_[table[need.slot]];
  return {};
}

Result<void> StateStore::create_caches(std::size_t slot, std::size_t sequences) {
  const auto need = std::ranges::find(needs_, slot, &StateNeeds::slot);
  AttentionState& state = attention_[slot];
  state.caches.clear();
  state.length = 0;
  for (std::size_t s = 0; s < sequences; ++s) {
    LOOM_TRY(KvCache cache, KvCache::create({need->attention.kv_heads, need->attention.head_dim, options_.context,
                                             need->attention.window, options_.max_chunk, options_.kv_dtype,
                                             options_.device, options_.sequences != 0 ? pieces_.get() : nullptr}));
    state.caches.push_back(std::move(cache));
  }
  return {};
}

Result<void> StateStore::allocate() {
  for (const std::size_t slot : recurrent_slots_) {
    RecurrentState& state = recurrent_[slot];
    if (!state.planned || state.h != nullptr) continue;
    const std::size_t bytes = round_up(state.shape.elements() * bytes_of(element_), Buffer::kAlignment);
    LOOM_TRY(recurrent_memory_[slot], Memory::create(options_.device, state.has_cell ? 2 * bytes : bytes));
    state.h = recurrent_memory_[slot].data();
    state.c = state.has_cell ? recurrent_memory_[slot].data() + bytes : nullptr;
  }
  if (options_.sequences != 0) return {};
  bool anew = false;  // other samples are other sequences
  for (std::size_t slot = 0; slot < attention_.size(); ++slot) {
    if (attention_[slot].caches.size() == attention_[slot].samples) continue;
    anew = true;
    LOOM_TRY_VOID(create_caches(slot, attention_[slot].samples));
  }
  if (anew) restart();
  return {};
}

Result<void> StateStore::begin(std::size_t reached) {
  for (const AttentionState& state : attention_) {
    if (options_.sequences != 0 || state.caches.empty()) continue;
    const std::size_t steps = state.rehearsed.count;
    if (steps > state.limit - state.length)
      return fail(Code::ContextFull, "{} positions do not fit after {} in a context of {}", steps, state.length,
                  state.limit);
    reached = std::max(reached, state.length + steps);
  }
  for (RopeTable& rope : ropes_) rope.fill(reached);
  return {};
}

bool StateStore::end(bool succeeded) {
  if (succeeded)
    hear(metas_);
  else
    for (MetaState& meta : metas_) meta.layer = nullptr;  // the call counts for nothing
  for (RecurrentState& state : recurrent_) state.continues = state.stateful || has_caches();
  if (options_.sequences != 0) return true;
  if (succeeded) {
    for (AttentionState& state : attention_)
      if (!state.caches.empty()) state.length += state.rehearsed.count;
    return true;
  }
  bool back = !is_stateful() || recurrent_slots_.empty();
  for (AttentionState& state : attention_)
    for (KvCache& cache : state.caches) {
      cache.rewind(state.length);
      back = back && cache.continues_at(state.length);
    }
  if (!back) reset();
  return back;
}

void StateStore::restart() {
  for (const std::size_t slot : recurrent_slots_) {
    recurrent_[slot].continues = false;
    recurrent_memory_[slot].clear();
  }
  for (AttentionState& state : attention_) {
    state.length = 0;
    for (KvCache& cache : state.caches) cache.rewind(0);
  }
}

void StateStore::reset() {
  restart();
  for (MetaState& meta : metas_) {
    MetaState fresh;
    fresh.site = meta.site, fresh.planned = meta.planned;
    meta = fresh;
  }
}

std::size_t StateStore::length() const {
  for (const AttentionState& state : attention_)
    if (!state.caches.empty()) return state.length;
  return 0;
}

Result<void> StateStore::rewind(std::size_t n) {
  if (n == length()) return {};
  if (n > length()) return fail(Code::OutOfRange, "cannot rewind to {} positions, the sequence has {}", n, length());
  if (n != 0 && !recurrent_slots_.empty())
    return fail(Code::Unsupported, "cannot rewind: the states of recurrent layers have gone on");
  for (const AttentionState& state : attention_)
    for (const KvCache& cache : state.caches) {
      if (state.length != length())
        return fail(Code::Unsupported, "cannot rewind: layers have taken different numbers of positions");
      if (!cache.continues_at(n))
        return fail(Code::OutOfRange, "cannot rewind to {} positions: the sliding window has moved on", n);
    }
  for (AttentionState& state : attention_) {
    if (state.caches.empty()) continue;
    state.length = n;
    for (KvCache& cache : state.caches) cache.rewind(n);
  }
  return {};
}

bool StateStore::is_stateful() const { return has_caches() || std::ranges::any_of(needs_, &StateNeeds::stateful); }

void StateStore::continue_recurrent() {
  for (const std::size_t slot : recurrent_slots_) recurrent_[slot].continues = recurrent_[slot].h != nullptr;
}

bool StateStore::has_recurrent_alone() const {
  return !has_caches() && !recurrent_slots_.empty() && std::ranges::none_of(metas_, &MetaState::planned);
}

namespace {

Tensor words_of(const Memory& memory) { return {memory.data(), 1, memory.size() / sizeof(float), Element::f32}; }

}  // namespace

Result<void> StateStore::keep(const Exec& exec) {
  for (const std::size_t slot : recurrent_slots_) {
    const Memory& from = recurrent_memory_[slot];
    const std::size_t bytes = carries(recurrent_[slot]) ? from.size() : 0;
    if (kept_[slot].size() != bytes) {
      LOOM_TRY(kept_[slot], Memory::create(options_.device, bytes));
    }
    if (bytes != 0) copy(exec, words_of(from), words_of(kept_[slot]));
  }
  return {};
}

void StateStore::put_back(const Exec& exec) {
  for (const std::size_t slot : recurrent_slots_) {
    const Memory& kept = kept_[slot];
    if (kept.size() == 0) continue;
    LOOM_ASSERT(kept.size() == recurrent_memory_[slot].size());
    copy(exec, words_of(kept), words_of(recurrent_memory_[slot]));
    recurrent_[slot].continues = true;
  }
}

void StateStore::set_recurrent(std::size_t index, std::span<const std::byte> h, std::span<const std::byte> c) {
  RecurrentState& state = recurrent_[recurrent_slots_[index]];
  Memory& memory = recurrent_memory_[recurrent_slots_[index]];
  const std::vector<std::byte> zeros(h.size());
  memory.write(0, h);
  if (state.has_cell)
    memory.write(static_cast<std::size_t>(static_cast<std::byte*>(state.c) - memory.data()), c.empty() ? zeros : c);
  state.continues = true;
}

std::size_t StateStore::position_bytes() const {
  std::size_t bytes = 0;
  for (const AttentionState& state : attention_)
    if (!state.caches.empty()) bytes += state.caches[0].position_bytes();
  return bytes;
}

bool StateStore::continues_at(std::size_t sequence, std::size_t n) const {
  return std::ranges::all_of(attention_, [&](const AttentionState& state) {
    return state.caches.empty() || state.caches[sequence].continues_at(n);
  });
}

bool StateStore::keeps_all(std::size_t sequence, std::size_t n) const {
  return std::ranges::all_of(attention_, [&](const AttentionState& state) {
    return state.caches.empty() || state.caches[sequence].first_held(n) <= state.caches[sequence].held_from();
  });
}

void StateStore::rewind(std::size_t sequence, std::size_t n) {
  for (AttentionState& state : attention_)
    if (!state.caches.empty()) state.caches[sequence].rewind(n);
}

bool StateStore::can_share(std::size_t from, std::size_t n, std::size_t to) const {
  return std::ranges::all_of(attention_, [&](const AttentionState& state) {
    return state.caches.empty() || state.caches[to].can_share(state.caches[from], n);
  });
}

Result<void> StateStore::share(std::size_t from, std::size_t n, std::size_t to) {
  for (AttentionState& state : attention_) {
    if (state.caches.empty()) continue;
    if (auto shared = state.caches[to].share(state.caches[from], n); !shared) {
      clear(to);
      return shared;
    }
  }
  return {};
}

void StateStore::clear(std::size_t sequence, std::size_t n) {
  for (AttentionState& state : attention_)
    if (!state.caches.empty()) state.caches[sequence].clear(n);
}

void StateStore::write_sequence(StateWriter& archive, std::size_t sequence, std::size_t n) {
  for (AttentionState& state : attention_) {
    if (state.caches.empty()) continue;
    const auto written = state.caches[sequence].visit(archive, n);
    LOOM_ASSERT(written);  // only reading takes memory
  }
}

// Into new caches, which take the place of the old ones once all has been read.
Result<void> StateStore::read_sequence(StateReader& archive, std::size_t sequence, std::size_t n) {
  std::vector<KvCache> read;
  for (const AttentionState& state : attention_) {
    if (state.caches.empty()) continue;
    LOOM_TRY(KvCache cache, KvCache::create(state.caches[sequence].config()));
    LOOM_TRY_VOID(cache.visit(archive, n));
    read.push_back(std::move(cache));
  }
  if (!archive.done()) return fail(Code::CorruptData, "the saved sequence does not fit the model");
  std::size_t next = 0;
  for (AttentionState& state : attention_)
    if (!state.caches.empty()) state.caches[sequence] = std::move(read[next++]);
  return {};
}

}  // namespace loom

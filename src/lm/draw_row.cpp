#include "lm/draw_row.h"

#include <algorithm>

namespace loom {
namespace {

bool takes_best(const SamplingOptions& o) { return o.temperature == 0 || o.top_k == 1; }

bool penalises(const SamplingOptions& o) {
  return o.repetition_window != 0 && (o.repetition_penalty != 1 || o.frequency_penalty != 0 || o.presence_penalty != 0);
}

std::size_t window_of(const SamplingOptions& o, std::size_t tokens) {
  if (!penalises(o)) return 0;
  return o.repetition_window < 0 ? tokens : std::min(static_cast<std::size_t>(o.repetition_window), tokens);
}

}  // namespace

bool DrawRow::takes(const SamplingOptions& o, std::size_t context_tokens) {
  return (takes_best(o) || (static_cast<std::size_t>(o.top_k) <= kMostDrawn && o.typical_p == 1)) &&
         o.banned.size() <= kMostOfEach && o.logit_bias.size() <= kMostOfEach &&
         window_of(o, context_tokens) <= kMostOfEach;
}

bool DrawRow::draws(const SamplingOptions& o) {
  constexpr std::size_t kFewBans = 64;  // which a card looks through for each logit that is greater than those before
  return !takes_best(o) || penalises(o) || !o.logit_bias.empty() || o.banned.size() > kFewBans;
}

void DrawRow::set(const SamplingOptions& o, std::uint32_t session, std::span<const std::int32_t> tokens,
                  std::span<const std::int32_t> fed, std::span<const std::uint32_t> unread) {
  const std::size_t position = tokens.size() + fed.size() + unread.size();
  drawing_ = {};
  if (!takes_best(o)) {
    drawing_.temperature = o.temperature, drawing_.top_k = static_cast<std::uint32_t>(o.top_k);
    drawing_.top_p = o.top_p, drawing_.min_p = o.min_p;
  }
  drawing_.repetition_penalty = o.repetition_penalty, drawing_.frequency_penalty = o.frequency_penalty;
  drawing_.presence_penalty = o.presence_penalty;
  drawing_.seed = o.seed, drawing_.position = static_cast<std::uint32_t>(position), drawing_.session = session;

  const std::size_t window = window_of(o, position), recent = std::min(window, unread.size());
  unread_.assign(unread.end() - static_cast<std::ptrdiff_t>(recent), unread.end());
  drawing_.recent = unread_;
  count_window(window - recent, tokens, fed);
  bias_ = o.logit_bias;
  std::ranges::stable_sort(bias_, {}, &std::pair<std::int32_t, float>::first);
  biases_.clear();
  for (const auto& [id, bias] : bias_) {
    biases_.push_back(bias);
    changes_.push_back({.id = id});
  }
  for (const std::int32_t id : o.banned) changes_.push_back({.id = id, .is_banned = true});

  // One change of each id.
  std::ranges::sort(changes_, {}, &LogitChange::id);
  std::size_t kept = 0, bias = 0;
  for (const LogitChange one : changes_) {  // a copy: its place may be taken
    if (kept == 0 || changes_[kept - 1].id != one.id) changes_[kept++] = {.id = one.id};
    changes_[kept - 1].count += one.count;
    changes_[kept - 1].is_banned = changes_[kept - 1].is_banned || one.is_banned;
  }
  changes_.resize(kept);
  for (LogitChange& change : changes_) {
    const std::size_t first = bias;
    while (bias < bias_.size() && bias_[bias].first == change.id) ++bias;
    change.biases = std::span(biases_).subspan(first, bias - first);
  }
  drawing_.changes = changes_;
}

// The last so many tokens, each id once.
void DrawRow::count_window(std::size_t window, std::span<const std::int32_t> tokens,
                           std::span<const std::int32_t> fed) {
  const auto of_fed = fed.last(std::min(window, fed.size()));
  const auto of_tokens = tokens.last(window - of_fed.size());
  window_.assign(of_tokens.begin(), of_tokens.end());
  window_.insert(window_.end(), of_fed.begin(), of_fed.end());
  std::ranges::sort(window_);
  changes_.clear();
  for (const std::int32_t id : window_) {
    if (changes_.empty() || changes_.back().id != id) changes_.push_back({.id = id});
    ++changes_.back().count;
  }
}

}  // namespace loom

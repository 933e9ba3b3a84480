#include "lm/speculation.h"

#include <algorithm>

#include "core/nearest.h"
#include "lm/kv_file.h"
#include "lm/sampling.h"

namespace loom {
namespace {

// A row more in a pass, in passes of one row: measured with weights of 4 bits on one thread
// (docs/benchmarks/speculation.md), where rows beyond the second are bound by arithmetic. Wider weights and more
// threads make them cheaper.
constexpr double kFirstRow = 0.25, kNextRow = 0.45;
// The cost of drafts that may exceed their saving: at the beginning, and for each token.
constexpr double kCredit = 0.5, kCreditPerToken = 0.02;
// How often n-gram drafts came true in answers about code and texts, by their evidence, and how many drafts of one's
// own weigh as much as that.
constexpr double kExpected[Drafter::kMostEvidence + 1] = {0, 0.2, 0.45, 0.5, 0.55, 0.75, 0.8, 0.85, 0.92};
constexpr double kPriorWeight = 4;

std::uint64_t hash_of(std::span<const std::int32_t> ids) {
  std::uint64_t hash = 0;
  for (const std::int32_t id : ids) hash = (hash ^ static_cast<std::uint32_t>(id)) * 0x9e3779b97f4a7c15u;
  return hash;
}

Result<void> check_same_tokens(const LanguageModel& draft, const LanguageModel& model) {
  LOOM_TRY(const text::Tokenizer* const ours, model.need_tokenizer());
  LOOM_TRY(const text::Tokenizer* const theirs, draft.need_tokenizer());
  if (ours->vocab_size() != theirs->vocab_size())
    return fail(Code::InvalidArgument, "{} has {} tokens and {} has {}: a model drafts for one with the same tokens",
                draft.path, theirs->vocab_size(), model.path, ours->vocab_size());
  for (std::int32_t id = 0; static_cast<std::size_t>(id) < ours->vocab_size(); ++id)
    if (ours->token_text(id) != theirs->token_text(id))
      return fail(Code::InvalidArgument,
                  "token {} is \"{}\" in {} and \"{}\" in {}: a model drafts for one with the same tokens", id,
                  printable(theirs->token_text(id)), draft.path, printable(ours->token_text(id)), model.path);
  return {};
}

}  // namespace

Result<void> NgramDrafter::read(std::span<const std::int32_t> ids, const std::atomic<bool>*) {
  if (ids_.size() > ids.size() || !std::equal(ids_.begin(), ids_.end(), ids.begin())) {
    ids_.clear();
    for (auto& places : places_) places.clear();
  }
  for (const std::int32_t id : ids.subspan(ids_.size())) append(id);
  return {};
}

void NgramDrafter::append(std::int32_t id) {
  for (std::size_t n = kLeast; n <= kMost && n <= ids_.size(); ++n)
    places_[n - kLeast][hash_of(std::span(ids_).last(n))] = ids_.size();
  ids_.push_back(id);
  find();
}

bool NgramDrafter::agree(std::size_t end, std::size_t count) const {
  return std::equal(ids_.end() - static_cast<std::ptrdiff_t>(count), ids_.end(),
                    ids_.begin() + static_cast<std::ptrdiff_t>(end - count));
}

void NgramDrafter::find() {
  evidence_ = 0;
  for (std::size_t n = std::min(kMost, ids_.size()); n >= kLeast && evidence_ == 0; --n) {
    const auto& places = places_[n - kLeast];
    const auto found = places.find(hash_of(std::span(ids_).last(n)));
    if (found == places.end() || !agree(found->second, n)) continue;
    source_ = found->second, evidence_ = n;
  }
  while (evidence_ != 0 && evidence_ < kMostEvidence && evidence_ < source_ && agree(source_, evidence_ + 1))
    ++evidence_;
}

// A repeated text goes on to repeat: the copy runs into its own beginning.
Result<std::span<const std::int32_t>> NgramDrafter::propose(std::size_t most, const std::atomic<bool>*) {
  drafts_.clear();
  for (std::size_t at = source_; drafts_.size() < most; ++at)
    drafts_.push_back(at < ids_.size() ? ids_[at] : drafts_[at - ids_.size()]);
  return drafts_;
}

Result<std::shared_ptr<ModelDrafter>> ModelDrafter::create(const LanguageModel& draft, const LanguageModel& model,
                                                           const Session& session) {
  LOOM_TRY_VOID(check_same_tokens(draft, model));
  std::shared_ptr<ModelDrafter> out(new ModelDrafter);
  SessionOptions options;
  options.isa = session.isa(), options.pool = session.pool();
  options.activations = session.activations(), options.context_tokens = session.context_tokens();
  options.kv_dtype = session.kv_dtype();
  LOOM_TRY(out->session_, Session::create(draft.decoder, options));
  out->vocab_ = static_cast<std::int32_t>(model.decoder->config.vocab_size);
  out->cost_ = static_cast<double>(draft.decoder->network.resident_bytes()) /
               static_cast<double>(model.decoder->network.resident_bytes());
  return out;
}

// The smaller model reads when it first drafts: often it never does.
Result<void> ModelDrafter::read(std::span<const std::int32_t> ids, const std::atomic<bool>*) {
  ids_.assign(ids.begin(), ids.end());
  return {};
}

// A second evidence for each draft in a row, since later ones come true less often.
std::size_t ModelDrafter::evidence() const { return ids_.size() < session_->context_tokens() ? 5 : 0; }

Result<std::span<const std::int32_t>> ModelDrafter::propose(std::size_t most, const std::atomic<bool>* cancel) {
  drafts_.clear();
  LOOM_TRY_VOID(keep_common(*session_, ids_));
  std::span<const std::int32_t> unread = std::span(ids_).subspan(session_->length());
  while (drafts_.size() < most && session_->length() + unread.size() <= session_->context_tokens()) {
    LOOM_TRY(const std::span<const float> logits, session_->feed(unread, 0, cancel));
    const std::int32_t id = argmax(logits);
    if (id < 0 || id >= vocab_) break;  // NaN; beyond the other model's vocabulary, whose rows may end earlier
    drafts_.push_back(id);
    unread = std::span(drafts_).last(1);
  }
  return drafts_;
}

Speculation::Speculation(std::shared_ptr<Drafter> drafter) : drafter_(std::move(drafter)), balance_(kCredit) {
  for (std::size_t e = 0; e < records_.size(); ++e) records_[e] = {kExpected[e] * kPriorWeight, kPriorWeight};
}

double Speculation::cost_of(std::size_t draft) const { return (draft == 0 ? kFirstRow : kNextRow) + drafter_->cost(); }

// Drafts are added as long as the chance that all of them come true exceeds the cost of the next one.
std::size_t Speculation::worthwhile(std::size_t room) const {
  double chance = 1, cost = 0;
  std::size_t count = 0;
  for (; count < std::min(room, kMostDrafts); ++count) {
    const Record& record = records_[grown(evidence_, count)];
    chance *= record.accepted / record.tried;
    cost += cost_of(count);
    if (chance <= cost_of(count) || cost > balance_) break;
  }
  return count;
}

// Returns whether a draft has foreseen the id.
bool Speculation::settle(std::int32_t id) {
  balance_ += kCreditPerToken;
  if (next_ == drafts_.size()) return false;
  Record& record = records_[grown(evidence_, next_)];
  ++record.tried;
  if (drafts_[next_] != id) return false;
  ++record.accepted, ++balance_, ++counts_.accepted, ++next_;
  return true;
}

Result<std::span<const std::int32_t>> Speculation::behind(std::int32_t id, std::size_t room,
                                                          const std::atomic<bool>* cancel) {
  drafter_->append(id);
  if (settle(id)) return std::span<const std::int32_t>();
  drafts_.clear();
  next_ = 0;
  ++counts_.passes;
  evidence_ = drafter_->evidence();
  const std::size_t count = evidence_ != 0 ? worthwhile(room) : 0;
  if (count == 0) return std::span<const std::int32_t>();
  LOOM_TRY(const auto proposed, drafter_->propose(count, cancel));
  drafts_.assign(proposed.begin(), proposed.end());
  for (std::size_t i = 0; i < drafts_.size(); ++i) balance_ -= cost_of(i);
  counts_.drafted += drafts_.size();
  return drafts_;
}

}  // namespace loom

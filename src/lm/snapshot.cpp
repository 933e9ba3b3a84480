// A sequence as bytes: a frame of network/session/state_frame.h around the tokens and the caches, as the archives of
// network/session/state_archive.h write them.

#include <bit>

#include "layers/adapter.h"
#include "lm/session.h"
#include "network/session/state_frame.h"

namespace loom {
namespace {

template <class Archive>
void visit_tokens(Archive& archive, std::vector<std::int32_t>& tokens, std::size_t most, std::size_t vocab) {
  std::uint64_t count = tokens.size();
  archive.number(count, most);
  tokens.resize(static_cast<std::size_t>(count));
  for (std::int32_t& id : tokens) {
    std::uint64_t value = static_cast<std::uint32_t>(id);
    archive.number(value, vocab - 1);
    id = static_cast<std::int32_t>(value);
  }
}

}  // namespace

// Digest of everything that determines keys and values: settings and weights. All of the vectors and of the active
// adapters; of every matrix only its first rows, which tell models apart at a thousandth of the time of hashing all of
// it. It catches a wrong model by mistake and is no proof of equality.
Digest Session::model_digest() const {
  Sha256 hash;
  const auto number = [&](double v) {
    const auto bits = std::bit_cast<std::uint64_t>(v);
    hash.update_u32(static_cast<std::uint32_t>(bits)), hash.update_u32(static_cast<std::uint32_t>(bits >> 32));
  };
  const auto values = [&](const Weight& w) {
    std::vector<float> all(w.elements());
    w.decode(0, all.size(), all.data());
    hash.update_floats(all);
  };
  for (const StateNeeds& need : plan_->state_needs()) {
    const RopeConfig& r = need.rope;
    for (const std::size_t v :
         {need.attention.kv_heads, need.attention.head_dim, need.attention.window, r.dim, r.divisors.size()})
      hash.update_u32(static_cast<std::uint32_t>(v));
    hash.update_u32(static_cast<std::uint32_t>(r.scaling) * 2 + (r.interleaved ? 1 : 0));
    for (const double v : {r.theta, r.factor, r.low_freq_factor, r.high_freq_factor, r.original_max_positions,
                           r.beta_fast, r.beta_slow, r.attention_factor})
      number(v);
    for (const double v : r.divisors) number(v);
  }
  hash.update_u32(static_cast<std::uint32_t>(model_->config.vocab_size));
  number(static_cast<double>(model_->config.rms_norm_eps));
  // another rounding would continue with other numbers, and what is not exact with any
  if (precision_ != Precision::Strict) hash.update_u32(static_cast<std::uint32_t>(precision_));
  hash.update_u32(static_cast<std::uint32_t>(activations_)), hash.update_u32(static_cast<std::uint32_t>(kv_dtype_));
  model_->network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    if (w.role() == WeightRole::Matrix)
      hash.update(w.matrix()->beginning(std::min<std::size_t>(w.matrix()->panel_bytes(), 4096)));
    else if (w.role() != WeightRole::Adapter)  // those of a matrix follow with it
      values(w);
    for (const Adapter& a : w.adapters())
      if (counts(a, adapters_ ? &*adapters_ : nullptr)) number(a.scale), values(a.a), values(a.b);
  });
  return hash.finish();
}

Result<std::vector<std::byte>> Session::snapshot(std::size_t sequence) {
  if (broken_) return tl::make_unexpected(*broken_);
  return with_host_fallback([&]() -> Result<std::vector<std::byte>> {
    if (has_moved_) LOOM_TRY_VOID(refill(sequence, nullptr));
    StateWriter archive;
    visit_tokens(archive, tokens_[sequence], context_tokens_, static_cast<std::size_t>(model_->config.vocab_size));
    states_.write_sequence(archive, sequence, tokens_[sequence].size());
    if (device_ != nullptr) LOOM_TRY_VOID(device_->check());
    return frame_state(StateKind::Sequence, model_digest(), archive.out);
  });
}

Result<void> Session::restore(std::span<const std::byte> bytes, std::size_t sequence) {
  if (sequence >= tokens_.size())
    return fail(Code::OutOfRange, "sequence {} is restored, the session holds {}", sequence, tokens_.size());
  if (broken_) return tl::make_unexpected(*broken_);
  LOOM_TRY(const auto body, unframe_state(StateKind::Sequence, model_digest(), bytes));
  // A digest is no signature: everything is checked before anything is changed.
  if (body.size() < 8) return fail(Code::CorruptData, "the saved session ends early");
  if (const auto count = load_le<std::uint64_t>(body.data()); count > context_tokens_)
    return fail(Code::ContextFull, "the saved session has {} tokens, the context holds {}", count, context_tokens_);
  StateReader archive(body);
  std::vector<std::int32_t> tokens;
  visit_tokens(archive, tokens, context_tokens_, static_cast<std::size_t>(model_->config.vocab_size));
  if (!archive.ok()) return fail(Code::CorruptData, "the saved session holds tokens that the model does not have");
  if (ahead_run_.sequence == sequence) drop_run();
  LOOM_TRY_VOID(with_host_fallback([&] {
    StateReader caches = archive;
    return states_.read_sequence(caches, sequence, tokens.size());
  }));
  ahead_[sequence].ids.clear();
  tokens_[sequence].assign(tokens.begin(), tokens.end());
  ++revisions_[sequence];
  return {};
}

}  // namespace loom

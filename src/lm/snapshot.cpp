// A sequence as bytes: "LOOMSEQ2", numerics version, digest of the model, tokens, then per slot, kv head and held position
// the key and the value as f32; a SHA-256 of all that stands before it closes the file.

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/numerics_version.h"
#include "lm/session.h"

namespace loom {
namespace {

constexpr char kMagic[8] = {'L', 'O', 'O', 'M', 'S', 'E', 'Q', '2'};

void put_u32(std::vector<std::byte>& out, std::uint32_t v) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::byte>(v >> (8 * i)));
}

std::uint32_t get_u32(const std::byte* p) {
  std::uint32_t v = 0;
  for (int i = 0; i < 4; ++i) v |= std::to_integer<std::uint32_t>(p[i]) << (8 * i);
  return v;
}

Digest digest_of(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

}  // namespace

// Digest of everything that determines keys and values: settings and weights. All of the vectors and of the active adapters; of every matrix only its
// first rows, which tell models apart at a thousandth of the time of hashing all of it. It catches a wrong model by mistake and is no proof of
// equality.
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
  for (const StateNeeds& need : model_->network.state_needs()) {
    const RopeConfig& r = need.rope;
    for (const std::size_t v : {need.attention.kv_heads, need.attention.head_dim, need.attention.window, r.dim, r.divisors.size()})
      hash.update_u32(static_cast<std::uint32_t>(v));
    hash.update_u32(static_cast<std::uint32_t>(r.scaling) * 2 + (r.interleaved ? 1 : 0));
    for (const double v : {r.theta, r.factor, r.low_freq_factor, r.high_freq_factor, r.original_max_positions, r.beta_fast, r.beta_slow, r.attention_factor})
      number(v);
    for (const double v : r.divisors) number(v);
  }
  hash.update_u32(static_cast<std::uint32_t>(model_->config.vocab_size));
  number(static_cast<double>(model_->config.rms_norm_eps));
  hash.update_u32(static_cast<std::uint32_t>(activations_));   // another rounding would continue with other numbers
  model_->network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    if (w.role() == WeightRole::Matrix)
      hash.update({w.matrix()->panel(0), std::min<std::size_t>(w.matrix()->panel_bytes(), 4096)});
    else if (w.role() != WeightRole::Adapter)   // those of a matrix follow with it
      values(w);
    for (const Adapter& a : w.adapters())
      if (a.enabled) number(a.scale), values(a.a), values(a.b);
  });
  return hash.finish();
}

std::vector<std::byte> Session::snapshot(std::size_t sequence) const {
  std::vector<std::byte> out;
  for (const char c : kMagic) out.push_back(static_cast<std::byte>(c));
  put_u32(out, kNumericsVersion);
  for (const std::uint8_t b : model_digest()) out.push_back(static_cast<std::byte>(b));
  put_u32(out, static_cast<std::uint32_t>(tokens_[sequence].size()));
  for (const std::int32_t id : tokens_[sequence]) put_u32(out, static_cast<std::uint32_t>(id));
  std::vector<float> key, value;
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    const KvCache& c = cache(slot, sequence);
    key.resize(c.config().head_dim), value.resize(c.config().head_dim);
    const std::size_t first = std::min(held_from(slot, sequence), tokens_[sequence].size());
    put_u32(out, static_cast<std::uint32_t>(first));
    for (std::size_t h = 0; h < c.config().kv_heads; ++h)
      for (std::size_t p = first; p < tokens_[sequence].size(); ++p) {
        c.read(h, p, key.data(), value.data());
        for (const float v : key) put_u32(out, std::bit_cast<std::uint32_t>(v));
        for (const float v : value) put_u32(out, std::bit_cast<std::uint32_t>(v));
      }
  }
  for (const std::uint8_t b : digest_of(out)) out.push_back(static_cast<std::byte>(b));
  return out;
}

Result<void> Session::restore(std::span<const std::byte> bytes, std::size_t sequence) {
  constexpr std::size_t kHeader = 8 + 4 + 32 + 4;
  if (sequence >= tokens_.size()) return fail(Code::OutOfRange, "sequence {} is restored, the session holds {}", sequence, tokens_.size());
  if (bytes.size() < kHeader + 32 || std::memcmp(bytes.data(), kMagic, 8) != 0) return fail(Code::CorruptData, "this is no saved Loom session");
  const std::span<const std::byte> body = bytes.first(bytes.size() - 32);
  const Digest stored = digest_of(body);
  if (std::memcmp(stored.data(), bytes.data() + body.size(), 32) != 0)
    return fail(Code::CorruptData, "the saved session is damaged: its SHA-256 does not match");
  if (const std::uint32_t version = get_u32(body.data() + 8); version != kNumericsVersion)
    return fail(Code::Unsupported, "the session was saved with numerics version {}, this is {}", version, kNumericsVersion);
  const Digest model = model_digest();
  if (std::memcmp(model.data(), body.data() + 12, 32) != 0) return fail(Code::ShapeMismatch, "the session was saved with another model");
  const std::size_t count = get_u32(body.data() + 44);
  if (count > context_tokens_) return fail(Code::ContextFull, "the saved session has {} tokens, the context holds {}", count, context_tokens_);
  if (body.size() - kHeader < count * 4) return fail(Code::CorruptData, "the saved session ends early");
  // A digest is no signature: everything is checked before anything is changed.
  for (std::size_t i = 0; i < count; ++i)
    if (const std::uint32_t id = get_u32(body.data() + kHeader + i * 4); id >= static_cast<std::uint32_t>(model_->config.vocab_size))
      return fail(Code::CorruptData, "the saved session holds token id {}, the vocabulary has {}", id, model_->config.vocab_size);
  std::size_t expected = kHeader + count * 4;
  for (std::size_t slot = 0, at = expected; slot < slots_; ++slot) {
    const KvCache& c = cache(slot, sequence);
    if (body.size() < at + 4) return fail(Code::CorruptData, "the saved session ends early");
    const std::size_t first = get_u32(body.data() + at);
    if (first > count) return fail(Code::CorruptData, "the saved session keeps positions from {} on and has {} tokens", first, count);
    at += 4 + c.config().kv_heads * (count - first) * c.config().head_dim * 8;
    expected = at;
  }
  if (body.size() != expected) return fail(Code::CorruptData, "the saved session has {} bytes, expected {}", body.size() + 32, expected + 32);

  const std::byte* p = body.data() + kHeader;
  forget_behind(sequence, 0);
  written_[sequence] = count;
  tokens_[sequence].clear();
  for (std::size_t i = 0; i < count; ++i, p += 4) tokens_[sequence].push_back(static_cast<std::int32_t>(get_u32(p)));
  std::vector<float> key, value;
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    KvCache& c = cache(slot, sequence);
    key.resize(c.config().head_dim), value.resize(c.config().head_dim);
    const std::size_t first = get_u32(p);
    p += 4;
    // A smaller ring takes what it can hold; should the next token see more, feed() reads the tokens again.
    const std::size_t kept = std::max(first, c.first_held(count));
    held_from(slot, sequence) = kept;
    for (std::size_t h = 0; h < c.config().kv_heads; ++h)
      for (std::size_t position = first; position < count; ++position) {
        for (float& v : key) v = std::bit_cast<float>(get_u32(p)), p += 4;
        for (float& v : value) v = std::bit_cast<float>(get_u32(p)), p += 4;
        if (position >= kept) c.write(h, position, key.data(), value.data());
      }
  }
  return {};
}

}  // namespace loom

#include "text/tokenizer/tokenizer.h"

#include <algorithm>
#include <bit>

#include "text/tokenizer/parts.h"
#include "text/unicode/unicode.h"
#include "text/unicode/utf8.h"

namespace loom::text {
namespace {

constexpr std::size_t kMaxText = std::size_t{1} << 31;

// Words of a text repeat. Each is looked up among those seen in the same stretch; its ids are then copied from the
// output. Direct-mapped, so bounded; a pure shortcut: results do not depend on it.
class WordCache {
 public:
  void start(std::size_t text_bytes) {
    const std::size_t slots = std::clamp<std::size_t>(std::bit_ceil(text_bytes / 8 + 1), 16, 16384);
    slots_.assign(slots, Slot{});
  }
  struct Slot {
    const char* text = nullptr;
    std::uint32_t length = 0, count = 0;
    std::size_t first = 0;  // in the output
  };
  Slot& slot(std::string_view word) {
    return slots_[static_cast<std::size_t>(hash_bytes(word) >> 20) & (slots_.size() - 1)];
  }

 private:
  std::vector<Slot> slots_;
};

struct EncodeState {
  Words words;
  ModelScratch scratch;
  WordCache cache;
  std::vector<Stretch> stretches, inner;
  std::string normalized;
};

Result<void> encode_word(const Model& model, std::string_view word, EncodeState& state, std::vector<TokenId>& ids) {
  constexpr std::size_t kMaxCached = 64;
  if (word.size() > kMaxCached) return model.encode(word, state.scratch, ids);
  WordCache::Slot& slot = state.cache.slot(word);
  if (slot.length == word.size() && slot.text && std::memcmp(slot.text, word.data(), word.size()) == 0) {
    const std::size_t old = ids.size();
    ids.resize(old + slot.count);
    std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(slot.first), slot.count,
                ids.begin() + static_cast<std::ptrdiff_t>(old));
    return {};
  }
  const std::size_t first = ids.size(), dropped = state.scratch.dropped_bytes;
  LOOM_TRY_VOID(model.encode(word, state.scratch, ids));
  if (state.scratch.dropped_bytes != dropped) return {};  // the next one must be counted too
  slot = {word.data(), static_cast<std::uint32_t>(word.size()), static_cast<std::uint32_t>(ids.size() - first), first};
  return {};
}

tl::unexpected<Error> too_many_tokens(std::size_t most) {
  return fail(Code::ContextFull, "the text has more than {} tokens", most);
}

// One stretch of normalised text between added tokens.
Result<void> encode_stretch(const std::vector<PreTokenizerPtr>& steps, const Model& model, std::string_view text,
                            bool at_start, EncodeState& state, std::size_t max_tokens, std::vector<TokenId>& ids) {
  Words& words = state.words;
  words.text = text;
  words.at_start = at_start;
  words.spans.assign(1, {0, text.size()});
  for (const auto& s : steps) {
    LOOM_TRY_VOID(s->apply(words));
    if (words.text.size() > growth_limit(text.size()))
      return fail(Code::LimitExceeded, "the pre-tokenizer makes the text longer than {} bytes, {} times what it was",
                  growth_limit(text.size()), kMaxGrowth);
  }
  state.cache.start(words.text.size());
  const auto* glued = model.glued_to_spaces();
  for (const Span& span : words.spans) {
    std::string_view word = words.text.substr(span.begin, span.end - span.begin);
    if (glued) {
      std::size_t begin = 0;
      for (std::size_t at = word.find(kSpaceMark, 1); at != std::string_view::npos;
           at = word.find(kSpaceMark, at + 3)) {
        if ((at >= 3 && word.substr(at - 3, 3) == kSpaceMark) || (*glued)[static_cast<std::uint8_t>(word[at - 1])])
          continue;
        LOOM_TRY_VOID(encode_word(model, word.substr(begin, at - begin), state, ids));
        begin = at;
      }
      word.remove_prefix(begin);
    }
    LOOM_TRY_VOID(encode_word(model, word, state, ids));
    if (ids.size() > max_tokens) return too_many_tokens(max_tokens);
  }
  return {};
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> TokenizerBuilder::finish(std::unique_ptr<Parts> parts) {
  parts->vocab_size = parts->model->vocab().size();
  parts->longest_token = std::clamp<std::size_t>(parts->model->vocab().max_length(), 16, TokenMatcher::kMaxText);
  for (std::size_t i = 0; i < parts->added.size(); ++i) {
    const AddedToken& t = parts->added[i];
    if (t.content.empty()) continue;
    const auto id = static_cast<std::size_t>(t.id);
    parts->vocab_size = std::max(parts->vocab_size, id + 1);
    std::string content = t.content;
    if (t.normalized && parts->normalizer) LOOM_TRY_VOID(parts->normalizer->apply(content));
    // The tokenizers package knows special tokens by their texts: one that normalisation changes is none of them.
    if (t.special && content == t.content) {
      if (parts->special.size() <= id) parts->special.resize(id + 1);
      parts->special[id] = true;
    }
    // As the tokenizers package has it, a token that is sought in normalised text also decodes to its normalised text.
    LOOM_TRY_VOID(parts->added_vocab.add(content, t.id));
    LOOM_TRY_VOID(
        (t.normalized ? parts->normalized_matcher : parts->raw_matcher).add(content, static_cast<std::uint32_t>(i)));
  }
  for (const auto* list : {&parts->prefix, &parts->suffix})
    for (const TokenId id : *list)
      if (!parts->has(id))
        return fail(Code::OutOfRange, "post_processor: token id {} is not in the vocabulary of {}", id,
                    parts->vocab_size);
  return Tokenizer(std::unique_ptr<const Parts>(std::move(parts)));
}

Result<Encoded> Tokenizer::encode(std::string_view text, EncodeOptions options, std::vector<std::int32_t>& ids) const {
  const Parts& p = *parts_;
  ids.clear();
  if (text.size() >= kMaxText)
    return fail(Code::LimitExceeded, "a text of {} bytes, at most 2 GiB are encoded", text.size());
  if (text.size() / p.longest_token > options.max_tokens) return too_many_tokens(options.max_tokens);
  if (options.add_special_tokens) ids = p.prefix;
  EncodeState state;
  const bool parses_special = options.parse_special && !p.encode_special_tokens;
  if (options.parse_added)
    split_at_tokens(text, p.raw_matcher, p.added, parses_special, state.stretches);
  else if (!text.empty())
    state.stretches.push_back({0, text.size(), kNoToken});
  for (const Stretch& outer : state.stretches) {
    if (outer.id != kNoToken) {
      ids.push_back(outer.id);
      if (ids.size() > options.max_tokens) return too_many_tokens(options.max_tokens);
      continue;
    }
    std::string_view part = text.substr(outer.begin, outer.end - outer.begin);
    bool starts_input = outer.begin == 0;
    if (p.normalizer) {
      if (starts_input) {  // not when its first character goes: what then stands first comes from further on
        state.normalized.assign(part.substr(0, decode_utf8(part.data(), part.data() + part.size()).length));
        LOOM_TRY_VOID(p.normalizer->apply(state.normalized));
        starts_input = !state.normalized.empty();
      }
      state.normalized.assign(part);
      LOOM_TRY_VOID(p.normalizer->apply(state.normalized));
      part = state.normalized;
    }
    state.inner.clear();
    if (options.parse_added)
      split_at_tokens(part, p.normalized_matcher, p.added, parses_special, state.inner);
    else if (!part.empty())
      state.inner.push_back({0, part.size(), kNoToken});
    for (const Stretch& inner : state.inner) {
      if (inner.id != kNoToken) {
        ids.push_back(inner.id);
        continue;
      }
      const bool at_start = starts_input && inner.begin == 0;
      LOOM_TRY_VOID(encode_stretch(p.pre_tokenizers, *p.model, part.substr(inner.begin, inner.end - inner.begin),
                                   at_start, state, options.max_tokens, ids));
    }
  }
  if (options.add_special_tokens) ids.insert(ids.end(), p.suffix.begin(), p.suffix.end());
  if (ids.size() > options.max_tokens) return too_many_tokens(options.max_tokens);
  return Encoded{state.scratch.dropped_bytes};
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, DecodeOptions options) const {
  IncrementalDecoder decoder(*this, options);
  std::string out;
  for (const std::int32_t id : ids) out += decoder.push(id);
  out += decoder.finish();
  return out;
}

std::size_t Tokenizer::vocab_size() const { return parts_->vocab_size; }
std::string_view Tokenizer::token_text(std::int32_t id) const {
  return parts_->has(id) ? parts_->text(id) : std::string_view();
}
std::optional<std::int32_t> Tokenizer::id_of(std::string_view text) const {
  TokenId id = parts_->added_vocab.find(text);
  if (id == kNoToken) id = parts_->model->vocab().find(text);
  for (std::size_t i = 0; id == kNoToken && i < parts_->added.size(); ++i)  // one that decodes to its normalised text
    if (parts_->added[i].content == text) id = parts_->added[i].id;
  return id == kNoToken ? std::nullopt : std::optional(id);
}
bool Tokenizer::is_special(std::int32_t id) const { return parts_->is_special(id); }
bool Tokenizer::is_added(std::string_view text) const {
  return std::ranges::find(parts_->added, text, &AddedToken::content) != parts_->added.end();
}
std::vector<std::string> Tokenizer::control_tokens(std::string_view template_text) const {
  const auto is_blank = [](std::string_view text) {
    bool blank = true;
    for_each_code_point(text, [&](std::uint32_t c) { blank = blank && is_white_space(c); });
    return blank;
  };
  const auto& listed = parts_->control_tokens;
  std::vector<std::string> out;
  for (const AddedToken& t : parts_->added) {
    const bool counts = listed ? std::ranges::find(*listed, t.content) != listed->end()
                               : template_text.find(t.content) != template_text.npos && !is_blank(t.content);
    if (!t.content.empty() && (t.special || counts)) out.push_back(t.content);
  }
  return out;
}
std::optional<std::int32_t> Tokenizer::bos() const { return parts_->bos; }
std::optional<std::int32_t> Tokenizer::eos() const { return parts_->eos; }

struct IncrementalDecoder::State {
  std::vector<DecodeState> steps;
  std::vector<std::string> in, out;
  std::string tail;  // an unfinished UTF-8 sequence
};

IncrementalDecoder::IncrementalDecoder(const Tokenizer& tokenizer, DecodeOptions options)
    : tokenizer_(&tokenizer), options_(options), state_(std::make_unique<State>()) {
  state_->steps.resize(tokenizer.parts_->decoders.size());
}
IncrementalDecoder::IncrementalDecoder(IncrementalDecoder&&) noexcept = default;
IncrementalDecoder::~IncrementalDecoder() = default;

std::string IncrementalDecoder::settle(std::string bytes, bool last) {
  if (!state_->tail.empty()) bytes.insert(0, std::exchange(state_->tail, {}));
  if (last) return bytes;
  const std::size_t open = incomplete_tail(bytes);
  state_->tail = bytes.substr(bytes.size() - open);
  bytes.resize(bytes.size() - open);
  return bytes;
}

std::string IncrementalDecoder::push(std::int32_t id) {
  const auto& parts = *tokenizer_->parts_;
  if (!parts.has(id) || (options_.skip_special_tokens && parts.is_special(id))) return {};
  State& s = *state_;
  s.in.assign(1, std::string(parts.text(id)));
  for (std::size_t i = 0; i < parts.decoders.size(); ++i) {
    s.out.clear();
    for (const std::string& t : s.in)
      // a pattern out of steps: the text as it was
      if (!parts.decoders[i]->push(t, s.steps[i], s.out)) s.out.push_back(t);
    s.in.swap(s.out);
  }
  std::string bytes;
  for (const std::string& t : s.in) bytes += t;
  return settle(std::move(bytes), false);
}

std::string IncrementalDecoder::finish() {
  const auto& parts = *tokenizer_->parts_;
  State& s = *state_;
  s.in.clear();
  for (std::size_t i = 0; i < parts.decoders.size(); ++i) {
    s.out.clear();
    for (const std::string& t : s.in)
      if (!parts.decoders[i]->push(t, s.steps[i], s.out)) s.out.push_back(t);
    if (!parts.decoders[i]->finish(s.steps[i], s.out)) s.out.push_back(s.steps[i].held);
    s.in.swap(s.out);
    s.steps[i] = {};
  }
  std::string bytes;
  for (const std::string& t : s.in) bytes += t;
  return settle(std::move(bytes), true);
}

}  // namespace loom::text

#include "text/tokenizer/decoder.h"

#include <algorithm>

#include "core/json.h"
#include "text/tokenizer/vocab.h"
#include "text/unicode/text_search.h"

namespace loom::text {
namespace {

// A step that treats each token alone.
template <class F>
class TokenStep final : public DecodeStep {
 public:
  explicit TokenStep(F f) : f_(std::move(f)) {}
  Result<void> push(std::string_view token, DecodeState& state, std::vector<std::string>& out) const override {
    LOOM_TRY(auto text, f_(token, state.first));
    state.first = false;
    out.push_back(std::move(text));
    return {};
  }

 private:
  F f_;
};
template <class F>
DecodeStepPtr token_step(F f) {
  return std::make_unique<TokenStep<F>>(std::move(f));
}

// Byte-level characters to bytes; a token with any other character stands for its own text.
Result<std::string> bytes_of(std::string_view token, bool) {
  std::string out;
  bool other = false;
  for_each_code_point(token, [&](std::uint32_t c) {
    const int byte = byte_level_byte(c);
    other = other || byte < 0;
    out.push_back(static_cast<char>(byte));
  });
  return other ? std::string(token) : out;
}

// An empty `from` stands between all characters and at both ends.
void replace_text(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) {
    std::string out(to);
    for_each_code_point(text, [&](std::uint32_t c) {
      append_utf8(out, c);
      out += to;
    });
    text = std::move(out);
    return;
  }
  Finder finder(from);
  std::size_t at = finder.find(text);
  if (at == std::string::npos) return;
  std::string out;
  std::size_t done = 0;
  for (; at != std::string::npos; at = finder.find(text, done)) {
    out.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  text = out.append(text, done);
}

// English spacing, as BERT's tokenizers clean it up.
void clean_up(std::string& text) {
  constexpr std::string_view pairs[][2] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                           {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                           {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : pairs) replace_text(text, from, to);
}

// the growth of all steps together is bounded when they are read
constexpr std::size_t kAnySize = static_cast<std::size_t>(-1);

// Replaces within the whole text, where a match may span tokens: holds back text that could still become one.
class ReplaceWhole final : public DecodeStep {
 public:
  ReplaceWhole(PatternSpec pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Result<void> push(std::string_view token, DecodeState& state, std::vector<std::string>& out) const override {
    state.held += token;
    if (pattern_.regex) return {};  // any text may belong to a later match
    const std::string& p = pattern_.literal;
    std::string settled;
    std::size_t i = 0;
    Finder finder(p);
    for (std::size_t at; !p.empty() && (at = finder.find(state.held, i)) != std::string::npos; i = at + p.size())
      settled.append(state.held, i, at - i).append(content_);
    const std::size_t keep = finder.open_end(std::string_view(state.held).substr(i));
    settled.append(state.held, i, state.held.size() - keep - i);
    state.held.erase(0, state.held.size() - keep);
    out.push_back(std::move(settled));
    return {};
  }
  Result<void> finish(DecodeState& state, std::vector<std::string>& out) const override {
    if (pattern_.regex) LOOM_TRY_VOID(replace_all(state.held, pattern_, content_, kAnySize));
    out.push_back(std::move(state.held));
    return {};
  }

 private:
  PatternSpec pattern_;
  std::string content_;
};

class StripWhole final : public DecodeStep {
 public:
  StripWhole(std::string content, std::size_t start, std::size_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  Result<void> push(std::string_view token, DecodeState& state, std::vector<std::string>& out) const override {
    state.held += token;
    std::string& h = state.held;
    std::size_t begin = 0;
    while (state.first && state.stripped < start_) {
      if (h.compare(begin, content_.size(), content_) == 0) {
        begin += content_.size();
        ++state.stripped;
        continue;
      }
      // may still become one
      if (content_.compare(0, h.size() - begin, h, begin) == 0) {
        h.erase(0, begin);
        return {};
      }
      break;
    }
    state.first = false;
    // Holds back up to `stop` repetitions at the end, which may be removed, with the start of one.
    std::size_t end = h.size();
    if (stop_ > 0) end -= std::min(h.size() - begin, stop_ * content_.size());
    out.push_back(h.substr(begin, end - begin));
    h.erase(0, end);
    return {};
  }
  Result<void> finish(DecodeState& state, std::vector<std::string>& out) const override {
    std::string& h = state.held;
    for (std::size_t i = 0; i < stop_ && h.size() >= content_.size() &&
                            h.compare(h.size() - content_.size(), content_.size(), content_) == 0;
         ++i)
      h.resize(h.size() - content_.size());
    out.push_back(std::move(h));
    return {};
  }

 private:
  std::string content_;
  std::size_t start_, stop_;
};

// Suffixes become spaces between words and vanish at the end.
class SuffixStep final : public DecodeStep {
 public:
  explicit SuffixStep(std::string suffix) : suffix_(std::move(suffix)) {}
  Result<void> push(std::string_view token, DecodeState& state, std::vector<std::string>& out) const override {
    release(state, " ", out);
    state.held = token;
    state.holds = true;
    return {};
  }
  Result<void> finish(DecodeState& state, std::vector<std::string>& out) const override {
    release(state, "", out);
    return {};
  }

 private:
  void release(DecodeState& state, std::string_view with, std::vector<std::string>& out) const {
    if (!state.holds) return;
    if (!suffix_.empty()) replace_text(state.held, suffix_, with);
    out.push_back(std::move(state.held));
    state.holds = false;
  }
  std::string suffix_;
};

// Outputs of connectionist temporal classification: tokens that repeat the one before and padding go.
class CtcStep final : public DecodeStep {
 public:
  CtcStep(std::string pad, std::string delimiter, bool cleanup)
      : pad_(std::move(pad)), delimiter_(std::move(delimiter)), cleanup_(cleanup) {}
  Result<void> push(std::string_view token, DecodeState& state, std::vector<std::string>& out) const override {
    if (state.holds && state.held == token) return {};
    state.held = token, state.holds = true;
    std::string text(token);
    if (!pad_.empty()) replace_text(text, pad_, "");
    if (cleanup_) {
      clean_up(text);
      replace_text(text, delimiter_, " ");
    }
    if (!text.empty()) out.push_back(std::move(text));
    return {};
  }

 private:
  std::string pad_, delimiter_;
  bool cleanup_;
};

Result<void> word_piece_steps(const Json& spec, std::vector<DecodeStepPtr>& steps) {
  LOOM_TRY(auto prefix, json_text(spec, "prefix", "##"));
  LOOM_TRY(const bool cleanup, json_bool(spec, "cleanup", true));
  steps.push_back(token_step([prefix, cleanup](std::string_view token, bool first) -> Result<std::string> {
    std::string text;
    if (first)
      text = token;
    else if (!prefix.empty() && token.substr(0, prefix.size()) == prefix)
      text = token.substr(prefix.size());
    else
      text.append(" ").append(token);
    if (cleanup) clean_up(text);
    return text;
  }));
  return {};
}

Result<void> metaspace_steps(const Json& spec, std::vector<DecodeStepPtr>& steps) {
  LOOM_TRY(auto mark, json_text(spec, "replacement", "\xE2\x96\x81"));
  LOOM_TRY(const bool legacy, json_bool(spec, "add_prefix_space", true));
  LOOM_TRY(const auto scheme, json_text(spec, "prepend_scheme", legacy ? "always" : "never"));
  if (!is_one_character(mark))
    return fail(Code::CorruptData, "decoder Metaspace: \"replacement\" is not one character");
  const bool prepends = scheme != "never";
  steps.push_back(token_step([mark, prepends](std::string_view token, bool first) -> Result<std::string> {
    std::string text(token);
    replace_text(text, mark, first && prepends ? "" : " ");
    return text;
  }));
  return {};
}

Result<std::size_t> count_from_json(const Json& spec, std::string_view key) {
  LOOM_TRY(const auto n, json_int(spec, key, 0));
  if (n < 0 || n > 4096) return fail(Code::OutOfRange, "decoder Strip: \"{}\" is {}, expected 0..4096", key, n);
  return static_cast<std::size_t>(n);
}

struct Building {
  std::vector<DecodeStepPtr>& steps;
  bool whole = false;      // a step before has made one text of all tokens
  std::size_t growth = 1;  // how many times as long the steps so far can make a text
};

// Decoding has no way to fail, so a decoder that could grow a text without bound is refused when it is built.
Result<void> grow_by(Building& b, std::size_t times, std::string_view type) {
  constexpr std::size_t kMost = 1024;
  if (times <= kMost) b.growth *= std::max<std::size_t>(times, 1);  // both are at most kMost
  if (times > kMost || b.growth > kMost)
    return fail(Code::LimitExceeded, "decoder {}: the steps together can make a text more than {} times as long", type,
                kMost);
  return {};
}

Result<void> grow(Building& b, const PatternSpec& pattern, std::string_view content) {
  const std::size_t least = pattern.regex ? 1 : std::max<std::size_t>(pattern.literal.size(), 1);
  // a pattern may match between all bytes
  const std::size_t times = (content.size() + least - 1) / least + (pattern.regex ? 1 : 0);
  return grow_by(b, times, "Replace");
}

Result<void> ctc_steps(const Json& spec, Building& b) {
  LOOM_TRY(auto pad, json_text(spec, "pad_token", "<pad>"));
  LOOM_TRY(auto delimiter, json_text(spec, "word_delimiter_token", "|"));
  LOOM_TRY(const bool cleanup, json_bool(spec, "cleanup", true));
  if (delimiter.empty()) LOOM_TRY_VOID(grow_by(b, 3, "CTC"));  // a space around each character
  b.steps.push_back(std::make_unique<CtcStep>(std::move(pad), std::move(delimiter), cleanup));
  return {};
}

Result<void> add_steps(const Json& spec, Building& b, int depth) {
  std::vector<DecodeStepPtr>& steps = b.steps;
  bool& whole = b.whole;
  LOOM_TRY(const auto type, json_text(spec, "type", ""));
  if (type == "Sequence") {
    if (depth > 32) return fail(Code::LimitExceeded, "decoder Sequence is nested deeper than 32");
    const Json* list = find(spec, "decoders");
    if (!list || !list->is_array()) return fail(Code::CorruptData, "decoder Sequence has no list \"decoders\"");
    for (const Json& s : *list) LOOM_TRY_VOID(add_steps(s, b, depth + 1));
    return {};
  }
  if (type == "ByteLevel") {
    steps.push_back(make_byte_level_decoder());
    whole = true;
    return {};
  }
  if (type == "Fuse") {
    whole = true;
    return {};
  }  // texts are joined at the end anyway
  if (type == "ByteFallback") {
    steps.push_back(make_byte_fallback_decoder());
    return {};
  }
  if (type == "Metaspace") return metaspace_steps(spec, steps);
  if (type == "WordPiece") return word_piece_steps(spec, steps);
  if (type == "CTC") return ctc_steps(spec, b);
  if (type == "BPEDecoder") {
    LOOM_TRY(auto suffix, json_text(spec, "suffix", "</w>"));
    steps.push_back(std::make_unique<SuffixStep>(std::move(suffix)));
    return {};
  }
  if (type == "Replace") {
    const Json* pattern = find(spec, "pattern");
    LOOM_TRY(auto p, PatternSpec::from_json(pattern ? *pattern : Json(), "decoder Replace"));
    LOOM_TRY(auto content, json_text(spec, "content", ""));
    LOOM_TRY_VOID(grow(b, p, content));
    if (whole)
      steps.push_back(std::make_unique<ReplaceWhole>(std::move(p), std::move(content)));
    else
      steps.push_back(make_replace_decoder(std::move(p), std::move(content)));
    return {};
  }
  if (type == "Strip") {
    LOOM_TRY(auto content, json_text(spec, "content", " "));
    LOOM_TRY(const auto start, count_from_json(spec, "start"));
    LOOM_TRY(const auto stop, count_from_json(spec, "stop"));
    if (content.empty() || content.size() > 4)
      return fail(Code::CorruptData, "decoder Strip: \"content\" is not one character");
    steps.push_back(make_strip_decoder(std::move(content), start, stop, whole));
    return {};
  }
  return fail(Code::Unsupported, "decoder \"{}\" is not known", type.substr(0, 60));
}

}  // namespace

DecodeStepPtr make_byte_level_decoder() { return token_step(bytes_of); }

DecodeStepPtr make_byte_fallback_decoder() {
  return token_step([](std::string_view token, bool) -> Result<std::string> {
    const int byte = byte_of_token(token);
    return byte < 0 ? std::string(token) : std::string(1, static_cast<char>(byte));
  });
}

DecodeStepPtr make_replace_decoder(PatternSpec pattern, std::string content) {
  return token_step([pattern = std::move(pattern), content = std::move(content)](std::string_view token,
                                                                                 bool) -> Result<std::string> {
    std::string text(token);
    LOOM_TRY_VOID(replace_all(text, pattern, content, kAnySize));
    return text;
  });
}

DecodeStepPtr make_strip_decoder(std::string content, std::size_t start, std::size_t stop, bool whole) {
  if (whole) return std::make_unique<StripWhole>(std::move(content), start, stop);
  return token_step([content = std::move(content), start, stop](std::string_view token, bool) -> Result<std::string> {
    for (std::size_t i = 0; i < start && token.substr(0, content.size()) == content; ++i)
      token.remove_prefix(content.size());
    for (std::size_t i = 0;
         i < stop && token.size() >= content.size() && token.substr(token.size() - content.size()) == content; ++i)
      token.remove_suffix(content.size());
    return std::string(token);
  });
}

DecodeStepPtr make_join_decoder() {
  return token_step([](std::string_view token, bool first) -> Result<std::string> {
    return first ? std::string(token) : " " + std::string(token);
  });
}

Result<void> decoders_from_json(const Json& spec, std::vector<DecodeStepPtr>& steps) {
  Building building{steps};
  return add_steps(spec, building, 0);
}

}  // namespace loom::text

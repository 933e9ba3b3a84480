#include "text/tokenizer/pre_tokenizer.h"

#include <algorithm>

#include "core/json.h"
#include "text/tokenizer/vocab.h"

namespace loom::text {

const char* const kGpt2Pattern = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

namespace {

// Cuts `span` by its matches (positions within the span) and appends the pieces that are not empty.
void cut(Span span, const std::vector<Match>& matches, SplitBehavior behavior, bool invert, std::vector<Span>& out) {
  const std::size_t first_of_span = out.size();
  bool previous_match = false, merge_next = false;
  const auto piece = [&](std::size_t begin, std::size_t end, bool is_match) {
    if (begin == end) return;
    is_match = is_match != invert;
    const Span s{span.begin + begin, span.begin + end};
    const bool has_previous = out.size() > first_of_span;
    bool join = false;
    switch (behavior) {
      case SplitBehavior::Removed:
        if (is_match) return;
        break;
      case SplitBehavior::Isolated: break;
      case SplitBehavior::MergedWithPrevious: join = is_match && !previous_match && has_previous; break;
      case SplitBehavior::MergedWithNext:
        // A match joins what follows unless that is a match as well.
        join = merge_next && !is_match;
        merge_next = is_match;
        break;
      case SplitBehavior::Contiguous: join = has_previous && is_match == previous_match; break;
    }
    previous_match = is_match;
    if (join)
      out.back().end = s.end;
    else
      out.push_back(s);
  };
  std::size_t done = 0;
  for (const Match& m : matches) {
    piece(done, m.begin, false);
    piece(m.begin, m.end, true);
    done = m.end;
  }
  piece(done, span.end - span.begin, false);
}

class Split final : public PreTokenizer {
 public:
  Split(PatternSpec pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  Result<void> apply(Words& words) const override {
    words.next.clear();
    for (const Span& s : words.spans) {
      LOOM_TRY_VOID(pattern_.find_all(words.text.substr(s.begin, s.end - s.begin), words.matches));
      cut(s, words.matches, behavior_, invert_, words.next);
    }
    words.spans.swap(words.next);
    return {};
  }

 private:
  PatternSpec pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

// Splits at every character that F accepts.
template <class F>
class CharSplit final : public PreTokenizer {
 public:
  CharSplit(F f, SplitBehavior behavior) : f_(f), behavior_(behavior) {}
  Result<void> apply(Words& words) const override {
    words.next.clear();
    for (const Span& s : words.spans) {
      words.matches.clear();
      std::size_t i = 0;
      const char* text = words.text.data() + s.begin;
      const std::size_t size = s.end - s.begin;
      while (i < size) {
        const Decoded d = decode_utf8(text + i, text + size);
        if (f_(d.code_point)) words.matches.push_back({i, i + d.length});
        i += d.length;
      }
      cut(s, words.matches, behavior_, false, words.next);
    }
    words.spans.swap(words.next);
    return {};
  }

 private:
  F f_;
  SplitBehavior behavior_;
};
template <class F>
PreTokenizerPtr char_split(F f, SplitBehavior behavior) {
  return std::make_unique<CharSplit<F>>(f, behavior);
}

// Cuts each word after so many characters.
class FixedLength final : public PreTokenizer {
 public:
  explicit FixedLength(std::size_t length) : length_(length) {}
  Result<void> apply(Words& words) const override {
    words.next.clear();
    for (const Span& s : words.spans) {
      std::size_t begin = s.begin, count = 0;
      for (std::size_t at = s.begin; at < s.end;) {
        at += decode_utf8(words.text.data() + at, words.text.data() + s.end).length;
        if (++count % length_ != 0 && at < s.end) continue;
        words.next.push_back({begin, at});
        begin = at;
      }
    }
    words.spans.swap(words.next);
    return {};
  }

 private:
  std::size_t length_;
};

// Rewrites each word by F(word, out).
template <class F>
Result<void> rewrite(Words& words, F&& f) {
  std::string out;
  out.reserve(words.text.size() + words.spans.size());
  for (Span& s : words.spans) {
    const std::size_t begin = out.size();
    f(words.text.substr(s.begin, s.end - s.begin), s.begin == 0, out);
    s = {begin, out.size()};
  }
  words.owned = std::move(out);
  words.text = words.owned;
  return {};
}

class PrefixSpace final : public PreTokenizer {
 public:
  Result<void> apply(Words& words) const override {
    return rewrite(words, [](std::string_view word, bool, std::string& out) {
      if (word[0] != ' ') out += ' ';
      out += word;
    });
  }
};

class ByteCharacters final : public PreTokenizer {
 public:
  Result<void> apply(Words& words) const override {
    return rewrite(words, [](std::string_view word, bool, std::string& out) {
      for (const char c : word) append_utf8(out, byte_level_char(static_cast<std::uint8_t>(c)));
    });
  }
};

class Metaspace final : public PreTokenizer {
 public:
  Metaspace(std::string replacement, bool always, bool first)
      : replacement_(std::move(replacement)), always_(always), first_(first) {}
  Result<void> apply(Words& words) const override {
    return rewrite(words, [&](std::string_view word, bool first_word, std::string& out) {
      const bool has = word[0] == ' ' || word.substr(0, replacement_.size()) == replacement_;
      if (!has && (always_ || (first_ && first_word && words.at_start))) out += replacement_;
      for (const char c : word) {
        if (c == ' ')
          out += replacement_;
        else
          out += c;
      }
    });
  }

 private:
  std::string replacement_;
  bool always_, first_;
};

bool is_bert_punctuation(std::uint32_t c) { return is_ascii_punctuation(c) || in_bert_category(c, kPunctuation); }

Result<SplitBehavior> behavior_from_json(const Json& spec, std::string_view fallback) {
  LOOM_TRY(const auto name, json_text(spec, "behavior", fallback));
  constexpr std::string_view names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
  for (std::size_t i = 0; i < 5; ++i)
    if (name == names[i]) return static_cast<SplitBehavior>(i);
  return fail(Code::Unsupported, "pre_tokenizer: behavior \"{}\" is not known", name.substr(0, 60));
}

Result<void> byte_level_from_json(const Json& spec, std::vector<PreTokenizerPtr>& steps, bool* bytes) {
  LOOM_TRY(const bool prefix, json_bool(spec, "add_prefix_space", true));
  LOOM_TRY(const bool use_regex, json_bool(spec, "use_regex", true));
  if (prefix) steps.push_back(std::make_unique<PrefixSpace>());
  if (use_regex) {
    LOOM_TRY(auto split, make_regex_split(kGpt2Pattern));
    steps.push_back(std::move(split));
  }
  if (bytes)
    *bytes = true;
  else
    steps.push_back(std::make_unique<ByteCharacters>());
  return {};
}

Result<void> metaspace_from_json(const Json& spec, std::vector<PreTokenizerPtr>& steps) {
  LOOM_TRY(auto replacement, json_text(spec, "replacement", "\xE2\x96\x81"));
  LOOM_TRY(const bool legacy, json_bool(spec, "add_prefix_space", true));
  LOOM_TRY(const auto scheme, json_text(spec, "prepend_scheme", legacy ? "always" : "never"));
  LOOM_TRY(const bool split, json_bool(spec, "split", true));
  if (!is_one_character(replacement))
    return fail(Code::CorruptData, "pre_tokenizer Metaspace: \"replacement\" is not one character");
  if (scheme != "always" && scheme != "first" && scheme != "never")
    return fail(Code::Unsupported, "pre_tokenizer Metaspace: prepend_scheme \"{}\" is not known", scheme.substr(0, 60));
  steps.push_back(make_metaspace(replacement, scheme == "always", scheme == "first", split));
  if (split) steps.push_back(make_split({replacement, nullptr}, SplitBehavior::MergedWithNext, false));
  return {};
}

}  // namespace

PreTokenizerPtr make_split(PatternSpec pattern, SplitBehavior behavior, bool invert) {
  return std::make_unique<Split>(std::move(pattern), behavior, invert);
}
PreTokenizerPtr make_white_space_split() { return char_split(is_white_space, SplitBehavior::Removed); }
PreTokenizerPtr make_bert_pre_tokenizer() { return char_split(is_bert_punctuation, SplitBehavior::Isolated); }
PreTokenizerPtr make_metaspace(std::string replacement, bool always, bool first, bool) {
  return std::make_unique<Metaspace>(std::move(replacement), always, first);
}

Result<PreTokenizerPtr> make_regex_split(std::string_view pattern) {
  LOOM_TRY(auto regex, Regex::compile(pattern));
  return make_split({"", std::make_shared<const Regex>(std::move(regex))}, SplitBehavior::Isolated, false);
}

Result<void> pre_tokenizers_from_json(const Json& spec, std::vector<PreTokenizerPtr>& steps, bool* bytes, int depth) {
  LOOM_TRY(const auto type, json_text(spec, "type", ""));
  if (type == "Sequence") {
    if (depth > 32) return fail(Code::LimitExceeded, "pre_tokenizer Sequence is nested deeper than 32");
    const Json* list = find(spec, "pretokenizers");
    if (!list || !list->is_array())
      return fail(Code::CorruptData, "pre_tokenizer Sequence has no list \"pretokenizers\"");
    for (std::size_t i = 0; i < list->size(); ++i)
      LOOM_TRY_VOID(pre_tokenizers_from_json((*list)[i], steps, i + 1 == list->size() ? bytes : nullptr, depth + 1));
    return {};
  }
  if (type == "ByteLevel") return byte_level_from_json(spec, steps, bytes);
  if (type == "Metaspace") return metaspace_from_json(spec, steps);
  if (type == "Split") {
    const Json* pattern = find(spec, "pattern");
    LOOM_TRY(auto p, PatternSpec::from_json(pattern ? *pattern : Json(), "pre_tokenizer Split"));
    LOOM_TRY(const auto behavior, behavior_from_json(spec, ""));
    LOOM_TRY(const bool invert, json_bool(spec, "invert", false));
    steps.push_back(make_split(std::move(p), behavior, invert));
    return {};
  }
  if (type == "Digits") {
    LOOM_TRY(const bool individual, json_bool(spec, "individual_digits", false));
    steps.push_back(char_split(is_numeric, individual ? SplitBehavior::Isolated : SplitBehavior::Contiguous));
    return {};
  }
  if (type == "Punctuation") {
    LOOM_TRY(const auto behavior, behavior_from_json(spec, "Isolated"));
    steps.push_back(char_split(is_bert_punctuation, behavior));
    return {};
  }
  if (type == "UnicodeScripts") {
    steps.push_back(make_unicode_scripts());
    return {};
  }
  if (type == "WhitespaceSplit") {
    steps.push_back(make_white_space_split());
    return {};
  }
  if (type == "BertPreTokenizer") {
    steps.push_back(make_white_space_split());
    steps.push_back(make_bert_pre_tokenizer());
    return {};
  }
  if (type == "Whitespace") {  // words and runs of other characters; the gaps between them go
    steps.push_back(make_white_space_split());
    steps.push_back(char_split([](std::uint32_t c) { return is_word(c); }, SplitBehavior::Contiguous));
    return {};
  }
  if (type == "FixedLength") {
    LOOM_TRY(const auto length, json_int(spec, "length", 5));
    if (length < 1)
      return fail(Code::OutOfRange, "pre_tokenizer FixedLength: length is {}, expected 1 or more", length);
    steps.push_back(std::make_unique<FixedLength>(static_cast<std::size_t>(length)));
    return {};
  }
  if (type == "CharDelimiterSplit") {
    LOOM_TRY(auto delimiter, json_text(spec, "delimiter", ""));
    steps.push_back(make_split({std::move(delimiter), nullptr}, SplitBehavior::Removed, false));
    return {};
  }
  return fail(Code::Unsupported, "pre_tokenizer \"{}\" is not known", type.substr(0, 60));
}

}  // namespace loom::text

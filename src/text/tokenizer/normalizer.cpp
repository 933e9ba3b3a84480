#include "text/tokenizer/normalizer.h"

#include <algorithm>

#include "core/json.h"
#include "text/tokenizer/vocab.h"
#include "text/unicode/text_search.h"

namespace loom::text {
namespace {

tl::unexpected<Error> too_long(std::size_t limit) {
  return fail(Code::LimitExceeded, "the normalizer makes the text longer than {} bytes, {} times what it was", limit,
              kMaxGrowth);
}

class FormStep final : public Normalizer {
 public:
  explicit FormStep(Form form) : form_(form) {}
  Result<void> rewrite(std::string& text, std::size_t) const override {
    text = normalize(text, form_);
    return {};
  }

 private:
  Form form_;
};

// A step that treats each code point alone.
template <class F>
class PointStep final : public Normalizer {
 public:
  explicit PointStep(F f) : f_(f) {}
  Result<void> rewrite(std::string& text, std::size_t) const override {
    std::string out;
    out.reserve(text.size());
    for_each_code_point(text, [&](std::uint32_t c) { f_(out, c); });
    text = std::move(out);
    return {};
  }

 private:
  F f_;
};
template <class F>
NormalizerPtr point_step(F f) {
  return std::make_unique<PointStep<F>>(f);
}

class Sequence final : public Normalizer {
 public:
  explicit Sequence(std::vector<NormalizerPtr> steps) : steps_(std::move(steps)) {}
  Result<void> rewrite(std::string& text, std::size_t limit) const override {
    for (const auto& s : steps_) LOOM_TRY_VOID(s->run(text, limit));
    return {};
  }

 private:
  std::vector<NormalizerPtr> steps_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  Result<void> rewrite(std::string& text, std::size_t limit) const override {
    if (text.empty()) return {};
    if (prefix_.size() > limit) return too_long(limit);
    text.insert(0, prefix_);
    return {};
  }

 private:
  std::string prefix_;
};

class Replace final : public Normalizer {
 public:
  Replace(PatternSpec pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Result<void> rewrite(std::string& text, std::size_t limit) const override {
    return replace_all(text, pattern_, content_, limit);
  }

 private:
  PatternSpec pattern_;
  std::string content_;
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  Result<void> rewrite(std::string& text, std::size_t) const override {
    std::size_t begin = 0, end = text.size();
    while (left_ && begin < end) {
      const Decoded d = decode_utf8(text.data() + begin, text.data() + end);
      if (!is_white_space(d.code_point)) break;
      begin += d.length;
    }
    while (right_ && end > begin) {
      const Decoded d = decode_utf8_before(text.data() + begin, text.data() + end);
      if (!is_white_space(d.code_point)) break;
      end -= d.length;
    }
    text = text.substr(begin, end - begin);
    return {};
  }

 private:
  bool left_, right_;
};

class CollapseSpaces final : public Normalizer {
 public:
  explicit CollapseSpaces(std::string space) : space_(std::move(space)) {}
  Result<void> rewrite(std::string& text, std::size_t) const override {
    std::string out;
    bool pending = false;
    for (std::size_t i = 0; i < text.size();) {
      if (text.compare(i, space_.size(), space_) == 0) {
        pending = !out.empty();
        i += space_.size();
        continue;
      }
      if (pending) out += space_;
      pending = false;
      out.push_back(text[i++]);
    }
    text = std::move(out);
    return {};
  }

 private:
  std::string space_;
};

constexpr CategoryMask kControls = 1u << int(Category::Cc) | 1u << int(Category::Cf) | 1u << int(Category::Co);

// A mark of Unicode 9.0: three characters had another category then.
bool is_accent(std::uint32_t c) {
  if (c == 0x1CF2 || c == 0x1CF3) return true;
  return in_category(c, kMarks) && (record(c).flags & kAfterUnicode9) == 0 && c != 0x111C9;
}

bool is_chinese(std::uint32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(BertNormalizerConfig config) : config_(config) {}
  Result<void> rewrite(std::string& text, std::size_t) const override {
    std::string out;
    for_each_code_point(text, [&](std::uint32_t c) {
      if (config_.clean_text) {
        const bool blank = c == '\t' || c == '\n' || c == '\r' || is_white_space(c);
        if (c == 0 || c == kReplacement || (!(c == '\t' || c == '\n' || c == '\r') && in_bert_category(c, kControls)))
          return;
        if (blank) c = ' ';
      }
      if (config_.chinese_chars && is_chinese(c)) {
        out += ' ';
        append_utf8(out, c);
        out += ' ';
      } else {
        append_utf8(out, c);
      }
    });
    text = config_.strip_accents ? normalize(out, Form::Nfd) : std::move(out);
    if (!config_.strip_accents && !config_.lowercase) return {};
    std::string cased;
    for_each_code_point(text, [&](std::uint32_t c) {
      if (config_.strip_accents && bert_category(c) == Category::Mn) return;
      if (config_.lowercase)
        append_lower(cased, c);
      else
        append_utf8(cased, c);
    });
    text = std::move(cased);
    return {};
  }

 private:
  BertNormalizerConfig config_;
};

// SentencePiece's "nmt" clean-up: controls go, odd spaces become spaces.
void nmt(std::string& out, std::uint32_t c) {
  if ((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F) return;
  const bool space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
                     c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  append_utf8(out, space ? ' ' : c);
}

Result<std::string> decode_base64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const int v = c >= 'A' && c <= 'Z'   ? c - 'A'
                  : c >= 'a' && c <= 'z' ? c - 'a' + 26
                  : c >= '0' && c <= '9' ? c - '0' + 52
                  : c == '+'             ? 62
                  : c == '/'             ? 63
                                         : -1;
    if (v < 0) return fail(Code::CorruptData, "normalizer Precompiled: precompiled_charsmap is not base64");
    bits = bits << 6 | static_cast<std::uint32_t>(v);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return out;
}

}  // namespace

Category bert_category(std::uint32_t c) {
  if ((record(c).flags & kAfterUnicode8) != 0) return Category::Cn;
  switch (c) {  // these had another category
    case 0x166D:
    case 0x111C9: return Category::Po;
    case 0x1734:
    case 0x1171E: return Category::Mn;
    case 0x1885:
    case 0x1886: return Category::Lo;
    case 0xA9BD: return Category::Mc;
    default: return category(c);
  }
}

Result<void> Normalizer::run(std::string& text, std::size_t limit) const {
  LOOM_TRY_VOID(rewrite(text, limit));
  if (text.size() > limit) return too_long(limit);
  return {};
}

NormalizerPtr make_prepend(std::string text) { return std::make_unique<Prepend>(std::move(text)); }
NormalizerPtr make_replace_text(std::string from, std::string to) {
  return std::make_unique<Replace>(PatternSpec{std::move(from), nullptr}, std::move(to));
}
NormalizerPtr make_form(Form form) { return std::make_unique<FormStep>(form); }
NormalizerPtr make_collapse_spaces(std::string space) { return std::make_unique<CollapseSpaces>(std::move(space)); }
NormalizerPtr make_sequence(std::vector<NormalizerPtr> steps) { return std::make_unique<Sequence>(std::move(steps)); }
NormalizerPtr make_bert_normalizer(BertNormalizerConfig config) { return std::make_unique<BertNormalizer>(config); }

Result<bool> json_bool(const Json& spec, std::string_view key, bool fallback) {
  const Json* v = find(spec, key);
  if (!v || v->is_null()) return fallback;
  const auto b = as_bool(*v);
  if (!b) return fail(Code::CorruptData, "\"{}\" is {}, expected true or false", key, v->type_name());
  return *b;
}

Result<std::string> json_text(const Json& spec, std::string_view key, std::string_view fallback) {
  const Json* v = find(spec, key);
  if (!v || v->is_null()) return std::string(fallback);
  const auto* s = as_string(*v);
  if (!s) return fail(Code::CorruptData, "\"{}\" is {}, expected a string", key, v->type_name());
  return *s;
}

Result<std::int64_t> json_int(const Json& spec, std::string_view key, std::int64_t fallback) {
  const Json* v = find(spec, key);
  if (!v || v->is_null()) return fallback;
  const auto i = as_int(*v);
  if (!i) return fail(Code::CorruptData, "\"{}\" is {}, expected an integer", key, v->type_name());
  return *i;
}

Result<PatternSpec> PatternSpec::from_json(const Json& spec, std::string_view where) {
  PatternSpec out;
  if (const Json* s = find(spec, "String"); s && as_string(*s)) {
    out.literal = *as_string(*s);
    if (out.literal.size() > kMaxLiteral)
      return fail(Code::LimitExceeded, "{}: \"pattern\" has {} bytes, at most {} are read", where, out.literal.size(),
                  kMaxLiteral);
    return out;
  }
  const Json* r = find(spec, "Regex");
  if (!r || !as_string(*r)) return fail(Code::CorruptData, "{}: \"pattern\" is neither a String nor a Regex", where);
  auto compiled = Regex::compile(*as_string(*r));
  if (!compiled) return at(std::string(where), compiled.error());
  out.regex = std::make_shared<const Regex>(std::move(*compiled));
  return out;
}

Result<void> PatternSpec::find_all(std::string_view text, std::vector<Match>& matches) const {
  matches.clear();
  if (!regex) {
    if (literal.empty()) return {};
    Finder finder(literal);
    for (std::size_t i = finder.find(text); i != std::string_view::npos; i = finder.find(text, i + literal.size()))
      matches.push_back({i, i + literal.size()});
    return {};
  }
  RegexMatcher matcher(*regex, text);
  Match m;
  while (true) {
    LOOM_TRY(const bool found, matcher.next(m));
    if (!found) return {};
    matches.push_back(m);
  }
}

Result<void> replace_all(std::string& text, const PatternSpec& pattern, std::string_view content, std::size_t limit) {
  std::vector<Match> matches;
  LOOM_TRY_VOID(pattern.find_all(text, matches));
  if (matches.empty()) return {};
  if (!content.empty() && matches.size() > limit / content.size()) return too_long(limit);
  std::string out;
  out.reserve(text.size());
  std::size_t done = 0;
  for (const Match& m : matches) {
    out.append(text, done, m.begin - done).append(content);
    done = m.end;
  }
  out.append(text, done);
  text = std::move(out);
  return {};
}

static Result<NormalizerPtr> sequence_from_json(const Json& spec, int depth) {
  if (depth > 32) return fail(Code::LimitExceeded, "normalizer Sequence is nested deeper than 32");
  const Json* list = find(spec, "normalizers");
  if (!list || !list->is_array()) return fail(Code::CorruptData, "normalizer Sequence has no list \"normalizers\"");
  std::vector<NormalizerPtr> steps;
  for (const Json& s : *list) {
    LOOM_TRY(auto step, Normalizer::from_json(s, depth + 1));
    steps.push_back(std::move(step));
  }
  return make_sequence(std::move(steps));
}

Result<NormalizerPtr> Normalizer::from_json(const Json& spec, int depth) {
  LOOM_TRY(const auto type, json_text(spec, "type", ""));
  const auto where = [&](Result<NormalizerPtr> r) -> Result<NormalizerPtr> {
    if (!r) return at("normalizer " + type, r.error());
    return r;
  };
  if (type == "NFC") return make_form(Form::Nfc);
  if (type == "NFD") return make_form(Form::Nfd);
  if (type == "NFKC") return make_form(Form::Nfkc);
  if (type == "NFKD") return make_form(Form::Nfkd);
  if (type == "Lowercase") return point_step(append_lower);
  if (type == "Nmt") return point_step(nmt);
  if (type == "StripAccents") {
    return point_step([](std::string& out, std::uint32_t c) {
      if (!is_accent(c)) append_utf8(out, c);
    });
  }
  if (type == "ByteLevel") {
    return point_step([](std::string& out, std::uint32_t c) {
      std::string bytes;
      append_utf8(bytes, c);
      for (const char b : bytes) append_utf8(out, byte_level_char(static_cast<std::uint8_t>(b)));
    });
  }
  if (type == "Prepend") {
    LOOM_TRY(auto text, json_text(spec, "prepend", ""));
    return make_prepend(std::move(text));
  }
  if (type == "Strip") {
    LOOM_TRY(const bool left, json_bool(spec, "strip_left", true));
    LOOM_TRY(const bool right, json_bool(spec, "strip_right", true));
    return NormalizerPtr(std::make_unique<Strip>(left, right));
  }
  if (type == "Replace") {
    const Json* pattern = find(spec, "pattern");
    LOOM_TRY(auto p, PatternSpec::from_json(pattern ? *pattern : Json(), "normalizer Replace"));
    LOOM_TRY(auto content, json_text(spec, "content", ""));
    return NormalizerPtr(std::make_unique<Replace>(std::move(p), std::move(content)));
  }
  if (type == "BertNormalizer") {
    BertNormalizerConfig c;
    LOOM_TRY(c.clean_text, json_bool(spec, "clean_text", true));
    LOOM_TRY(c.chinese_chars, json_bool(spec, "handle_chinese_chars", true));
    LOOM_TRY(c.lowercase, json_bool(spec, "lowercase", true));
    LOOM_TRY(c.strip_accents, json_bool(spec, "strip_accents", c.lowercase));
    return make_bert_normalizer(c);
  }
  if (type == "Precompiled") {
    LOOM_TRY(const auto text, json_text(spec, "precompiled_charsmap", ""));
    LOOM_TRY(const std::string charsmap, decode_base64(text));
    return where(make_precompiled(charsmap, true));
  }
  if (type == "Sequence") return sequence_from_json(spec, depth);
  return fail(Code::Unsupported, "normalizer \"{}\" is not known", type.substr(0, 60));
}

}  // namespace loom::text

// The pre-tokenizer UnicodeScripts: cuts where the script changes.

#include <algorithm>
#include <iterator>

#include "text/tokenizer/pre_tokenizer.h"
#include "text/unicode/properties.h"
#include "text/unicode/unicode.h"
#include "text/unicode/utf8.h"

namespace loom::text {
namespace {

// The scripts of Unicode 9.0, which the tokenizers package 0.23 knows, but for Common. Hiragana and Katakana count as
// Han.
constexpr std::string_view kScripts[] = {"han",
                                         "hiragana",
                                         "katakana",
                                         "latin",
                                         "bopomofo",
                                         "inherited",
                                         "greek",
                                         "coptic",
                                         "cyrillic",
                                         "armenian",
                                         "hebrew",
                                         "arabic",
                                         "syriac",
                                         "thaana",
                                         "nko",
                                         "samaritan",
                                         "mandaic",
                                         "devanagari",
                                         "bengali",
                                         "gurmukhi",
                                         "gujarati",
                                         "oriya",
                                         "tamil",
                                         "telugu",
                                         "kannada",
                                         "malayalam",
                                         "sinhala",
                                         "thai",
                                         "lao",
                                         "tibetan",
                                         "myanmar",
                                         "georgian",
                                         "hangul",
                                         "ethiopic",
                                         "cherokee",
                                         "canadianaboriginal",
                                         "ogham",
                                         "runic",
                                         "tagalog",
                                         "hanunoo",
                                         "buhid",
                                         "tagbanwa",
                                         "khmer",
                                         "mongolian",
                                         "limbu",
                                         "taile",
                                         "newtailue",
                                         "buginese",
                                         "taitham",
                                         "balinese",
                                         "sundanese",
                                         "batak",
                                         "lepcha",
                                         "olchiki",
                                         "braille",
                                         "glagolitic",
                                         "tifinagh",
                                         "yi",
                                         "lisu",
                                         "vai",
                                         "bamum",
                                         "sylotinagri",
                                         "phagspa",
                                         "saurashtra",
                                         "kayahli",
                                         "rejang",
                                         "javanese",
                                         "cham",
                                         "taiviet",
                                         "meeteimayek",
                                         "linearb",
                                         "lycian",
                                         "carian",
                                         "olditalic",
                                         "gothic",
                                         "oldpermic",
                                         "ugaritic",
                                         "oldpersian",
                                         "deseret",
                                         "shavian",
                                         "osmanya",
                                         "osage",
                                         "elbasan",
                                         "caucasianalbanian",
                                         "lineara",
                                         "cypriot",
                                         "imperialaramaic",
                                         "palmyrene",
                                         "nabataean",
                                         "hatran",
                                         "phoenician",
                                         "lydian",
                                         "meroitichieroglyphs",
                                         "meroiticcursive",
                                         "kharoshthi",
                                         "oldsoutharabian",
                                         "oldnortharabian",
                                         "manichaean",
                                         "avestan",
                                         "inscriptionalparthian",
                                         "inscriptionalpahlavi",
                                         "psalterpahlavi",
                                         "oldturkic",
                                         "oldhungarian",
                                         "brahmi",
                                         "kaithi",
                                         "sorasompeng",
                                         "chakma",
                                         "mahajani",
                                         "sharada",
                                         "khojki",
                                         "multani",
                                         "khudawadi",
                                         "grantha",
                                         "newa",
                                         "tirhuta",
                                         "siddham",
                                         "modi",
                                         "takri",
                                         "ahom",
                                         "warangciti",
                                         "paucinhau",
                                         "bhaiksuki",
                                         "marchen",
                                         "cuneiform",
                                         "egyptianhieroglyphs",
                                         "anatolianhieroglyphs",
                                         "mro",
                                         "bassavah",
                                         "pahawhhmong",
                                         "miao",
                                         "tangut",
                                         "duployan",
                                         "signwriting",
                                         "mendekikakui",
                                         "adlam"};
constexpr std::uint8_t kAny = 255, kCommon = 254, kHan = 0, kKatakana = 2, kDevanagari = 17;

// Ranges of all scripts by their first code point.
struct ScriptRange {
  std::uint32_t first, last;
  std::uint8_t script;
};
const std::vector<ScriptRange>& script_ranges() {
  static const std::vector<ScriptRange> all = [] {
    std::vector<ScriptRange> out;
    for (std::size_t i = 0; i < std::size(kScripts); ++i) {
      std::vector<CodePointRange> ranges;
      property_ranges(kScripts[i], ranges);
      const auto script = static_cast<std::uint8_t>(i <= kKatakana ? kHan : i);
      for (const CodePointRange& r : ranges) out.push_back({r.first, r.last, script});
    }
    std::ranges::sort(out, {}, &ScriptRange::first);
    return out;
  }();
  return all;
}

// Spaces, and characters that Unicode 9.0 has no script for, belong to any script.
std::uint8_t script_of(std::uint32_t c) {
  switch (c) {  // these changed their script since
    case 0x30FC: return kHan;
    case 0x953:
    case 0x954: return kDevanagari;
    case 0x589:
    case 0x61C: return kCommon;
    default: break;
  }
  constexpr CategoryMask kWithoutScript = 1u << int(Category::Cn) | 1u << int(Category::Co) | 1u << int(Category::Cs);
  if (c == ' ' || in_category(c, kWithoutScript) || (record(c).flags & kAfterUnicode9) != 0) return kAny;
  const auto& ranges = script_ranges();
  const auto after = std::ranges::upper_bound(ranges, c, {}, &ScriptRange::first);
  if (after == ranges.begin()) return kCommon;
  const ScriptRange& range = *std::prev(after);
  return c <= range.last ? range.script : kCommon;
}

// Characters of any script stay with those before them; at the start of a word they are dropped, as the tokenizers
// package does.
class UnicodeScripts final : public PreTokenizer {
 public:
  Result<void> apply(Words& words) const override {
    words.next.clear();
    for (const Span& s : words.spans) {
      std::uint8_t last = kAny;
      std::size_t begin = s.end;
      for (std::size_t at = s.begin; at < s.end;) {
        const Decoded d = decode_utf8(words.text.data() + at, words.text.data() + s.end);
        const std::uint8_t script = script_of(d.code_point);
        if (script != kAny && script != last) {
          if (begin < at) words.next.push_back({begin, at});
          begin = at, last = script;
        }
        at += d.length;
      }
      if (begin < s.end) words.next.push_back({begin, s.end});
    }
    words.spans.swap(words.next);
    return {};
  }
};

}  // namespace

PreTokenizerPtr make_unicode_scripts() { return std::make_unique<UnicodeScripts>(); }

}  // namespace loom::text

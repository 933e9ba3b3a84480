#include "text/unicode/unicode.h"

#include <algorithm>
#include <vector>

namespace loom::text {
namespace {

constexpr std::uint32_t kHangulS = 0xAC00, kHangulL = 0x1100, kHangulV = 0x1161, kHangulT = 0x11A7;
constexpr std::uint32_t kHangulLCount = 19, kHangulVCount = 21, kHangulTCount = 28, kHangulSCount = 11172;

std::uint32_t mapped(const tables::CaseMapping* table, std::size_t size, std::uint32_t c) {
  const auto* end = table + size;
  const auto* it =
      std::lower_bound(table, end, c, [](const tables::CaseMapping& m, std::uint32_t v) { return m.from < v; });
  return it != end && it->from == c ? it->to : c;
}

const tables::Decomposition* find_in(const tables::Decomposition* table, std::size_t size, std::uint32_t c) {
  const auto* end = table + size;
  const auto* it =
      std::lower_bound(table, end, c, [](const tables::Decomposition& d, std::uint32_t v) { return d.code_point < v; });
  return it != end && it->code_point == c ? it : nullptr;
}

void decompose(std::uint32_t c, bool compatible, std::vector<std::uint32_t>& out) {
  if (c - kHangulS < kHangulSCount) {
    const std::uint32_t s = c - kHangulS, t = s % kHangulTCount;
    out.push_back(kHangulL + s / (kHangulVCount * kHangulTCount));
    out.push_back(kHangulV + s / kHangulTCount % kHangulVCount);
    if (t != 0) out.push_back(kHangulT + t);
    return;
  }
  const tables::Decomposition* d = compatible ? find_in(tables::kCompatible, tables::kNumCompatible, c) : nullptr;
  if (!d) d = find_in(tables::kCanonical, tables::kNumCanonical, c);
  if (!d) return out.push_back(c);
  out.insert(out.end(), tables::kDecomposed + d->offset, tables::kDecomposed + d->offset + d->length);
}

// 0 when the two do not compose.
std::uint32_t composed(std::uint32_t a, std::uint32_t b) {
  if (a - kHangulL < kHangulLCount && b - kHangulV < kHangulVCount)
    return kHangulS + ((a - kHangulL) * kHangulVCount + (b - kHangulV)) * kHangulTCount;
  if (a - kHangulS < kHangulSCount && (a - kHangulS) % kHangulTCount == 0 && b > kHangulT &&
      b < kHangulT + kHangulTCount)
    return a + (b - kHangulT);
  const auto* end = tables::kPairs + tables::kNumPairs;
  const auto* it = std::lower_bound(tables::kPairs, end, std::pair(a, b),
                                    [](const tables::Composition& p, std::pair<std::uint32_t, std::uint32_t> v) {
                                      return std::pair(p.first, p.second) < v;
                                    });
  return it != end && it->first == a && it->second == b ? it->composed : 0;
}

// Canonical ordering: runs of marks sorted by class, stably (UAX #15, D109).
void order_marks(std::vector<std::uint32_t>& text) {
  const auto ccc = [](std::uint32_t c) { return record(c).combining_class; };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && ccc(text[end]) != 0) ++end;
    if (end - i > 1)
      std::stable_sort(text.begin() + static_cast<std::ptrdiff_t>(i), text.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](std::uint32_t a, std::uint32_t b) { return ccc(a) < ccc(b); });
    i = end + 1;
  }
}

void compose(std::vector<std::uint32_t>& text) {
  std::size_t starter = text.size(), out = 0;
  int last_class = -1;  // of the last character since the starter; -1: none
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint32_t c = text[i];
    const int ccc = record(c).combining_class;
    if (starter < text.size() && last_class < ccc) {
      if (const std::uint32_t both = composed(text[starter], c)) {
        text[starter] = both;
        continue;
      }
    }
    if (ccc == 0) {
      starter = out;
      last_class = -1;
    } else {
      last_class = ccc;
    }
    text[out++] = c;
  }
  text.resize(out);
}

std::uint16_t form_flag(Form form) {
  constexpr std::uint16_t flags[4] = {kNotNfc, kNotNfd, kNotNfkc, kNotNfkd};
  return flags[static_cast<int>(form)];
}

// Returns where normalisation has work to do, by the quick check of UAX #15, section 9, or text.size() where there is
// none.
std::size_t first_change(std::string_view text, Form form) {
  const std::uint16_t flag = form_flag(form);
  const char *begin = text.data(), *p = begin, *const end = begin + text.size();
  std::size_t boundary = 0;
  int last = 0;
  while (p < end) {
    if (static_cast<std::uint8_t>(*p) < 0x80) {
      boundary = static_cast<std::size_t>(p++ - begin);
      last = 0;
      continue;
    }
    const Decoded d = decode_utf8(p, end);
    const tables::Record& r = record(d.code_point);
    if ((r.flags & flag) != 0 || (r.combining_class != 0 && r.combining_class < last)) return boundary;
    if (r.combining_class == 0) boundary = static_cast<std::size_t>(p - begin);
    last = r.combining_class;
    p += d.length;
  }
  return text.size();
}

}  // namespace

std::uint32_t to_lower(std::uint32_t c) {
  if (c < 0x80) return c - 'A' < 26u ? c + 32 : c;
  return mapped(tables::kLower, tables::kNumLower, c);
}

std::uint32_t fold_case(std::uint32_t c) {
  if (c < 0x80) return c - 'A' < 26u ? c + 32 : c;
  return mapped(tables::kFold, tables::kNumFold, c);
}

void append_lower(std::string& out, std::uint32_t c) {
  append_utf8(out, to_lower(c));
  if (c == 0x130) append_utf8(out, 0x307);
}

std::string normalize(std::string_view text, Form form) {
  const std::size_t settled = first_change(text, form);
  std::string out(text.substr(0, settled));
  if (settled == text.size()) return out;
  const bool compatible = form == Form::Nfkc || form == Form::Nfkd;
  std::vector<std::uint32_t> points;
  points.reserve(text.size() - settled);
  for_each_code_point(text.substr(settled), [&](std::uint32_t c) {
    if (c < 0x80) return points.push_back(c);
    decompose(c, compatible, points);
  });
  order_marks(points);
  if (form == Form::Nfc || form == Form::Nfkc) compose(points);
  for (const std::uint32_t c : points) append_utf8(out, c);
  return out;
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto prefix = detail::utf8_prefix(text.data() + i, text.data() + text.size());
    if (prefix.complete) {
      out.append(text.substr(i, prefix.length));
    } else {
      append_utf8(out, kReplacement);
    }
    i += prefix.length;
  }
  return out;
}

std::size_t incomplete_tail(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const char* p = text.data() + text.size() - back;
    const auto lead = static_cast<std::uint8_t>(*p);
    if ((lead & 0xC0) == 0x80) continue;
    const auto prefix = detail::utf8_prefix(p, text.data() + text.size());
    const bool could_grow = lead >= 0xC2 && lead <= 0xF4 && !prefix.complete && prefix.length == back;
    return could_grow ? back : 0;
  }
  return 0;
}

std::size_t grapheme_length(std::string_view text) {
  enum : std::uint8_t { Other, CR, LF, Control, Extend, ZWJ, RI, Prepend, SpacingMark, L, V, T, LV, LVT, Pictographic };
  const char *begin = text.data(), *p = begin, *const end = begin + text.size();
  Decoded d = decode_utf8(p, end);
  std::uint8_t before = record(d.code_point).grapheme_break;
  p += d.length;
  bool emoji = before == Pictographic, joined = false;  // GB11: pictographic Extend* ZWJ x pictographic
  bool odd_flags = before == RI;                        // GB12
  while (p < end) {
    d = decode_utf8(p, end);
    const std::uint8_t now = record(d.code_point).grapheme_break;
    const auto ends = [](std::uint8_t c) { return c == CR || c == LF || c == Control; };
    const bool syllable = (before == L && (now == L || now == V || now == LV || now == LVT)) ||
                          ((before == LV || before == V) && (now == V || now == T)) ||
                          ((before == LVT || before == T) && now == T);
    const bool mark = now == Extend || now == ZWJ || now == SpacingMark || before == Prepend;
    const bool pair = (joined && now == Pictographic) || (before == RI && now == RI && odd_flags);
    const bool join = ends(before) || ends(now) ? before == CR && now == LF : syllable || mark || pair;
    if (!join) break;
    joined = emoji && now == ZWJ;
    emoji = now == Pictographic || (emoji && now == Extend);
    odd_flags = now == RI && !(before == RI && odd_flags);
    before = now;
    p += d.length;
  }
  return static_cast<std::size_t>(p - begin);
}

}  // namespace loom::text

// SentencePiece's precompiled character map: u32 size of a double-array trie in bytes, the trie (u32 units), then the
// replacements, each ended by a zero byte. Layout: darts-clone's 0.32 units.

#include <cstring>

#include "text/tokenizer/normalizer.h"

namespace loom::text {
namespace {

class Precompiled final : public Normalizer {
 public:
  Precompiled(std::vector<std::uint32_t> units, std::string replacements, bool by_grapheme)
      : units_(std::move(units)), replacements_(std::move(replacements)), by_grapheme_(by_grapheme) {}

  Result<void> rewrite(std::string& text, std::size_t limit) const override {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size() && out.size() <= limit;) {
      const std::string_view rest = std::string_view(text).substr(i);
      i += by_grapheme_ ? step_grapheme(rest, out) : step_longest(rest, out);
    }
    text = std::move(out);  // beyond the limit by one replacement at most: run() says so
    return {};
  }

 private:
  struct Found {
    std::size_t length = 0;  // 0: nothing
    std::uint32_t value = 0;
  };

  // The shortest or longest key that starts `text`.
  Found lookup(std::string_view text, bool longest) const {
    const auto base = [&](std::uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); };
    Found found;
    if (units_.empty()) return found;
    std::size_t node = base(units_[0]);
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<std::uint8_t>(text[i]);
      if (byte == 0) break;
      node ^= byte;
      if (node >= units_.size() || (units_[node] & (1u << 31 | 0xFF)) != byte) break;
      const std::uint32_t unit = units_[node];
      node ^= base(unit);
      if (((unit >> 8) & 1) == 0) continue;
      if (node >= units_.size()) break;
      found = {i + 1, units_[node] & 0x7FFFFFFF};
      if (!longest) break;
    }
    return found;
  }

  std::string_view replacement(std::uint32_t offset) const {
    if (offset >= replacements_.size()) return {};
    return std::string_view(replacements_.c_str() + offset);
  }

  // As the tokenizers package does: a whole short grapheme by the shortest key that starts it, else character by
  // character.
  std::size_t step_grapheme(std::string_view rest, std::string& out) const {
    const std::size_t size = grapheme_length(rest);
    if (size < 6) {
      if (const Found f = lookup(rest.substr(0, size), false); f.length != 0) {
        out += replacement(f.value);
        return size;
      }
    }
    for (std::size_t i = 0; i < size;) {
      const std::size_t length = decode_utf8(rest.data() + i, rest.data() + size).length;
      const Found f = lookup(rest.substr(i, length), false);
      out += f.length != 0 ? replacement(f.value) : rest.substr(i, length);
      i += length;
    }
    return size;
  }

  std::size_t step_longest(std::string_view rest, std::string& out) const {
    if (const Found f = lookup(rest, true); f.length != 0) {
      out += replacement(f.value);
      return f.length;
    }
    const std::size_t length = decode_utf8(rest.data(), rest.data() + rest.size()).length;
    out += rest.substr(0, length);
    return length;
  }

  std::vector<std::uint32_t> units_;
  std::string replacements_;
  bool by_grapheme_;
};

}  // namespace

Result<NormalizerPtr> make_precompiled(std::string_view charsmap, bool by_grapheme) {
  const auto word = [&](std::size_t offset) {
    std::uint32_t v = 0;
    for (std::size_t i = 0; i < 4; ++i)
      v |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(charsmap[offset + i])) << (8 * i);
    return v;
  };
  std::vector<std::uint32_t> units;
  std::string replacements;
  if (!charsmap.empty()) {
    if (charsmap.size() < 4)
      return fail(Code::CorruptData, "precompiled_charsmap has {} bytes, expected at least 4", charsmap.size());
    const std::size_t bytes = word(0);
    if (bytes % 4 != 0 || bytes > charsmap.size() - 4)
      return fail(Code::CorruptData, "precompiled_charsmap: a trie of {} bytes in {} bytes", bytes, charsmap.size());
    for (std::size_t i = 0; i < bytes; i += 4) units.push_back(word(4 + i));
    replacements = charsmap.substr(4 + bytes);
  }
  return NormalizerPtr(std::make_unique<Precompiled>(std::move(units), std::move(replacements), by_grapheme));
}

}  // namespace loom::text

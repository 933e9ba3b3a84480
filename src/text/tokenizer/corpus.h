#pragma once
// For tests: the strings of tools/golden/tokenizer_ids.py, generated the same way.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "text/tokenizer/test_data.h"
#include "text/unicode/utf8.h"

namespace loom::text::fixtures {

inline constexpr std::pair<std::uint32_t, std::uint32_t> kRanges[] = {
    {0x20, 0x7E},       {0x01, 0x1F},       {0xA0, 0x17F},      {0x180, 0x24F},     {0x300, 0x36F},
    {0x391, 0x3A1},     {0x3A3, 0x3FF},     {0x400, 0x45F},     {0x531, 0x556},     {0x5D0, 0x5EA},
    {0x621, 0x64A},     {0x64B, 0x652},     {0x660, 0x669},     {0x904, 0x939},     {0x93E, 0x94D},
    {0x966, 0x96F},     {0xE01, 0xE3A},     {0xE40, 0xE5B},     {0x10D0, 0x10F0},   {0x1100, 0x1112},
    {0x1161, 0x1175},   {0x11A8, 0x11C2},   {0x1780, 0x17B3},   {0x1E00, 0x1EFF},   {0x2000, 0x200A},
    {0x200B, 0x200F},   {0x2010, 0x2027},   {0x2028, 0x2029},   {0x2030, 0x205E},   {0x2070, 0x2070},
    {0x2074, 0x208E},   {0x20A0, 0x20B5},   {0x2100, 0x214F},   {0x2160, 0x2188},   {0x2190, 0x22FF},
    {0x2460, 0x24FF},   {0x2500, 0x25FF},   {0x2600, 0x26FF},   {0x3000, 0x3003},   {0x3041, 0x3096},
    {0x30A1, 0x30FA},   {0x4E00, 0x9FA5},   {0xAC00, 0xD7A3},   {0xF900, 0xFA2D},   {0xFB00, 0xFB06},
    {0xFE0F, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFF01, 0xFF5E},   {0xFFFD, 0xFFFD},   {0x1D400, 0x1D454},
    {0x1F1E6, 0x1F1FF}, {0x1F300, 0x1F320}, {0x1F600, 0x1F640}, {0x1F3FB, 0x1F3FB}, {0x20000, 0x2A6D6},
    {0x85, 0x85},       {0x7F, 0x7F}};

inline const std::vector<std::string>& corpus_words() {
  static const std::vector<std::string> words = {"I'm",
                                                 "we'll",
                                                 "DON'T",
                                                 "they'Ve",
                                                 "it's",
                                                 "'S",
                                                 "'\u017f",
                                                 " ",
                                                 "  ",
                                                 "   ",
                                                 "\n",
                                                 "\r\n",
                                                 "\n\n",
                                                 "\t",
                                                 "3",
                                                 "33",
                                                 "333",
                                                 "3333",
                                                 "1,234.56",
                                                 "0x1F",
                                                 "Hello",
                                                 "world",
                                                 "ABC",
                                                 "abcDEF",
                                                 "naïve",
                                                 "Ünïcödé",
                                                 "e\u0301",
                                                 "A\u030a",
                                                 "ﬁ",
                                                 "Ⅷ",
                                                 "½",
                                                 "٣٤",
                                                 "你好",
                                                 "世界",
                                                 "東京",
                                                 "한국어",
                                                 "สวัสดี",
                                                 "नमस्ते",
                                                 "Привет",
                                                 "שלום",
                                                 "مرحبا",
                                                 "🙂",
                                                 "👩‍👩‍👧",
                                                 "🏳️‍🌈",
                                                 "🇩🇪",
                                                 "=====",
                                                 "...",
                                                 "!?",
                                                 "```",
                                                 "//",
                                                 "<>",
                                                 "</s>",
                                                 "<s>",
                                                 "<|im_start|>",
                                                 "<|im_end|>",
                                                 "<|endoftext|>",
                                                 "<|eot_id|>",
                                                 "<bos>",
                                                 "<unk>",
                                                 "[MASK]",
                                                 "[CLS]",
                                                 "<mask>",
                                                 "<think>",
                                                 "<0x0A>",
                                                 "▁",
                                                 "Ġ",
                                                 "##ing",
                                                 "\u00a0",
                                                 "\u3000",
                                                 "\u200b",
                                                 "__",
                                                 "a_b",
                                                 "x=1;",
                                                 "{}",
                                                 "(the)",
                                                 "$9.99",
                                                 "50%",
                                                 "#tag",
                                                 "@me",
                                                 "http://a.b/c?d=e&f",
                                                 "İstanbul",
                                                 "straße",
                                                 "ΣΑΣ",
                                                 std::string("\0", 1),
                                                 "\x1c"};
  return words;
}

// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return next() % n; }

 private:
  std::uint64_t state_;
};

class Corpus {
 public:
  Corpus() {
    add_lines(read_file(data_path("text/botchan.txt")));
    std::vector<std::string> paths;
    for (const auto& e : std::filesystem::recursive_directory_iterator(data_path("text/chatterbot")))
      if (e.path().extension() == ".yml") paths.push_back(e.path().string());
    std::sort(paths.begin(), paths.end());
    for (const auto& p : paths) add_lines(read_file(p));
  }

  std::string text(std::size_t i) const {
    Random r(i);
    const auto& words = corpus_words();
    const auto point_of = [&](std::pair<std::uint32_t, std::uint32_t> range) {
      return range.first + static_cast<std::uint32_t>(r.below(range.second - range.first + 1));
    };
    std::string out;
    switch (i % 4) {
      case 0: return lines_[r.below(lines_.size())];
      case 1:
        for (auto n = 1 + r.below(12); n > 0; --n) {
          out += words[r.below(words.size())];
          if (r.below(2) != 0) out += ' ';
        }
        return out;
      case 2:
        for (auto n = 1 + r.below(6); n > 0; --n) {
          const auto range = kRanges[r.below(std::size(kRanges))];
          for (auto k = 1 + r.below(8); k > 0; --k) append_utf8(out, point_of(range));
        }
        return out;
      default: {
        const std::string& line = lines_[r.below(lines_.size())];
        int points = 0;
        for_each_code_point(line, [&](std::uint32_t c) {
          if (points++ < 40) append_utf8(out, c);
        });
        for (auto n = r.below(10); n > 0; --n) {
          append_utf8(out, point_of(kRanges[r.below(std::size(kRanges))]));
          out += words[r.below(words.size())];
        }
        return out;
      }
    }
  }

 private:
  void add_lines(const std::string& text) {
    for (std::size_t at = 0;;) {
      const std::size_t end = text.find('\n', at);
      lines_.push_back(text.substr(at, end == std::string::npos ? end : end - at));
      if (end == std::string::npos) return;
      at = end + 1;
    }
  }
  std::vector<std::string> lines_;
};

}  // namespace loom::text::fixtures

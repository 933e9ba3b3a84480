#include "senses.h"

#include <cmath>
#include <vector>

#include "core/json.h"
#include "core/philox.h"

namespace creature {
namespace {

constexpr float kWordLength = 2.5f, kTouchHeight = 2.0f, kMoodScale = 0.8f;

void add(std::string_view piece, float amount, std::span<float, kInputs> x) {
  const std::uint32_t h =
      loom::philox4x32(loom::random_site(piece), {static_cast<std::uint32_t>(piece.size()), 0, 0, 0})[0];
  x[h % kWordInputs] += (h >> 31) != 0 ? amount : -amount;
}

void add_word(std::string_view word, std::span<float, kInputs> x) {
  // Short words (a, the, to, me) are in everything and say little.
  const float amount = word.size() <= 3 ? 0.35f : 1.0f;
  add(word, amount, x);
  const std::string edged = "<" + std::string(word) + ">";
  for (std::size_t i = 0; i + 3 <= edged.size(); ++i) add(std::string_view(edged).substr(i, 3), 0.6f * amount, x);
}

}  // namespace

std::string tidy(std::string_view line) {
  const bool readable = loom::is_utf8(line);
  std::string out;
  for (char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '\'' || (byte >= 0x80 && readable);
    if (letter)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  if (out.size() > kMaxWordBytes) {
    std::size_t end = kMaxWordBytes;
    while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xc0) == 0x80) --end;  // not inside a character
    out.resize(end);
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

void sense(const Situation& situation, std::span<float, kInputs> x) {
  std::fill(x.begin(), x.end(), 0.0f);
  for (std::size_t begin = 0; begin < situation.words.size();) {
    const std::size_t end = std::min(situation.words.find(' ', begin), situation.words.size());
    add_word(std::string_view(situation.words).substr(begin, end - begin), x);
    begin = end + 1;
  }
  float squares = 0;
  for (std::size_t i = 0; i < kWordInputs; ++i) squares += x[i] * x[i];
  if (squares > 0) {
    const float scale = kWordLength / std::sqrt(squares);
    for (std::size_t i = 0; i < kWordInputs; ++i) x[i] *= scale;
  }
  const bool silence = situation.words.empty() && situation.touch == Touch::none;
  if (silence || situation.touch != Touch::none)
    x[kWordInputs + static_cast<std::size_t>(situation.touch)] = kTouchHeight;
  const std::array<int, 5> mood = situation.mood.values();
  for (std::size_t i = 0; i < mood.size(); ++i)
    x[kWordInputs + kTouches.size() + i] = kMoodScale * (static_cast<float>(mood[i] - 500) / 500.0f);
}

}  // namespace creature

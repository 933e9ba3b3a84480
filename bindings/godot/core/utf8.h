// Text of a language model as valid UTF-8: pieces may end inside of a character, and a model may draw bytes that are no
// UTF-8, which the engines refuse.
#pragma once

#include <string>
#include <string_view>

namespace loom_godot {

class Utf8 {
 public:
  // Returns the characters that are complete after this piece. Wrong bytes and NUL become U+FFFD.
  std::string take(std::string_view piece) {
    pending_.append(piece);
    return drain(false);
  }
  // Returns the rest; an unfinished character becomes U+FFFD.
  std::string finish() { return drain(true); }

  static std::string clean(std::string_view text) {
    Utf8 one;
    std::string out = one.take(text);
    return out + one.finish();
  }

 private:
  std::string drain(bool is_end) {
    std::string out;
    std::size_t at = 0;
    while (at < pending_.size()) {
      const std::size_t size = size_at(at);
      if (size == 0 && !is_end) break;  // more bytes may complete it
      if (size == 0 || size == kWrong) {
        out += "\xEF\xBF\xBD";
        at += 1;
      } else {
        out.append(pending_, at, size);
        at += size;
      }
    }
    pending_.erase(0, at);
    return out;
  }

  // Returns the bytes of the character that begins at a place: 0 if the text ends inside of it.
  std::size_t size_at(std::size_t at) const {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(pending_[at + i]); };
    const unsigned char first = byte(0);
    if (first == 0) return kWrong;
    if (first < 0x80) return 1;
    const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4) return kWrong;
    for (std::size_t i = 1; i < size; ++i) {
      if (at + i >= pending_.size()) return 0;
      // The second byte excludes overlong forms, surrogates and numbers above U+10FFFF.
      const unsigned char least = i > 1 ? 0x80 : first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
      const unsigned char most = i > 1 ? 0xBF : first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
      if (byte(i) < least || byte(i) > most) return kWrong;
    }
    return size;
  }

  static constexpr std::size_t kWrong = static_cast<std::size_t>(-1);
  std::string pending_;
};

}  // namespace loom_godot

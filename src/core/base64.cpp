#include "core/base64.h"

#include <array>
#include <cstdint>

namespace loom {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 64;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  return values;
}();

}  // namespace

std::string base64_encode(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < n ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) text += k <= n ? kAlphabet[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

Result<std::vector<std::byte>> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0)
    return fail(Code::CorruptData, "Base64 of {} characters, expected a multiple of 4", text.size());
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::size_t pad = i + 4 == text.size() ? padding : 0;
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::uint8_t value = k < 4 - pad ? kValues[static_cast<unsigned char>(text[i + k])] : 0;
      if (value == kNone)
        return fail(Code::CorruptData, "Base64 at character {}: byte 0x{:02x} is not of its alphabet", i + k,
                    static_cast<unsigned char>(text[i + k]));
      bits = bits << 6 | value;
    }
    if ((bits & ((1u << (8 * pad)) - 1)) != 0)
      return fail(Code::CorruptData, "Base64 at character {}: unused bits are not zero", i + 3 - pad);
    for (std::size_t k = 0; k < 3 - pad; ++k) bytes.push_back(static_cast<std::byte>(bits >> (16 - 8 * k) & 255));
  }
  return bytes;
}

}  // namespace loom

#include "pull/git_hash.h"

#include <fmt/format.h>

#include <bit>

namespace loom::pull {

GitHash::GitHash(std::uint64_t bytes) {
  const std::string head = fmt::format("blob {}", bytes);
  update(std::as_bytes(std::span(head.c_str(), head.size() + 1)));
}

void GitHash::update(std::span<const std::byte> bytes) {
  for (const std::byte b : bytes) {
    pending_[total_++ % 64] = std::to_integer<std::uint8_t>(b);
    if (total_ % 64 == 0) block(pending_.data());
  }
}

std::string GitHash::finish() {
  const std::uint64_t bits = total_ * 8;
  const std::byte one{0x80}, zero{0};
  update(std::span(&one, 1));
  while (total_ % 64 != 56) update(std::span(&zero, 1));
  std::array<std::byte, 8> length{};
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  update(length);
  std::string out;
  for (const std::uint32_t word : state_) out += fmt::format("{:08x}", word);
  return out;
}

void GitHash::block(const std::uint8_t* bytes) {
  std::array<std::uint32_t, 80> w{};
  for (std::size_t i = 0; i < 16; ++i)
    w[i] = std::uint32_t{bytes[4 * i]} << 24 | std::uint32_t{bytes[4 * i + 1]} << 16 |
           std::uint32_t{bytes[4 * i + 2]} << 8 | std::uint32_t{bytes[4 * i + 3]};
  for (std::size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = state_;
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t f = 0, k = 0;
    if (i < 20)
      f = (b & c) | (~b & d), k = 0x5a827999;
    else if (i < 40)
      f = b ^ c ^ d, k = 0x6ed9eba1;
    else if (i < 60)
      f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
    else
      f = b ^ c ^ d, k = 0xca62c1d6;
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
    e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
  }
  state_[0] += a, state_[1] += b, state_[2] += c, state_[3] += d, state_[4] += e;
}

}  // namespace loom::pull

#pragma once
// The name that git gives a file's content: SHA-1 (FIPS 180-4) of "blob SIZE", a zero byte and the bytes. It finds
// damage of small files; it proves nothing against an attacker.

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace loom::pull {

class GitHash {
 public:
  explicit GitHash(std::uint64_t bytes);  // of the whole content
  void update(std::span<const std::byte> bytes);
  std::string finish();  // 40 hexadecimal digits

 private:
  void block(const std::uint8_t* bytes);
  std::array<std::uint32_t, 5> state_{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::array<std::uint8_t, 64> pending_{};
  std::uint64_t total_ = 0;
};

}  // namespace loom::pull

#pragma once
// SHA-256 (FIPS 180-4): file sections, model identities and the digests that `loom verify` prints.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace loom {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  // Digests of numbers use these, which feed them little-endian on every host.
  void update_u32(std::uint32_t value);
  void update_floats(std::span<const float> values);
  Digest finish();

 private:
  friend void sha256_each(std::span<const std::span<const std::byte>> inputs, std::span<Digest> digests);
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};
  std::uint64_t total_ = 0;
};

// The digest of each input. The instructions of a CPU for SHA-256 wait for one another, so two inputs are worked on in
// turns: the whole takes about two thirds of the time.
void sha256_each(std::span<const std::span<const std::byte>> inputs, std::span<Digest> digests);

std::string to_hex(const Digest& digest);

}  // namespace loom

#pragma once
// Numbers in files are little-endian and at any address; hosts may be neither. Compilers turn these into one load or
// store.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace loom {

template <std::size_t kBytes>
using UnsignedOf = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t, std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
T load_le(const std::byte* from) {
  using U = UnsignedOf<sizeof(T)>;
  U bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bits = static_cast<U>(bits | static_cast<U>(static_cast<U>(from[i]) << (8 * i)));
  return std::bit_cast<T>(bits);
}

template <class T>
void store_le(std::byte* to, T value) {
  const auto bits = std::bit_cast<UnsignedOf<sizeof(T)>>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
}

}  // namespace loom

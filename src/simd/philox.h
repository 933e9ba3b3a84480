#pragma once
// The uniform numbers of a random stream (core/philox.h) for kernels, sixteen blocks of the generator at a time: blocks
// do not depend on each other, and compilers turn the loop over them into lanes.

#include "core/philox.h"
#include "simd/orders.h"

namespace loom::inline LOOM_TARGET {

inline constexpr std::size_t kRandomWords = 64;  // of sixteen blocks

// to[i] = the word of element 4 * block + i of the stream.
inline __attribute__((noinline)) void random_words(const RandomStream& stream, std::uint64_t block, std::uint32_t* to) {
  for (std::uint64_t index = block; index < block + kLanes; ++index, to += 4) {
    auto c0 = static_cast<std::uint32_t>(index), c2 = stream.step, c3 = stream.site,
         c1 = static_cast<std::uint32_t>(stream.domain) << 16 | (static_cast<std::uint32_t>(index >> 32) & 0xffffu);
    auto k0 = static_cast<std::uint32_t>(stream.seed), k1 = static_cast<std::uint32_t>(stream.seed >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
      const std::uint64_t a = std::uint64_t{0xd2511f53u} * c0, b = std::uint64_t{0xcd9e8d57u} * c2;
      c0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ k0, c1 = static_cast<std::uint32_t>(b);
      c2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ k1, c3 = static_cast<std::uint32_t>(a);
    }
    to[0] = c0, to[1] = c1, to[2] = c2, to[3] = c3;
  }
}

// f(i, count, u): the uniform numbers u of elements [first + i, first + i + count) of the stream, ascending i, all n of
// them. At most kRandomWords come at a time, in memory that has room for sixteen more.
template <class T, class F>
LOOM_INLINE void for_uniforms(const RandomStream& stream, std::uint64_t first, std::size_t n, F&& f) {
  alignas(64) std::uint32_t words[kRandomWords];
  alignas(64) T u[kRandomWords + kLanes] = {};
  for (std::size_t i = 0; i < n;) {
    const std::size_t skip = (first + i) % 4;
    const std::size_t count = n - i < kRandomWords - skip ? n - i : kRandomWords - skip;
    random_words(stream, (first + i) / 4, words);
    for (std::size_t k = 0; k < kRandomWords; ++k)  // as uniform_of()
      u[k] = static_cast<T>((static_cast<float>(static_cast<std::int32_t>(words[k] >> 9)) + 0.5f) * 0x1p-23f);
    f(i, count, static_cast<const T*>(u + skip));
    i += count;
  }
}

}  // namespace loom::inline LOOM_TARGET

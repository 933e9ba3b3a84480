#pragma once
// Philox4x32-10 (Salmon et al. 2011): random words as a function of (seed, counter), so no stream has to be shared or
// saved. Counter layout and uniforms: engine N-08.

#include <array>
#include <cstdint>
#include <string_view>

namespace loom {

using PhiloxBlock = std::array<std::uint32_t, 4>;

constexpr PhiloxBlock philox4x32(std::uint64_t key, PhiloxBlock counter) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
    const std::uint64_t a = std::uint64_t{0xd2511f53u} * counter[0], b = std::uint64_t{0xcd9e8d57u} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(a)};
  }
  return counter;
}

enum class RandomDomain : std::uint32_t {
  Init = 1,
  Dropout,
  Gumbel,
  Shuffle,
  Sample,
  Mutate,
  Splice,
  Cluster,
  Noise,
  StochasticRounding
};

// FNV-1a of a layer path and weight name: the `site` of a random stream.
constexpr std::uint32_t random_site(std::string_view path) {
  std::uint32_t h = 2166136261u;
  for (const char c : path) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return h;
}

// A uniform number in (0, 1), exact in f32.
constexpr float uniform_of(std::uint32_t word) { return (static_cast<float>(word >> 9) + 0.5f) * 0x1p-23f; }

struct RandomStream {
  std::uint64_t seed = 0;
  RandomDomain domain = RandomDomain::Init;
  std::uint32_t step = 0;
  std::uint32_t site = 0;

  // The words of elements 4 index to 4 index + 3.
  constexpr PhiloxBlock block(std::uint64_t index) const {
    const auto high = static_cast<std::uint32_t>(index >> 32) & 0xffffu;
    return philox4x32(seed,
                      {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(domain) << 16 | high, step, site});
  }
  constexpr std::uint32_t word(std::uint64_t element) const { return block(element / 4)[element % 4]; }
  constexpr float uniform(std::uint64_t element) const { return uniform_of(word(element)); }
  // Returns a number below `bound`.
  constexpr std::uint32_t below(std::uint64_t element, std::uint32_t bound) const {
    return static_cast<std::uint32_t>((std::uint64_t{word(element)} * bound) >> 32);
  }
};

}  // namespace loom

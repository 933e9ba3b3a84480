// SHA-256 by the instructions of x86 (SHA-NI) and ARMv8, in functions compiled for these instruction sets: the rest of
// the file must run on any CPU.

#include "core/sha256_blocks.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_neon.h>
#include <sys/auxv.h>
#endif

namespace loom {

#if defined(__x86_64__) || defined(__i386__)
namespace {

// A state as the instructions keep it: (f e b a) and (h g d c), low word first.
struct ShaState {
  __m128i feba, hgdc;
};

__attribute__((target("sha,sse4.1,ssse3"), always_inline)) inline ShaState sha_load(const std::uint32_t* state) {
  const auto* const words = reinterpret_cast<const __m128i*>(state);
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xb1),
                hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1b);
  return {_mm_alignr_epi8(badc, hgfe, 8), _mm_blend_epi16(hgfe, badc, 0xf0)};
}

__attribute__((target("sha,sse4.1,ssse3"), always_inline)) inline void sha_store(std::uint32_t* state, ShaState s) {
  auto* const words = reinterpret_cast<__m128i*>(state);
  const __m128i abef = _mm_shuffle_epi32(s.feba, 0x1b), dchg = _mm_shuffle_epi32(s.hgdc, 0xb1);
  _mm_storeu_si128(words, _mm_blend_epi16(abef, dchg, 0xf0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, abef, 8));
}

// Four rounds, of which `i` is the number; w holds sixteen words of the schedule in turns.
__attribute__((target("sha,sse4.1,ssse3"), always_inline)) inline void sha_four_rounds(ShaState& s, __m128i* w, int i,
                                                                                       const std::uint8_t* p) {
  __m128i& now = w[i % 4];
  if (i < 4) {
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    now = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i), big_endian);
  } else {
    const __m128i last = w[(i + 3) % 4];
    now = _mm_sha256msg2_epu32(
        _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) % 4]), _mm_alignr_epi8(last, w[(i + 2) % 4], 4)), last);
  }
  const __m128i sum = _mm_add_epi32(now, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kSha256Round.data()) + i));
  s.hgdc = _mm_sha256rnds2_epu32(s.hgdc, s.feba, sum);
  s.feba = _mm_sha256rnds2_epu32(s.feba, s.hgdc, _mm_shuffle_epi32(sum, 0x0e));
}

__attribute__((target("sha,sse4.1,ssse3"), always_inline)) inline ShaState sha_sum(ShaState x, ShaState y) {
  return {_mm_add_epi32(x.feba, y.feba), _mm_add_epi32(x.hgdc, y.hgdc)};
}

__attribute__((target("sha,sse4.1,ssse3"))) void sha_ni(std::uint32_t* state, const std::uint8_t* p,
                                                        std::size_t blocks) {
  ShaState s = sha_load(state);
  for (; blocks > 0; --blocks, p += 64) {
    const ShaState before = s;
    __m128i w[4];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) sha_four_rounds(s, w, i, p);
    s = sha_sum(s, before);
  }
  sha_store(state, s);
}

// A round waits four cycles or more for the one before it: the rounds of another input find room in between.
__attribute__((target("sha,sse4.1,ssse3"))) void sha_ni_pair(std::uint32_t* state_a, const std::uint8_t* a,
                                                             std::uint32_t* state_b, const std::uint8_t* b,
                                                             std::size_t blocks) {
  ShaState s = sha_load(state_a), t = sha_load(state_b);
  for (; blocks > 0; --blocks, a += 64, b += 64) {
    const ShaState before_s = s, before_t = t;
    __m128i v[4], w[4];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      sha_four_rounds(s, v, i, a);
      sha_four_rounds(t, w, i, b);
    }
    s = sha_sum(s, before_s), t = sha_sum(t, before_t);
  }
  sha_store(state_a, s), sha_store(state_b, t);
}

}  // namespace

Sha256Blocks sha256_of_cpu() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_SSSE3) == 0 || (c & bit_SSE4_1) == 0) return nullptr;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (b & bit_SHA) == 0) return nullptr;
  return sha_ni;
}

Sha256PairBlocks sha256_pair_of_cpu() { return sha256_of_cpu() != nullptr ? sha_ni_pair : nullptr; }

#elif defined(__aarch64__) && defined(__linux__)
namespace {

#ifdef __clang__
__attribute__((target("sha2")))
#else
__attribute__((target("+crypto")))
#endif
void sha_armv8(std::uint32_t* state, const std::uint8_t* p, std::size_t blocks) {
  uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
  for (; blocks > 0; --blocks, p += 64) {
    const uint32x4_t abcd_before = abcd, efgh_before = efgh;
    uint32x4_t w[4];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      uint32x4_t& now = w[i % 4];
      if (i < 4)
        now = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(p + 16 * i)));
      else
        now = vsha256su1q_u32(vsha256su0q_u32(now, w[(i + 1) % 4]), w[(i + 2) % 4], w[(i + 3) % 4]);
      const uint32x4_t sum = vaddq_u32(now, vld1q_u32(kSha256Round.data() + 4 * i)), abcd_now = abcd;
      abcd = vsha256hq_u32(abcd, efgh, sum);
      efgh = vsha256h2q_u32(efgh, abcd_now, sum);
    }
    abcd = vaddq_u32(abcd, abcd_before), efgh = vaddq_u32(efgh, efgh_before);
  }
  vst1q_u32(state, abcd), vst1q_u32(state + 4, efgh);
}

}  // namespace

Sha256Blocks sha256_of_cpu() {
  constexpr unsigned long kSha2 = 1UL << 6;  // HWCAP_SHA2
  return (getauxval(AT_HWCAP) & kSha2) != 0 ? sha_armv8 : nullptr;
}

// Interleaving two inputs was not measured on ARMv8.
Sha256PairBlocks sha256_pair_of_cpu() { return nullptr; }

#else

Sha256Blocks sha256_of_cpu() { return nullptr; }
Sha256PairBlocks sha256_pair_of_cpu() { return nullptr; }

#endif

}  // namespace loom

// The instructions for SHA-256 of x86 (SHA-NI) and ARMv8. They stand here, in functions of their own target, since the
// file around them must run on any CPU.

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

__attribute__((target("sha,sse4.1,ssse3"))) void sha_ni(std::uint32_t* state, const std::uint8_t* p,
                                                        std::size_t blocks) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  auto* const words = reinterpret_cast<__m128i*>(state);
  // The instructions keep the state as (f e b a) and (h g d c), low word first.
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xb1),
                hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1b);
  __m128i feba = _mm_alignr_epi8(badc, hgfe, 8), hgdc = _mm_blend_epi16(hgfe, badc, 0xf0);
  for (; blocks > 0; --blocks, p += 64) {
    const __m128i feba_before = feba, hgdc_before = hgdc;
    __m128i w[4];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      __m128i& now = w[i % 4];
      if (i < 4) {
        now = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i), big_endian);
      } else {
        const __m128i last = w[(i + 3) % 4];
        now = _mm_sha256msg2_epu32(
            _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) % 4]), _mm_alignr_epi8(last, w[(i + 2) % 4], 4)), last);
      }
      const __m128i sum =
          _mm_add_epi32(now, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kSha256Round.data()) + i));
      hgdc = _mm_sha256rnds2_epu32(hgdc, feba, sum);
      feba = _mm_sha256rnds2_epu32(feba, hgdc, _mm_shuffle_epi32(sum, 0x0e));
    }
    feba = _mm_add_epi32(feba, feba_before), hgdc = _mm_add_epi32(hgdc, hgdc_before);
  }
  const __m128i abef = _mm_shuffle_epi32(feba, 0x1b), dchg = _mm_shuffle_epi32(hgdc, 0xb1);
  _mm_storeu_si128(words, _mm_blend_epi16(abef, dchg, 0xf0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, abef, 8));
}

}  // namespace

Sha256Blocks sha256_of_cpu() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_SSSE3) == 0 || (c & bit_SSE4_1) == 0) return nullptr;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (b & bit_SHA) == 0) return nullptr;
  return sha_ni;
}

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

#else

Sha256Blocks sha256_of_cpu() { return nullptr; }

#endif

}  // namespace loom

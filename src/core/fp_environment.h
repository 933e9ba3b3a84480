#pragma once
// Loom's floating-point environment: round to nearest even, no flush of subnormals, no traps. Hosts (audio code, games)
// often set another one, so every entry and every worker sets ours and restores the host's.

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace loom {

class FpEnvironment {
 public:
#if defined(__SSE2__)
  FpEnvironment() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }  // all exceptions masked, nearest, FTZ and DAZ off
  ~FpEnvironment() { _mm_setcsr((saved_ & ~0x3fu) | (_mm_getcsr() & 0x3fu)); }
#elif defined(__aarch64__)
  FpEnvironment() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
    __asm__ volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
  }
  ~FpEnvironment() { __asm__ volatile("msr fpcr, %0" : : "r"(saved_)); }
#else
  FpEnvironment() : saved_(0) { (void)saved_; }
#endif
  FpEnvironment(const FpEnvironment&) = delete;
  FpEnvironment& operator=(const FpEnvironment&) = delete;

 private:
#if defined(__aarch64__)
  std::uint64_t saved_ = 0;
#else
  std::uint32_t saved_;
#endif
};

}  // namespace loom

#pragma once
// Codecs of the float panels: sixteen elements of one column to f32, exactly.

#include "int_dot.h"  // of the target, on the include path
#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

struct Float32Codec {
  static constexpr std::size_t kColumnBytes = 64;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) { return load(reinterpret_cast<const float*>(p)); }
};

struct Float16Codec {
  static constexpr std::size_t kColumnBytes = 32;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) {
    F32x16 v;
    for (std::size_t i = 0; i < kRegisters; ++i) v.r[i] = load_halfs(reinterpret_cast<const std::uint16_t*>(p) + i * kRegisterLanes);
    return v;
  }
};

struct BFloat16Codec {
  static constexpr std::size_t kColumnBytes = 32;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) {
    using U16 [[gnu::vector_size(kRegisterBytes / 2), gnu::aligned(2), gnu::may_alias]] = std::uint16_t;
    F32x16 v;
    for (std::size_t i = 0; i < kRegisters; ++i) {
      const U16 half = *reinterpret_cast<const U16*>(p + i * kRegisterBytes / 2);
      v.r[i] = (native::F32)(__builtin_convertvector(half, native::U32) << 16);
    }
    return v;
  }
};

}  // namespace loom::inline LOOM_TARGET

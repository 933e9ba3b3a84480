#pragma once
// Which SIMD targets were compiled in, and which of them this CPU can run. Tables of kernels lie in the namespace named after
// their target: LOOM_COMPILED_TARGETS(X) expands X(name) for each, weakest first.

#include "loom_targets.h"  // written by cmake/LoomToolchain.cmake

namespace loom {

enum class Target { scalar, sse4, avx2, avx512, neon, wasm128 };
bool cpu_runs(Target target);

}  // namespace loom

#if LOOM_HAS_TARGET_SCALAR
#define LOOM_IF_SCALAR(X) X(scalar)
#else
#define LOOM_IF_SCALAR(X)
#endif
#if LOOM_HAS_TARGET_SSE4
#define LOOM_IF_SSE4(X) X(sse4)
#else
#define LOOM_IF_SSE4(X)
#endif
#if LOOM_HAS_TARGET_AVX2
#define LOOM_IF_AVX2(X) X(avx2)
#else
#define LOOM_IF_AVX2(X)
#endif
#if LOOM_HAS_TARGET_AVX512
#define LOOM_IF_AVX512(X) X(avx512)
#else
#define LOOM_IF_AVX512(X)
#endif
#if LOOM_HAS_TARGET_NEON
#define LOOM_IF_NEON(X) X(neon)
#else
#define LOOM_IF_NEON(X)
#endif
#if LOOM_HAS_TARGET_WASM128
#define LOOM_IF_WASM128(X) X(wasm128)
#else
#define LOOM_IF_WASM128(X)
#endif
#define LOOM_COMPILED_TARGETS(X) LOOM_IF_SCALAR(X) LOOM_IF_SSE4(X) LOOM_IF_AVX2(X) LOOM_IF_AVX512(X) LOOM_IF_NEON(X) LOOM_IF_WASM128(X)

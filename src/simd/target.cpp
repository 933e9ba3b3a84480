#include "simd/target.h"

#include <cstddef>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <string_view>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__aarch64__) && defined(_WIN32)
#include <windows.h>
#endif

namespace loom {

// A row's question on its own kind of processor; no other kind runs it, nor knows the names of its features.
#define LOOM_RUNS_ON_any(features) true
#define LOOM_RUNS_ON_x86(features) false
#define LOOM_RUNS_ON_arm(features) false
#define LOOM_RUNS_ON_wasm(features) false
#if defined(__x86_64__) || defined(__i386__)
#undef LOOM_RUNS_ON_x86
#define LOOM_RUNS_ON_x86(features) (true features)
#define LOOM_NEEDS(feature) &&has(number_of(#feature))

namespace {

// This file reads CPUID itself: the runtime of Zig, which builds wheels, does not support __builtin_cpu_supports().
enum Word { kLeaf1C, kLeaf7B, kLeaf7C, kLeaf7D, kWords };
constexpr unsigned kYmm = 0x06, kZmm = 0xe6, kTiles = 0x60000;  // registers that the system must save, as bits of XCR0
constexpr struct Feature {
  std::string_view name;
  Word word;
  unsigned bit, state;
} kFeatures[] = {{"ssse3", kLeaf1C, 9, 0},         {"sse4.1", kLeaf1C, 19, 0},        {"f16c", kLeaf1C, 29, kYmm},
                 {"fma", kLeaf1C, 12, kYmm},       {"avx2", kLeaf7B, 5, kYmm},        {"bmi2", kLeaf7B, 8, 0},
                 {"avx512f", kLeaf7B, 16, kZmm},   {"avx512dq", kLeaf7B, 17, kZmm},   {"avx512bw", kLeaf7B, 30, kZmm},
                 {"avx512vl", kLeaf7B, 31, kZmm},  {"avx512vnni", kLeaf7C, 11, kZmm}, {"amx-bf16", kLeaf7D, 22, kTiles},
                 {"amx-tile", kLeaf7D, 24, kTiles}};

// A name that the table lacks does not compile: the index leaves it.
consteval unsigned number_of(std::string_view name) {
  unsigned i = 0;
  while (kFeatures[i].name != name) ++i;
  return i;
}

// Linux saves tiles for processes that have asked for it; no other system is known to be asked.
bool may_use_tiles() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA
  return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
#else
  return false;
#endif
}

struct Processor {
  unsigned words[kWords] = {};
  unsigned saved = 0;
};

Processor ask() {
  Processor p;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return p;
  p.words[kLeaf1C] = c;
  constexpr unsigned kSystemSaves = 1u << 27;  // and XGETBV shows which: OSXSAVE
  if ((c & kSystemSaves) != 0) asm volatile("xgetbv" : "=a"(p.saved), "=d"(d) : "c"(0));
#if defined(__APPLE__)
  if ((p.saved & kYmm) == kYmm) p.saved |= kZmm;  // macOS saves these from their first use on, and says so then
#endif
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) p.words[kLeaf7B] = b, p.words[kLeaf7C] = c, p.words[kLeaf7D] = d;
  if ((p.saved & kTiles) == kTiles && !may_use_tiles()) p.saved &= ~kTiles;
  return p;
}

bool has(unsigned number) {
  static const Processor processor = ask();
  const Feature& f = kFeatures[number];
  return (processor.words[f.word] >> f.bit & 1) != 0 && (processor.saved & f.state) == f.state;
}

}  // namespace

#elif defined(__aarch64__)
#undef LOOM_RUNS_ON_arm
#define LOOM_RUNS_ON_arm(features) (true features)
#define LOOM_NEEDS(feature) &&has_##feature()

namespace {

// A feature as each of three systems lists it; no other system is asked.
struct Feature {
  unsigned long word, bit;  // of Linux's auxiliary vector
  const char* name;         // of macOS
  unsigned number;          // of Windows
};

bool has([[maybe_unused]] const Feature& f) {
#if defined(__linux__)
  return (getauxval(f.word) >> f.bit & 1) != 0;
#elif defined(__APPLE__)
  int value = 0;
  std::size_t bytes = sizeof value;
  return sysctlbyname(f.name, &value, &bytes, nullptr, 0) == 0 && value != 0;
#elif defined(_WIN32)
  return IsProcessorFeaturePresent(f.number) != 0;
#else
  return false;
#endif
}

constexpr unsigned long kHwcap = 16, kHwcap2 = 26;  // AT_HWCAP, AT_HWCAP2
// HWCAP_ASIMDDP, PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE
bool has_dotprod() { return has({kHwcap, 20, "hw.optional.arm.FEAT_DotProd", 43}); }
// HWCAP2_I8MM, PF_ARM_V82_I8MM_INSTRUCTIONS_AVAILABLE
bool has_i8mm() { return has({kHwcap2, 13, "hw.optional.arm.FEAT_I8MM", 66}); }

}  // namespace

#elif defined(__wasm__)  // a module with SIMD does not load where there is none
#undef LOOM_RUNS_ON_wasm
#define LOOM_RUNS_ON_wasm(features) true
#endif

bool cpu_runs(Isa isa) {
#define LOOM_SIMD_TARGET(name, processor, bytes, features) \
  if (isa == Isa::name) return LOOM_RUNS_ON_##processor(features);
#define LOOM_SIMD_VARIANT(name, processor, target, features) \
  if (isa == Isa::name) return cpu_runs(Isa::target) && LOOM_RUNS_ON_##processor(features);
#include "simd/targets.inc"
  return false;
}
#undef LOOM_NEEDS

}  // namespace loom

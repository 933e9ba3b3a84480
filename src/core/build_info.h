#pragma once
// Names of the target and the compiler of a build, for records of a machine. No result depends on them.

#include <string>
#include <string_view>

namespace loom {

// Processor and system that this file was compiled for: "x86_64-linux".
inline std::string target_name() {
  constexpr std::string_view kProcessor =
#if defined(__x86_64__) || defined(_M_X64)
      "x86_64";
#elif defined(__i386__) || defined(_M_IX86)
      "i686";
#elif defined(__aarch64__) || defined(_M_ARM64)
      "aarch64";
#elif defined(__arm__)
      "armv7";
#elif defined(__riscv)
      "riscv64";
#elif defined(__wasm__)
      "wasm32";
#else
      "other";
#endif
  constexpr std::string_view kSystem =
#if defined(_WIN32)
      "windows";
#elif defined(__APPLE__)
      "macos";
#elif defined(__ANDROID__)
      "android";
#elif defined(__linux__)
      "linux";
#elif defined(__wasm__)
      "wasi";
#else
      "other";
#endif
  return std::string(kProcessor) + "-" + std::string(kSystem);
}

// Name and version of the compiler: "GCC 12.2.0".
inline std::string compiler_name() {
#if defined(__clang__)
  return "Clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + "." +
         std::to_string(__clang_patchlevel__);
#elif defined(__GNUC__)
  return "GCC " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
         std::to_string(__GNUC_PATCHLEVEL__);
#else
  return "other";
#endif
}

}  // namespace loom

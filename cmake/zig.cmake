# Another system's program and library, built with Zig's Clang (the PyPI package ziglang) against that system's oldest C library that Loom
# promises:
#   cmake --toolchain cmake/zig.cmake -DLOOM_ZIG_TARGET=aarch64-linux-gnu.2.17
# LOOM_ZIG names Zig's program, by default `zig`; tools/wheel and tools/build_all find it in a Python environment.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LOOM_ZIG_TARGET LOOM_ZIG CMAKE_BUILD_TYPE)
set(LOOM_ZIG zig CACHE STRING "Zig's program, with arguments in front of its own")
if(NOT LOOM_ZIG_TARGET MATCHES "^(x86_64|x86|aarch64|arm|riscv64)-(linux|windows|macos)")
  message(FATAL_ERROR "LOOM_ZIG_TARGET is \"${LOOM_ZIG_TARGET}\": expected as aarch64-linux-gnu.2.17; processors: x86_64 x86 aarch64 arm riscv64")
endif()
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
string(REPLACE linux Linux CMAKE_SYSTEM_NAME ${CMAKE_MATCH_2})
string(REPLACE windows Windows CMAKE_SYSTEM_NAME ${CMAKE_SYSTEM_NAME})
string(REPLACE macos Darwin CMAKE_SYSTEM_NAME ${CMAKE_SYSTEM_NAME})
set(target_options "-target ${LOOM_ZIG_TARGET}")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL arm)
  # NEON of 32 bits replaces subnormal numbers by zero, so the bits would differ: the floating point unit alone computes. Its vmla rounds
  # the product. A processor's name with features added keeps NEON; it has to be taken away.
  string(APPEND target_options " -mcpu=baseline-neon")
endif()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86)
  string(APPEND target_options " -mcpu=pentium4")  # SSE2: the older unit keeps sums of 80 bits
endif()
set(LOOM_ARM_FEATURES -mcpu=baseline+)  # what stands in front of a feature of AArch64: Zig knows no versions of the architecture
# Zig compiles the C and C++ libraries once for each kind of program. CMake's trials link without the flags of a release, so they would ask
# for two more kinds, which takes minutes each: what decides the kind stands in front of the flags of every call.
if(CMAKE_BUILD_TYPE STREQUAL Release)
  string(APPEND target_options " -O3 -s")
endif()
# Compilers are programs without arguments to CMake.
foreach(tool IN ITEMS c++ ar ranlib)
  set(arguments "")
  if(tool STREQUAL c++)
    set(arguments " ${target_options}")
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/zig/zig-${tool} CONTENT "#!/bin/sh\nexec ${LOOM_ZIG} ${tool}${arguments} \"$@\"\n" @ONLY)
  file(CHMOD ${CMAKE_BINARY_DIR}/zig/zig-${tool} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
set(CMAKE_CXX_COMPILER ${CMAKE_BINARY_DIR}/zig/zig-c++)
set(CMAKE_AR ${CMAKE_BINARY_DIR}/zig/zig-ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${CMAKE_BINARY_DIR}/zig/zig-ranlib CACHE FILEPATH "")
set(CMAKE_CXX_COMPILER_AR ${CMAKE_AR} CACHE FILEPATH "")
set(CMAKE_CXX_COMPILER_RANLIB ${CMAKE_RANLIB} CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# The compiler cache sees a script: its kind, version and target are stated, not read from the file.
separate_arguments(zig UNIX_COMMAND "${LOOM_ZIG}")
execute_process(COMMAND ${zig} version OUTPUT_VARIABLE zig_version OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(LOOM_CCACHE_OPTIONS CCACHE_COMPILERTYPE=clang "CCACHE_COMPILERCHECK=string:zig ${zig_version} ${target_options}")
# One state of the sources gives the same bytes in every folder.
set(CMAKE_CXX_FLAGS_INIT "-ffile-prefix-map=${CMAKE_SOURCE_DIR}=loom -ffile-prefix-map=${CMAKE_BINARY_DIR}=build")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL arm)
  string(APPEND CMAKE_CXX_FLAGS_INIT " -funwind-tables")  # code without exceptions has none there, and what a library throws passes through it
endif()
if(CMAKE_SYSTEM_NAME STREQUAL Darwin)
  # `-s` leaves the names of local functions in files of macOS: a fifth of them.
  set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,-x)
  set(CMAKE_SHARED_LINKER_FLAGS_INIT -Wl,-x)
endif()

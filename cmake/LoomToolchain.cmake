# Language, warnings, determinism flags and where the header-only packages are found.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endif()
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(LOOM_CCACHE ccache)
if(LOOM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Checkouts at other paths share their objects.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${LOOM_CCACHE_OPTIONS} ${LOOM_CCACHE})
endif()

# fmt, nlohmann-json, tl-expected and CLI11 alone on the include path: /usr/include itself would break cross builds.
set(LOOM_DEPS_INCLUDE ${PROJECT_BINARY_DIR}/deps/include)
file(MAKE_DIRECTORY ${LOOM_DEPS_INCLUDE})
foreach(header IN ITEMS fmt/format.h nlohmann/json.hpp tl/expected.hpp CLI/CLI.hpp)
  cmake_path(GET header PARENT_PATH folder)
  find_path(LOOM_${folder}_DIR ${header} PATHS /usr/include /usr/local/include /opt/homebrew/include REQUIRED NO_CMAKE_FIND_ROOT_PATH)
  file(CREATE_LINK ${LOOM_${folder}_DIR}/${folder} ${LOOM_DEPS_INCLUDE}/${folder} SYMBOLIC)
endforeach()

add_library(loom_flags INTERFACE)
target_include_directories(loom_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(loom_flags SYSTEM INTERFACE ${LOOM_DEPS_INCLUDE})
target_compile_definitions(loom_flags INTERFACE JSON_NOEXCEPTION LOOM_VERSION="${PROJECT_VERSION}")
# The compiled fmt spares every file five seconds; cross builds, which have none, take it from its headers.
if(NOT CMAKE_CROSSCOMPILING)
  find_package(fmt QUIET)
endif()
if(TARGET fmt::fmt AND NOT CMAKE_CROSSCOMPILING)
  # The static program brings fmt inside (cmake/fmt_inside.cpp); the include path and definitions stay those of the package.
  target_link_libraries(loom_flags INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:LOOM_STATIC>>>:fmt::fmt>)
else()
  target_compile_definitions(loom_flags INTERFACE FMT_HEADER_ONLY FMT_STATIC_THOUSANDS_SEPARATOR=',')  # as in cmake/fmt_inside.cpp
endif()
if(CMAKE_SYSTEM_NAME STREQUAL Windows)
  target_compile_definitions(loom_flags INTERFACE NOMINMAX WIN32_LEAN_AND_MEAN _WIN32_WINNT=0x0a00)  # Windows 10
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(loom_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()
# The determinism contract (docs/internals/numerics.md): every product and sum is rounded on its own, everywhere.
target_compile_options(loom_flags INTERFACE -ffp-contract=off -fno-math-errno -Wall -Wextra -Wconversion -Wno-sign-conversion -Wno-psabi)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  # GCC 12 and 13 see overlaps and overflows in std::string that are not there (GCC bugs 105329, 105651).
  target_compile_options(loom_flags INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-free-nonheap-object)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)  # takes a reference into a map for one into an argument
    target_compile_options(loom_flags INTERFACE -Wno-dangling-reference)
  endif()
endif()
if(LOOM_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(loom_flags INTERFACE -Wno-subobject-linkage)  # takes the files of a unity build for headers
endif()
if(LOOM_WERROR)
  target_compile_options(loom_flags INTERFACE -Werror)
endif()
if(LOOM_SANITIZE)
  target_compile_options(loom_flags INTERFACE -fsanitize=${LOOM_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer -fno-sanitize-recover=all)  # vptr asks for RTTI
  target_link_options(loom_flags INTERFACE -fsanitize=${LOOM_SANITIZE})
endif()
if(LOOM_FUZZ)
  target_compile_options(loom_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(loom_flags INTERFACE -fsanitize=address,undefined)
endif()
if(LOOM_SANITIZE OR LOOM_FUZZ)
  target_compile_definitions(loom_flags INTERFACE LOOM_SANITIZED)  # long tests take a smaller size, kernels unfold less
endif()

# The engine is built without exceptions and RTTI: it must live inside hosts that have none. Programs and tests may use both. The C ABI
# ends what a library throws, so its frames have destructors on that path (LOOM_EXCEPTIONS).
add_library(loom_engine_flags INTERFACE)
target_link_libraries(loom_engine_flags INTERFACE loom_flags)
target_compile_options(loom_engine_flags INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:LOOM_EXCEPTIONS>>>:-fno-exceptions> -fno-rtti)
# What no caller reaches, as kernels of types that a library leaves out, stays out of the file.
if(NOT LOOM_SANITIZE AND NOT LOOM_FUZZ)
  target_compile_options(loom_engine_flags INTERFACE -ffunction-sections -fdata-sections)
  target_link_options(loom_flags INTERFACE $<$<PLATFORM_ID:Linux>:-Wl,--gc-sections>)
endif()

# The rows of src/simd/targets.inc: names, weakest first, how wide their registers are, and the features as compilers call them.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/simd/targets.inc)
file(STRINGS ${PROJECT_SOURCE_DIR}/src/simd/targets.inc rows REGEX "^LOOM_SIMD_TARGET")
set(LOOM_KNOWN_TARGETS "")
set(targets_of_machine "")
foreach(row IN LISTS rows)
  if(NOT row MATCHES "^LOOM_SIMD_TARGET\\(([a-z0-9]+), ([a-z0-9]+), ([0-9]+), (.*)\\)$")
    message(FATAL_ERROR "src/simd/targets.inc: a row that is none: ${row}")
  endif()
  set(target ${CMAKE_MATCH_1})
  set(processor ${CMAKE_MATCH_2})
  set(LOOM_REGISTER_BYTES_${target} ${CMAKE_MATCH_3})
  string(REGEX MATCHALL "[a-z0-9.]+" LOOM_FLAGS_${target} "${CMAKE_MATCH_4}")
  if(processor STREQUAL arm)  # these compilers take features as additions to a version of the architecture, Zig to a processor
    if(NOT LOOM_ARM_FEATURES)
      set(LOOM_ARM_FEATURES -march=armv8.2-a+)
    endif()
    list(TRANSFORM LOOM_FLAGS_${target} PREPEND "${LOOM_ARM_FEATURES}")
  else()
    list(TRANSFORM LOOM_FLAGS_${target} PREPEND "-m")
  endif()
  list(APPEND LOOM_KNOWN_TARGETS ${target})
  if(processor STREQUAL any OR (processor STREQUAL x86 AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64") OR
     (processor STREQUAL arm AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64") OR
     (processor STREQUAL wasm AND CMAKE_SYSTEM_PROCESSOR MATCHES "wasm32"))
    list(APPEND targets_of_machine ${target})
  endif()
endforeach()
# These flags tell the compiler how to use the registers of a target. The scalar one is the plain reading of the kernels and the last
# resort: -Os does not unroll sixteen lanes (a fifth of the time, a quarter of the code).
list(APPEND LOOM_FLAGS_avx512 -mprefer-vector-width=512)
list(APPEND LOOM_FLAGS_scalar -DLOOM_MATH_CALLS)
list(APPEND LOOM_FLAGS_sse4 -DLOOM_MATH_CALLS)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND LOOM_FLAGS_scalar -Os -fno-vectorize -fno-slp-vectorize)
else()
  # At -Os GCC does not see that a loop over the lanes of a vector sets all of them.
  list(APPEND LOOM_FLAGS_scalar -Os -fno-tree-vectorize -fno-tree-slp-vectorize -Wno-maybe-uninitialized)
endif()
# The variants of targets: which one they begin from, and what to tell the compiler beside that one's options.
file(STRINGS ${PROJECT_SOURCE_DIR}/src/simd/targets.inc rows REGEX "^LOOM_SIMD_VARIANT")
set(LOOM_KNOWN_VARIANTS "")
foreach(row IN LISTS rows)
  if(NOT row MATCHES "^LOOM_SIMD_VARIANT\\(([a-z0-9]+), ([a-z0-9]+), ([a-z0-9]+), (.*)\\)$")
    message(FATAL_ERROR "src/simd/targets.inc: a row that is none: ${row}")
  endif()
  set(variant ${CMAKE_MATCH_1})
  set(processor ${CMAKE_MATCH_2})
  set(base ${CMAKE_MATCH_3})
  string(REGEX MATCHALL "[a-z0-9.-]+" features "${CMAKE_MATCH_4}")
  if(processor STREQUAL arm)  # of several such options the last one counts: one names all features
    list(JOIN features "+" features)
    set(LOOM_FLAGS_${variant} ${LOOM_FLAGS_${base}}+${features})
  else()
    list(TRANSFORM features PREPEND "-m")
    set(LOOM_FLAGS_${variant} ${LOOM_FLAGS_${base}} ${features})
  endif()
  set(LOOM_BASE_${variant} ${base})
  set(LOOM_REGISTER_BYTES_${variant} ${LOOM_REGISTER_BYTES_${base}})
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/simd/${variant}/tile_unit.h)
    set(LOOM_HAS_TILES_${variant} ON)
  endif()
  list(APPEND LOOM_KNOWN_VARIANTS ${variant})
endforeach()

# Those that are compiled in; the strongest that the CPU has is chosen at run time. "native" in the list stands for that one.
if(NOT LOOM_TARGETS)
  set(LOOM_TARGETS ${targets_of_machine})
  # What is built without tests leaves out the plain kernels where any CPU in use has better ones (SSE4, NEON): they are 2.1 MB. Tests
  # hold results of the others against them.
  list(LENGTH LOOM_TARGETS count)
  if(NOT LOOM_TESTS AND count GREATER 1)
    list(REMOVE_ITEM LOOM_TARGETS scalar)
  endif()
  # A module with SIMD instructions is refused by an engine that has none, so plain kernels beside them would never be chosen
  # for their speed. They are a tenth of what a page downloads, and wasm128 is held against the golden tables.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "wasm32")
    list(REMOVE_ITEM LOOM_TARGETS scalar)
  endif()
elseif("native" IN_LIST LOOM_TARGETS)
  set(native_folder ${PROJECT_BINARY_DIR}/CMakeFiles/native)
  try_run(native_status native_compiled ${native_folder} SOURCES ${PROJECT_SOURCE_DIR}/cmake/native_target.cpp ${PROJECT_SOURCE_DIR}/src/simd/target.cpp
    CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/src CXX_STANDARD 20
    RUN_OUTPUT_VARIABLE native_target COMPILE_OUTPUT_VARIABLE native_log)
  if(NOT native_compiled OR NOT native_status EQUAL 0)
    message(FATAL_ERROR "cannot find out what this CPU runs: ${native_log}${native_target}")
  endif()
  list(APPEND LOOM_TARGETS ${native_target})
  list(REMOVE_ITEM LOOM_TARGETS native)
endif()
# In the order of the rows, whatever order they were asked for in.
set(targets "")
foreach(target IN LISTS LOOM_KNOWN_TARGETS)
  if(target IN_LIST LOOM_TARGETS)
    list(APPEND targets ${target})
  endif()
  list(REMOVE_ITEM LOOM_TARGETS ${target})
endforeach()
if(LOOM_TARGETS)
  message(FATAL_ERROR "LOOM_TARGETS: ${LOOM_TARGETS} unknown; known: ${LOOM_KNOWN_TARGETS} native")
endif()
set(LOOM_TARGETS ${targets})
set(LOOM_VARIANTS "")  # of what is compiled in; a process asks Linux for registers of tiles, no other system is known
set(variants "")
set(tile_variants "")
foreach(variant IN LISTS LOOM_KNOWN_VARIANTS)
  if(LOOM_BASE_${variant} IN_LIST LOOM_TARGETS AND (CMAKE_SYSTEM_NAME STREQUAL Linux OR NOT LOOM_HAS_TILES_${variant}))
    list(APPEND LOOM_VARIANTS ${variant})
    list(APPEND variants "X(${variant}, ${LOOM_BASE_${variant}})")
    if(LOOM_HAS_TILES_${variant})
      list(APPEND tile_variants "X(${variant}, ${LOOM_BASE_${variant}})")
    endif()
  endif()
endforeach()
string(REPLACE "," "_plain," plain_variants "${tile_variants}")  # in tests, with plain C++ in place of the variant's instructions
list(JOIN variants " " variants)
list(JOIN tile_variants " " tile_variants)
list(JOIN plain_variants " " plain_variants)
# A header, not definitions: only the files that ask for the list are compiled anew when it changes.
list(TRANSFORM targets REPLACE "(.+)" "X(\\1)")
list(JOIN targets " " targets)
file(CONFIGURE OUTPUT ${LOOM_DEPS_INCLUDE}/loom_targets.h @ONLY CONTENT
  "#pragma once\n// The SIMD targets that are compiled in; written by cmake/LoomToolchain.cmake.\n#define LOOM_COMPILED_TARGETS(X) ${targets}\n#define LOOM_COMPILED_VARIANTS(X) ${variants}\n#define LOOM_TILE_VARIANTS(X) ${tile_variants}\n#define LOOM_PLAIN_VARIANTS(X) ${plain_variants}\n")

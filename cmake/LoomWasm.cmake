# loom.wasm and loom-threads.wasm: the functions of include/loom/loom.h as WebAssembly modules for js/src/wasm; loom-lm.wasm and
# loom-lm-threads.wasm: those of language models, tokenizers and encoders alone. All are linked from the same objects; the second pair has
# shorter lists of layers and kernels (cmake/lm_kinds.cpp, cmake/lm_kernels.cpp).
# One without -threads has its own memory, the others import shared memory, on which workers run parts of the work.

if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL wasm32)
  return()
endif()
file(STRINGS ${PROJECT_SOURCE_DIR}/include/loom/loom.h declared REGEX "^LOOM_API .*loom_[a-z0-9_]+\\(")
set(exports "")
foreach(line IN LISTS declared)
  string(REGEX MATCH "(loom_[a-z0-9_]+)\\(" name "${line}")
  list(APPEND exports ${CMAKE_MATCH_1})
endforeach()
set(lm_exports ${exports})
list(FILTER lm_exports INCLUDE REGEX "^${LOOM_LM_FUNCTIONS}")
list(TRANSFORM exports PREPEND -Wl,--export=)
list(TRANSFORM lm_exports PREPEND -Wl,--export=)

set_source_files_properties(${PROJECT_SOURCE_DIR}/cmake/lm_kernels.cpp PROPERTIES COMPILE_DEFINITIONS LOOM_TARGET=wasm128)
target_compile_options(loom_capi PRIVATE "SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/wasm32_counts.h")  # it has no precompiled header

# `functions` names the list of what is exported; `memory` is ONE or THREADS.
function(loom_wasm_module target output functions memory)
  add_executable(${target} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:loom_capi>)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} SUFFIX .wasm LINKER_LANGUAGE CXX)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Os>)
  target_link_libraries(${target} PRIVATE loom_host loom_telemetry loom_verify loom_engine_flags)
  target_link_options(${target} PRIVATE -mexec-model=reactor ${${functions}} -Wl,--gc-sections -Wl,--strip-all -Wl,-O3 -Wl,--stack-first
    -Wl,-Map=${PROJECT_BINARY_DIR}/bin/${output}.map  # tools/wasm_sizes.py reads it
    -Wl,--initial-memory=8388608)  # FIRST_PAGES of js/src/wasm/core.js
  if(functions STREQUAL "lm_exports")  # before the archives, whose files with the same symbols are then left out
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/lm_kinds.cpp ${PROJECT_SOURCE_DIR}/cmake/lm_kernels.cpp)
    target_compile_options(${target} PRIVATE "SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/wasm32_counts.h")
  endif()
  if(memory STREQUAL THREADS)
    # wasi-libc and libc++ were compiled without atomics, which --shared-memory asks for: of what they share, the heap has a lock.
    target_link_options(${target} PRIVATE -Wl,--shared-memory -Wl,--import-memory -Wl,--max-memory=4294967296 -Wl,--no-check-features
      -Wl,--export=__stack_pointer -Wl,--export=__wasm_init_tls -Wl,--export=__tls_size -Wl,--export=__tls_align)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/locked_malloc.cpp)
    foreach(function malloc calloc realloc aligned_alloc posix_memalign free)
      target_link_options(${target} PRIVATE -Wl,--wrap=${function})
    endforeach()
  endif()
endfunction()

loom_wasm_module(loom_wasm loom exports ONE)
loom_wasm_module(loom_wasm_threads loom-threads exports THREADS)
loom_wasm_module(loom_wasm_lm loom-lm lm_exports ONE)
loom_wasm_module(loom_wasm_lm_threads loom-lm-threads lm_exports THREADS)

# creature.wasm: examples/creature for the page's tab Creature (web/app/worker/creature.js).
file(GLOB creature_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/creature/*.cpp)
list(FILTER creature_sources EXCLUDE REGEX "/(main|input|demo|creature_c|[a-z_]*_test)\\.cpp$")
add_executable(loom_wasm_creature EXCLUDE_FROM_ALL ${creature_sources})
set_target_properties(loom_wasm_creature PROPERTIES OUTPUT_NAME creature SUFFIX .wasm)
target_compile_options(loom_wasm_creature PRIVATE -Wno-conversion $<$<CONFIG:Release>:-Os>)
target_link_libraries(loom_wasm_creature PRIVATE loom_training loom_engine_flags)
set(creature_exports creature_page_hatch creature_page_wake creature_page_line creature_page_keep creature_page_hash creature_page_name
  creature_page_error malloc free)
list(TRANSFORM creature_exports PREPEND -Wl,--export=)
target_link_options(loom_wasm_creature PRIVATE -mexec-model=reactor ${creature_exports} -Wl,--gc-sections -Wl,--strip-all -Wl,-O3
  -Wl,--stack-first -Wl,-Map=${PROJECT_BINARY_DIR}/bin/creature.map -Wl,--initial-memory=8388608)
add_custom_target(loom_wasm_modules DEPENDS loom_wasm loom_wasm_threads loom_wasm_lm loom_wasm_lm_threads loom_wasm_creature)

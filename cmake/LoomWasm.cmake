# loom.wasm and loom-threads.wasm: the functions of include/loom/loom.h as WebAssembly modules for js/src/wasm. Both are linked from the same
# objects. The first has its own memory, the second imports shared memory, on which workers run parts of the work.

if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL wasm32)
  return()
endif()
file(STRINGS ${PROJECT_SOURCE_DIR}/include/loom/loom.h declared REGEX "^LOOM_API .*loom_[a-z0-9_]+\\(")
set(exports "")
foreach(line IN LISTS declared)
  string(REGEX MATCH "(loom_[a-z0-9_]+)\\(" name "${line}")
  list(APPEND exports ${CMAKE_MATCH_1})
endforeach()
list(TRANSFORM exports PREPEND -Wl,--export=)

target_compile_options(loom_capi PRIVATE "SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/wasm32_counts.h")  # it has no precompiled header

function(loom_wasm_module target output)
  add_executable(${target} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:loom_capi> ${ARGN})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} SUFFIX .wasm LINKER_LANGUAGE CXX)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Os>)
  target_link_libraries(${target} PRIVATE loom_host loom_telemetry loom_verify loom_engine_flags)
  target_link_options(${target} PRIVATE -mexec-model=reactor ${exports} -Wl,--gc-sections -Wl,--strip-all -Wl,-O3 -Wl,--stack-first
    -Wl,-Map=${PROJECT_BINARY_DIR}/bin/${output}.map  # tools/wasm_sizes.py reads it
    -Wl,--initial-memory=8388608)  # FIRST_PAGES of js/src/wasm/core.js
endfunction()

loom_wasm_module(loom_wasm loom)
loom_wasm_module(loom_wasm_threads loom-threads ${PROJECT_SOURCE_DIR}/cmake/locked_malloc.cpp)
# wasi-libc and libc++ were compiled without atomics, which --shared-memory asks for: of what they share, the heap has a lock.
target_link_options(loom_wasm_threads PRIVATE -Wl,--shared-memory -Wl,--import-memory -Wl,--max-memory=4294967296 -Wl,--no-check-features
  -Wl,--export=__stack_pointer -Wl,--export=__wasm_init_tls -Wl,--export=__tls_size -Wl,--export=__tls_align)
foreach(function malloc calloc realloc aligned_alloc posix_memalign free)
  target_link_options(loom_wasm_threads PRIVATE -Wl,--wrap=${function})
endforeach()
add_custom_target(loom_wasm_modules DEPENDS loom_wasm loom_wasm_threads)

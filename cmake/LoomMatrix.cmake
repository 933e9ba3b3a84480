# Tests that ./test adds to the release build: they run what the other presets have built.

if(NOT LOOM_MATRIX OR NOT LOOM_TESTS)
  return()
endif()
set(B ${CMAKE_SOURCE_DIR}/build)
add_test(NAME verify_aarch64_qemu COMMAND qemu-aarch64-static ${B}/aarch64/bin/loom_verify)
add_test(NAME verify_wasm32_node COMMAND node --no-warnings ${CMAKE_SOURCE_DIR}/tools/run_wasm.mjs ${B}/wasm/bin/loom_verify)
# tests_session counts allocations with an operator new of its own, which is the sanitizer's place.
foreach(module IN ITEMS core simd text dtypes ops network io data learning lm telemetry finetune evolution)
  add_test(NAME clang_asan_${module} COMMAND ${B}/fuzz/bin/${module}_test --gtest_brief=1)
endforeach()
# Their loss curves and tables of hashes are long, and show nothing that a short training does not.
add_test(NAME clang_asan_training COMMAND ${B}/fuzz/bin/training_test --gtest_brief=1 --gtest_filter=-*Curves*:*SameBits*:TrainingTable*)
add_test(NAME clang_asan_determinism COMMAND ${B}/fuzz/bin/tests_determinism_test --gtest_brief=1 --gtest_filter=*instruction_set)
foreach(module IN ITEMS core tests_determinism)
  add_test(NAME tsan_${module} COMMAND ${B}/tsan/bin/${module}_test --gtest_brief=1 --gtest_filter=-*instruction_set:*chunking*:*batch_of_five:*restored*:*agree*)
endforeach()
set_tests_properties(tsan_tests_determinism PROPERTIES ENVIRONMENT LOOM_TRIALS=20)
set_tests_properties(tsan_core tsan_tests_determinism clang_asan_text PROPERTIES PROCESSORS 2)  # threads; times held against a bound
file(GLOB corpora CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/corpus/*)
foreach(corpus IN LISTS corpora)
  cmake_path(GET corpus FILENAME target)
  file(MAKE_DIRECTORY ${B}/fuzz/found/${target})
  add_test(NAME ${target} COMMAND ${B}/fuzz/bin/${target} -seed=1 -max_total_time=8 -rss_limit_mb=2048 -timeout=60 -verbosity=0 ${B}/fuzz/found/${target} ${corpus})
endforeach()

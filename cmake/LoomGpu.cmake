# Tests on a graphics card: Mesa's lavapipe, which every machine of ./test has (tools/with_gpu.sh). Elsewhere they are skipped, since the same
# tests stand in the programs of their modules.

if(NOT LOOM_MATRIX OR NOT LOOM_TESTS)
  return()
endif()
foreach(module ops network evolution training lm server finetune host capi io tests_determinism tests_cli)
  add_test(NAME gpu_${module} COMMAND ${PROJECT_SOURCE_DIR}/tools/with_gpu.sh $<TARGET_FILE:${module}_test> --gtest_brief=1 --gtest_filter=Gpu*)
endforeach()
# Dawn's compiler reads what these have met; skipped without its npm package (tools/npm_packages.sh).
set(texts ${PROJECT_BINARY_DIR}/shaders)
add_test(NAME gpu_texts_begin COMMAND sh -c "rm -rf '${texts}' && mkdir '${texts}'")
set_tests_properties(gpu_texts_begin PROPERTIES FIXTURES_SETUP empty_texts)
set(meets gpu_ops gpu_network gpu_training gpu_lm)
set_tests_properties(${meets} PROPERTIES ENVIRONMENT LOOM_GPU_TEXTS=${texts} FIXTURES_REQUIRED empty_texts FIXTURES_SETUP texts)
add_test(NAME gpu_texts_by_dawn COMMAND node --no-warnings ${PROJECT_SOURCE_DIR}/tools/compile_wgsl.mjs ${texts})
set_tests_properties(gpu_texts_by_dawn PROPERTIES FIXTURES_REQUIRED texts SKIP_RETURN_CODE 77)
add_test(NAME gpu_answer COMMAND ${PROJECT_SOURCE_DIR}/tools/with_gpu.sh ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/gpu_answer.py $<TARGET_FILE:loom>)
add_test(NAME gpu_lost_card COMMAND ${PROJECT_SOURCE_DIR}/tools/with_gpu.sh ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/lost_card.py $<TARGET_FILE:loom> $<TARGET_FILE:loom_lost_card>)
# Compilers that err (tests/support/mutants.h). The tests left out meet errors that their first values do not show.
foreach(mutant fused snap subnormals division blocks lanes)
  add_test(NAME gpu_mutant_${mutant} COMMAND ${PROJECT_SOURCE_DIR}/tools/with_gpu.sh $<TARGET_FILE:ops_test> --gtest_brief=1
    "--gtest_filter=Gpu.*-*gates_and*:*figures_of_planes*:*sparse_softmaxes*:*not_finite*:*pools_and*:*hostile*:*heads_of_every_size*")
  set_tests_properties(gpu_mutant_${mutant} PROPERTIES ENVIRONMENT LOOM_GPU_MUTANT=${mutant} COST 50)
endforeach()
add_test(NAME gpu_python COMMAND ${PROJECT_SOURCE_DIR}/tools/with_gpu.sh sh -c "\"\${LOOM_PYTHON:-${LOOM_PYTHON3}}\" -B '${PROJECT_SOURCE_DIR}/tests/python/test_devices.py'")
set_tests_properties(gpu_python PROPERTIES ENVIRONMENT WELVET_LIBRARY=$<TARGET_FILE:loom_shared>)
set_tests_properties(gpu_ops gpu_network gpu_training gpu_lm gpu_server gpu_finetune gpu_host gpu_capi gpu_io gpu_python gpu_answer gpu_lost_card PROPERTIES COST 100)

# The pages: links, paths, examples and commands; the page of commands; the index of decisions; lists, counts and
# recipes; the ids of requirements; the picture of the README; operators in shaders; and that the checks can fail.
# Python's standard library alone.

if(NOT LOOM_TESTS OR CMAKE_CROSSCOMPILING)
  return()
endif()
find_program(LOOM_PYTHON3 python3 REQUIRED)

add_test(NAME pages_spec COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/check_spec.py)
add_test(NAME pages_picture COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/draw_same_bits.py --check)
add_test(NAME pages_lists COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/check_lists.py)
add_test(NAME pages_recipes COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/additions/check.py ${PROJECT_SOURCE_DIR}
  ${PROJECT_BINARY_DIR}/additions_files --files)
add_test(NAME pages_decisions COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/decision_index.py --check)
add_test(NAME pages_checks COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/checks_test.py)
add_test(NAME digest_matrix_checks COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/digest_matrix.py)
if(LOOM_PROGRAM)
  add_test(NAME build_all_checks COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/build_all.py $<TARGET_FILE:loom>)
endif()
add_test(NAME byte_order COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/byte_order.py ${CMAKE_COMMAND})
add_test(NAME wgsl_lint COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/wgsl_lint.py)
add_test(NAME wgsl_lint_checks COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/wgsl_lint_test.py)
# What a first ./run compiles stays as large as CONTRIBUTING says.
if(LOOM_PROGRAM AND LOOM_UNITY AND CMAKE_BUILD_TYPE STREQUAL Release AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  add_test(NAME build_cost COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/build_cost.py --check ${PROJECT_BINARY_DIR})
endif()
if(LOOM_PROGRAM AND NOT WIN32 AND NOT APPLE)
  add_test(NAME fused_products COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/check_fused.py ${PROJECT_BINARY_DIR})
endif()
if(LOOM_PROGRAM)
  add_test(NAME pages_commands COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/command_page.py $<TARGET_FILE:loom> --check)
  add_test(NAME pages_docs COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/check_docs.py $<TARGET_FILE:loom>)
else()
  add_test(NAME pages_docs COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/check_docs.py)
endif()

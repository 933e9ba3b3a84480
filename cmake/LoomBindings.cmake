# What other languages see: files made from api/loom.json, the shared library's symbols, the C example, the Python package.

if(NOT LOOM_TESTS OR NOT LOOM_SHARED)
  return()
endif()
find_program(LOOM_PYTHON3 python3 REQUIRED)
add_test(NAME bindings_made COMMAND ${LOOM_PYTHON3} -B ${CMAKE_SOURCE_DIR}/tools/gen_bindings.py --check)
add_test(NAME bindings_library COMMAND ${LOOM_PYTHON3} -B ${CMAKE_SOURCE_DIR}/tests/outside/shared_library.py $<TARGET_FILE:loom_shared>)
add_test(NAME bindings_python COMMAND ${LOOM_PYTHON3} -B ${CMAKE_SOURCE_DIR}/tests/python/test_welvet.py)
add_test(NAME bindings_bridge COMMAND ${LOOM_PYTHON3} -B ${CMAKE_SOURCE_DIR}/tests/python/bridge/test_goldens.py)
set_tests_properties(bindings_python bindings_bridge PROPERTIES ENVIRONMENT WELVET_LIBRARY=$<TARGET_FILE:loom_shared>)
if(LOOM_EXAMPLES)
  add_test(NAME bindings_c COMMAND ${LOOM_PYTHON3} -B ${CMAKE_SOURCE_DIR}/tests/outside/c_example.py $<TARGET_FILE:example_ask>)
endif()

# What other languages see: files made from api/loom.json, the shared library's symbols, the C example, the Python package.

if(NOT LOOM_TESTS OR NOT LOOM_SHARED)
  return()
endif()
find_program(LOOM_PYTHON3 python3 REQUIRED)
add_test(NAME bindings_made COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tools/gen_bindings.py --check)
add_test(NAME bindings_library COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/shared_library.py $<TARGET_FILE:loom_shared>)
add_test(NAME bindings_python COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/python/test_welvet.py)
add_test(NAME bindings_python_plain COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/python/test_networks.py)
add_test(NAME bindings_python_kinds COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/python/test_kinds.py)
add_test(NAME bindings_python_tutorial COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/python/test_tutorial.py)
# The interpreter that ./test prepares has numpy.
add_test(NAME bindings_python_numpy COMMAND sh -c "\"\${LOOM_PYTHON:-${LOOM_PYTHON3}}\" -B '${PROJECT_SOURCE_DIR}/tests/python/test_networks.py'")
add_test(NAME bindings_bridge COMMAND sh -c "\"\${LOOM_PYTHON:-${LOOM_PYTHON3}}\" -B '${PROJECT_SOURCE_DIR}/tests/python/bridge/test_goldens.py'")
add_test(NAME bindings_python_package COMMAND sh -c "\"\${LOOM_PYTHON:-${LOOM_PYTHON3}}\" -B '${PROJECT_SOURCE_DIR}/tests/python/test_package.py'")
set_tests_properties(bindings_python bindings_python_kinds bindings_python_tutorial bindings_python_plain bindings_python_numpy bindings_python_package bindings_bridge PROPERTIES ENVIRONMENT WELVET_LIBRARY=$<TARGET_FILE:loom_shared>)
set_property(TEST bindings_python_plain APPEND PROPERTY ENVIRONMENT WELVET_WITHOUT_NUMPY=1)
# The package's types, by that interpreter's mypy, and the package under PyPy; shown as skipped where there is none.
add_test(NAME bindings_python_types COMMAND sh -c "\"\${LOOM_PYTHON:-${LOOM_PYTHON3}}\" -B '${PROJECT_SOURCE_DIR}/tests/python/test_types.py'")
set_tests_properties(bindings_python_types PROPERTIES SKIP_RETURN_CODE 77)
# A wheel of this library, installed and used where the sources are not in sight.
if(LOOM_PROGRAM)
  add_test(NAME bindings_python_wheel COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/python/test_wheel.py)
  set_tests_properties(bindings_python_wheel PROPERTIES ENVIRONMENT "WELVET_LIBRARY=$<TARGET_FILE:loom_shared>;LOOM_PROGRAM=$<TARGET_FILE:loom>")
  # Graphs, encoders and what else gives the program's own hashes.
  add_test(NAME bindings_python_graphs COMMAND sh -c "\"\${LOOM_PYTHON:-${LOOM_PYTHON3}}\" -B '${PROJECT_SOURCE_DIR}/tests/python/test_graphs.py'")
  add_test(NAME bindings_python_graphs_plain COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/python/test_graphs.py)
  set_tests_properties(bindings_python_graphs bindings_python_graphs_plain PROPERTIES
    ENVIRONMENT "WELVET_LIBRARY=$<TARGET_FILE:loom_shared>;LOOM_PROGRAM=$<TARGET_FILE:loom>")
  set_property(TEST bindings_python_graphs_plain APPEND PROPERTY ENVIRONMENT WELVET_WITHOUT_NUMPY=1)
endif()
# welvet.ray over a cluster of its own; shown as skipped where that interpreter has no Ray.
add_test(NAME bindings_python_ray COMMAND sh -c "\"\${LOOM_PYTHON:-${LOOM_PYTHON3}}\" -B '${PROJECT_SOURCE_DIR}/tests/python/test_ray.py'")
set_tests_properties(bindings_python_ray PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 RUN_SERIAL ON ENVIRONMENT WELVET_LIBRARY=$<TARGET_FILE:loom_shared>)
# Under PyPy, which is slow with ctypes: networks whole, of language models the snippets and the library's border.
set(pypy_networks "")
set(pypy_welvet Snippets Library Abi)
if(LOOM_WHOLE)
  set(pypy_welvet "")
endif()
foreach(part IN ITEMS networks welvet)
  list(JOIN pypy_${part} " " cases)
  add_test(NAME bindings_pypy_${part} COMMAND sh -c "command -v pypy3 || { echo 'SKIPPED: pypy3 is not installed'; exit 77; }; exec pypy3 -B '${PROJECT_SOURCE_DIR}/tests/python/test_${part}.py' ${cases}")
  set_tests_properties(bindings_pypy_${part} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT WELVET_LIBRARY=$<TARGET_FILE:loom_shared>)
endforeach()
if(LOOM_EXAMPLES)
  add_test(NAME bindings_c COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/c_example.py $<TARGET_FILE:example_ask>)
  # Without the model of LOOM_DATA when this was configured there is no such program, and the test fails.
  add_test(NAME bindings_embedded COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/c_example.py --embedded
    $<IF:$<TARGET_EXISTS:example_embedded>,$<TARGET_FILE:$<IF:$<TARGET_EXISTS:example_embedded>,example_embedded,example_ask>>,none>)
  add_test(NAME bindings_c_own_kind COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/own_kind.py $<TARGET_FILE:example_own_kind>)
endif()

# Processes of several languages that compute one world, and a flipped bit that is named.
if(LOOM_EXAMPLES AND NOT WIN32)
  add_test(NAME lockstep COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/lockstep.py ${PROJECT_BINARY_DIR})
  set_tests_properties(lockstep PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800 PROCESSORS 2)
endif()

if(LOOM_LEGACY)
  add_test(NAME bindings_compat COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/compat.py $<TARGET_FILE:loom_welvet>)
endif()
add_test(NAME bindings_abi COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/abi.py)
set_tests_properties(bindings_abi PROPERTIES SKIP_RETURN_CODE 77)

# A language whose compiler is missing is shown as skipped.
set(bindings_whole "")
if(LOOM_WHOLE)
  set(bindings_whole --whole)
endif()
foreach(language IN ITEMS layout cpp rust go java kotlin swift csharp typescript)
  add_test(NAME bindings_${language} COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/bindings.py ${language} $<TARGET_FILE:loom_shared> ${bindings_whole})
  set_tests_properties(bindings_${language} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()

# The npm package (js/): a missing node or its packages (tools/npm_packages.sh) are shown as skipped. Pages in chromium, through bundlers too, take
# minutes. Modules of the preset wasm are in LOOM_WASM, or where that preset builds them.
set(parts answers behaviour guide package)
if(LOOM_WHOLE)
  list(APPEND parts bundlers)
endif()
foreach(part IN LISTS parts)
  add_test(NAME bindings_npm_${part} COMMAND ${PROJECT_SOURCE_DIR}/js/test/run.sh ${part})
  set_tests_properties(bindings_npm_${part} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900
    ENVIRONMENT "WELVET_LIBRARY=$<TARGET_FILE:loom_shared>;LOOM_PROGRAM=$<TARGET_FILE:loom>")
endforeach()
set_tests_properties(bindings_npm_behaviour PROPERTIES COST 110)
# Values of docs/platforms.md, "Browsers and Node", by the native library in Node.
add_test(NAME bindings_web_table COMMAND sh -c "command -v node >/dev/null || { echo 'skipped: node is not installed'; exit 77; }; exec node '${PROJECT_SOURCE_DIR}/tools/web_table.mjs' --check --only 'Node, native' --native '${PROJECT_BINARY_DIR}'")
set_tests_properties(bindings_web_table PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
# The package of C#, under Mono and CoreCLR; shown as skipped where mcs or mono is missing.
add_test(NAME csharp_package COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/csharp/run.py $<TARGET_FILE:loom_shared>)
add_test(NAME csharp_nuget COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/csharp/package.py $<TARGET_FILE:loom_shared>)
add_test(NAME csharp_unity COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/csharp/unity.py $<TARGET_FILE:loom_shared>)
set_tests_properties(csharp_package csharp_nuget csharp_unity PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
if(LOOM_WHOLE)
  # By Roslyn, for each target framework of Welvet.csproj.
  add_test(NAME csharp_roslyn COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/csharp/roslyn.py $<TARGET_FILE:loom_shared>)
  set_tests_properties(csharp_roslyn PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
  add_test(NAME csharp_speed COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/csharp/speed.py $<TARGET_FILE:loom_shared>)
  set_tests_properties(csharp_speed PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL ON)
endif()

# Unreal's plugin, with stubs of its headers.
add_test(NAME bindings_unreal COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/unreal.py $<TARGET_FILE:loom_shared>)
set_tests_properties(bindings_unreal PROPERTIES SKIP_RETURN_CODE 77)

# Other projects find the library: installed, by pkg-config, as a part of their own build.
foreach(way IN ITEMS find_package pkg_config add_subdirectory)
  add_test(NAME install_${way} COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/install.py ${PROJECT_BINARY_DIR} ${way})
  set_tests_properties(install_${way} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800)
endforeach()

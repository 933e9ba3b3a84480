# Tests of the program by scripts (tests/outside): changed files, kill -9, full disks, memory and streams that run out. Short by themselves, all of
# their rounds with LOOM_OUTSIDE=whole in the environment, as ./test --whole sets it.

if(NOT LOOM_TESTS OR NOT LOOM_PROGRAM OR CMAKE_CROSSCOMPILING OR LOOM_SANITIZE)  # sanitizers take the address space and the allocator
  return()
endif()
find_program(LOOM_PYTHON3 python3 REQUIRED)

function(loom_outside name script)
  add_test(NAME outside_${name} COMMAND ${LOOM_PYTHON3} ${PROJECT_SOURCE_DIR}/tests/outside/${script}.py $<TARGET_FILE:loom> ${ARGN})
  set_tests_properties(outside_${name} PROPERTIES TIMEOUT 10000)
endfunction()

add_dependencies(loom loom_faults)
foreach(script IN ITEMS kills full_disks limits pull deployment)
  loom_outside(${script} ${script})
endforeach()
if(LOOM_SHARED)
  loom_outside(messages messages $<TARGET_FILE:loom_shared>)
endif()
# loom serve by the packages openai and ollama of the interpreter that ./test prepares.
add_test(NAME outside_openai COMMAND sh -c "\"\${LOOM_PYTHON:-${LOOM_PYTHON3}}\" -B '${PROJECT_SOURCE_DIR}/tests/outside/openai_client.py' '$<TARGET_FILE:loom>'")
add_test(NAME outside_ollama COMMAND sh -c "\"\${LOOM_PYTHON:-${LOOM_PYTHON3}}\" -B '${PROJECT_SOURCE_DIR}/tests/outside/ollama_client.py' '$<TARGET_FILE:loom>'")
add_test(NAME outside_schemas COMMAND sh -c "\"\${LOOM_PYTHON:-${LOOM_PYTHON3}}\" -B '${PROJECT_SOURCE_DIR}/tests/outside/schema_walks.py' '$<TARGET_FILE:grammar_test>' --suite \"\$LOOM_DATA/json/schema-suite\"")
# huggingface_hub of that interpreter reads what loom pull fetched.
add_test(NAME outside_pull_interop COMMAND sh -c "\"\${LOOM_PYTHON:-${LOOM_PYTHON3}}\" -B '${PROJECT_SOURCE_DIR}/tests/outside/pull_interop.py' '$<TARGET_FILE:loom>'")
# Other clients, of the interpreter that LOOM_CLIENTS_PYTHON names (tools/requirements-clients.txt).
add_test(NAME outside_python_clients COMMAND sh -c "\"\${LOOM_CLIENTS_PYTHON:-\${LOOM_PYTHON:-${LOOM_PYTHON3}}}\" -B '${PROJECT_SOURCE_DIR}/tests/outside/python_clients.py' '$<TARGET_FILE:loom>'")
set_tests_properties(outside_openai outside_ollama outside_python_clients outside_pull_interop PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
execute_process(COMMAND ${LOOM_PYTHON3} -B -c "from formats import Formats; print(*Formats.names(), sep=';', end='')"
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/tests/outside OUTPUT_VARIABLE formats COMMAND_ERROR_IS_FATAL ANY)
foreach(format IN LISTS formats)
  loom_outside(files_${format} mutated_files --format ${format} --keep ${PROJECT_BINARY_DIR}/found)
endforeach()

# Files of Windows under Wine; shown as skipped where Wine or a compiler for Windows is missing.
add_test(NAME outside_windows_files COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/windows_files.py)
set_tests_properties(outside_windows_files PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)

# docs/internals/adding.md followed in a scratch copy of the sources, which is built: minutes.
if(LOOM_WHOLE)
  add_test(NAME additions COMMAND ${LOOM_PYTHON3} ${PROJECT_SOURCE_DIR}/tools/additions/check.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/additions)
  set_tests_properties(additions PROPERTIES TIMEOUT 10000)
endif()

if(TARGET loom_lm_shared)
  add_test(NAME outside_lm_library COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/lm_library.py ${PROJECT_BINARY_DIR})
  set_tests_properties(outside_lm_library PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800)
endif()

# What tools/release packs, in an empty root. Built here: the objects are those of the program.
if(TARGET loom_static)
  add_test(NAME outside_release COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/outside/release.py ${PROJECT_BINARY_DIR} $<TARGET_FILE:loom>)
  set_tests_properties(outside_release PROPERTIES TIMEOUT 1800)
endif()

# What ./run builds first.
if(TARGET loom_first)
  loom_outside(first_start first_start $<TARGET_FILE:loom_first>)
endif()

# The page of `loom page` in browsers. Skipped without node, the browser, the npm packages of tools/npm_packages.sh page, or
# the module that the preset wasm builds.
# clients: loom serve by npm's openai and the AI SDK.
foreach(script IN ITEMS page page_firefox clients)
  add_test(NAME outside_${script} COMMAND sh -c "command -v node >/dev/null || { echo 'skipped: node is not installed'; exit 77; }; exec node '${PROJECT_SOURCE_DIR}/tests/outside/${script}.mjs' '$<TARGET_FILE:loom>'")
  set_tests_properties(outside_${script} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800 COST 90)
endforeach()

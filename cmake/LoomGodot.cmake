# The addon for Godot 3 and 4 (bindings/godot), and its tests. Headers of the engines are not part of Loom: tools/godot_headers.py fetches them
# and prints the folder that this option takes.

set(LOOM_GODOT_HEADERS "" CACHE PATH "Folder that tools/godot_headers.py prints; empty: no addon for Godot")
if(NOT LOOM_SHARED OR CMAKE_CROSSCOMPILING OR LOOM_SANITIZE)
  return()
endif()
if(NOT EXISTS "${LOOM_GODOT_HEADERS}/gdextension/gdextension_interface.h")
  message(STATUS "The addon for Godot is left out: give -DLOOM_GODOT_HEADERS=$(tools/godot_headers.py)")
  return()
endif()

file(GLOB godot_core CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bindings/godot/core/*.cpp)
add_library(loom_godot_core OBJECT ${godot_core})
add_library(loom_godot3 MODULE ${PROJECT_SOURCE_DIR}/bindings/godot/gdnative/gdnative.cpp $<TARGET_OBJECTS:loom_godot_core>)
add_library(loom_godot4 MODULE ${PROJECT_SOURCE_DIR}/bindings/godot/gdextension/gdextension.cpp $<TARGET_OBJECTS:loom_godot_core>)
target_include_directories(loom_godot3 SYSTEM PRIVATE ${LOOM_GODOT_HEADERS}/gdnative)
target_include_directories(loom_godot4 SYSTEM PRIVATE ${LOOM_GODOT_HEADERS}/gdextension)
find_package(Threads REQUIRED)
foreach(target IN ITEMS loom_godot_core loom_godot3 loom_godot4)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  # Games are built without exceptions.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-psabi -fno-exceptions)
  if(LOOM_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endforeach()
foreach(target IN ITEMS loom_godot3 loom_godot4)
  # libloom.so is in the folder of the addon's library.
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH $ORIGIN)
  target_link_libraries(${target} PRIVATE loom_shared Threads::Threads)
endforeach()

if(LOOM_TESTS)
  find_program(LOOM_PYTHON3 python3 REQUIRED)
  add_executable(godot4_host ${PROJECT_SOURCE_DIR}/tests/godot/host.cpp)
  target_include_directories(godot4_host SYSTEM PRIVATE ${LOOM_GODOT_HEADERS}/gdextension)
  target_compile_options(godot4_host PRIVATE -Wall -Wextra)
  target_link_libraries(godot4_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  # In the real engine; shown as skipped where godot3-server is missing.
  add_test(NAME godot3 COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/godot/run.py godot3
    $<TARGET_FILE:loom_shared> $<TARGET_FILE:loom_godot3>)
  add_test(NAME godot4_host COMMAND ${LOOM_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/godot/run.py godot4_host
    $<TARGET_FILE:loom_shared> $<TARGET_FILE:loom_godot4> $<TARGET_FILE:godot4_host> ${LOOM_GODOT_HEADERS}/gdextension/api.tsv)
  set_tests_properties(godot3 godot4_host PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()

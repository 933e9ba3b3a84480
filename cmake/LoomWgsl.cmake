# Shaders as constants of C++: src/ops/matmul/matmul.wgsl is `std::string_view loom::wgsl::matmul` of a header that code of its module
# includes as "ops/matmul/matmul.wgsl.h". The headers are made when CMake runs, which it does again when a shader changes or appears, so no
# target has to wait for another.
set(LOOM_WGSL_INCLUDE ${PROJECT_BINARY_DIR}/wgsl)

# Makes the headers of a module's shaders; `found` says whether it has any.
function(loom_wgsl module found)
  file(GLOB_RECURSE shaders CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/${module}/*.wgsl)
  foreach(shader IN LISTS shaders)
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${shader})
    file(READ ${PROJECT_SOURCE_DIR}/src/${shader} text)
    cmake_path(GET shader STEM name)
    file(CONFIGURE OUTPUT ${LOOM_WGSL_INCLUDE}/${shader}.h @ONLY CONTENT [[// Made from src/@shader@ by cmake/LoomWgsl.cmake.
#pragma once
#include <string_view>
namespace loom::wgsl {
inline constexpr std::string_view @name@ = R"wgsl(@text@)wgsl";
}
]])
  endforeach()
  set(${found} "${shaders}" PARENT_SCOPE)
endfunction()

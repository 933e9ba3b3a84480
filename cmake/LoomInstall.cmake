# What `cmake --install` lays out: the library alone for the wheel (component library), and for programs that are compiled
# against it loom.h, loom.hpp, loom.pc and the files of find_package(Loom) (component development); the program loom.

if(NOT LOOM_SHARED)
  return()
endif()
include(CMakePackageConfigHelpers)
set(folder ${LOOM_INSTALL_FOLDER})
install(TARGETS loom_shared EXPORT LoomTargets LIBRARY DESTINATION ${folder} COMPONENT library RUNTIME DESTINATION ${folder} COMPONENT library
  ARCHIVE DESTINATION ${folder} COMPONENT development)
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
set_target_properties(loom_shared PROPERTIES EXPORT_NAME loom)
install(EXPORT LoomTargets NAMESPACE Loom:: DESTINATION ${folder}/cmake/Loom COMPONENT development)
configure_package_config_file(cmake/LoomConfig.cmake.in LoomConfig.cmake INSTALL_DESTINATION ${folder}/cmake/Loom
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change the C ABI.
write_basic_package_version_file(LoomConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH LOOM_TO_PREFIX /${folder}/pkgconfig /)
configure_file(cmake/loom.pc.in loom.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/LoomConfig.cmake ${PROJECT_BINARY_DIR}/LoomConfigVersion.cmake
  DESTINATION ${folder}/cmake/Loom COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/loom.pc DESTINATION ${folder}/pkgconfig COMPONENT development)
install(DIRECTORY include/loom DESTINATION include COMPONENT development)
if(LOOM_PROGRAM)
  install(TARGETS loom RUNTIME DESTINATION bin COMPONENT program)
endif()
# The page of `loom page` with all that it loads (component page): share/loom/web serves as a site on any host. The module
# is that of the preset wasm, where it has been built.
install(DIRECTORY web/ DESTINATION share/loom/web COMPONENT page)
install(DIRECTORY js/src DESTINATION share/loom/web/js COMPONENT page)
foreach(module IN ITEMS loom loom-threads loom-lm loom-lm-threads creature)
  install(FILES ${PROJECT_SOURCE_DIR}/build/wasm/bin/${module}.wasm DESTINATION share/loom/web/wasm COMPONENT page OPTIONAL)
endforeach()

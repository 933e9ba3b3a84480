# Files, hashes and kernels of Loom are little-endian. Also a script: cmake -DCMAKE_CXX_BYTE_ORDER=... -P cmake/LoomByteOrder.cmake
if(CMAKE_CXX_BYTE_ORDER STREQUAL BIG_ENDIAN)
  message(FATAL_ERROR "Loom runs on little-endian processors only, and the compiler makes code for a big-endian one: choose another target.")
endif()

# wasm32 on WASI without exceptions, run under node (packages clang-19, lld-22, wasi-libc, libc++-19-dev-wasm32,
# libc++abi-19-dev-wasm32, libclang-rt-19-dev-wasm32). Atomics and bulk memory let the same objects be linked for one thread
# and for workers on shared memory (cmake/LoomWasm.cmake).
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CXX_FLAGS_INIT "-fno-exceptions -D_WASI_EMULATED_MMAN -matomics -mbulk-memory -mnontrapping-fptoint")
# lld below 20 places thread-local variables of a module for one thread wrongly: on what other data they land is luck.
find_program(LOOM_WASM_LD NAMES wasm-ld-22 wasm-ld-21 wasm-ld-20 REQUIRED)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=${LOOM_WASM_LD} -lwasi-emulated-mman -Wl,-z,stack-size=1048576 -Wl,--initial-memory=67108864")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)

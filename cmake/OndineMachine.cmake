# What sources need on some machines.
# Where every processor has fused multiply-adds, only kernels/simd uses them, so that operators
# round after each operation as on x86-64.
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("#ifndef __FMA__\n#error\n#endif\nint main() {}" ONDINE_ALWAYS_FMA)
if(ONDINE_ALWAYS_FMA OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-ffp-contract=off)
endif()
# Files are larger than memory can be where its addresses have 32 bits.
if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND NOT EMSCRIPTEN)
  add_compile_definitions(_FILE_OFFSET_BITS=64)
endif()

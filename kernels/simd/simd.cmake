# kernels/simd: everything but the dispatch (isa.cpp) is compiled once for each instruction set,
# each in a namespace of its own; NAME_bf16.cpp for AVX512-BF16 only, NAME_amx.cpp for AMX only,
# NAME_vnni.cpp for AVX512-VNNI only. Those of matrix products, attention and moved planes compile
# once more without the instructions, for tests on any processor.
include(CheckCXXCompilerFlag)
include(OndineInstructionSets)

file(GLOB_RECURSE _simd_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/simd/*.cpp)
list(FILTER _simd_sources EXCLUDE REGEX "/kernels/simd/isa\\.cpp$")
set(_bf16_sources ${_simd_sources})
list(FILTER _bf16_sources INCLUDE REGEX "_bf16\\.cpp$")
set(_amx_sources ${_simd_sources})
list(FILTER _amx_sources INCLUDE REGEX "_amx\\.cpp$")
set(_vnni_sources ${_simd_sources})
list(FILTER _vnni_sources INCLUDE REGEX "_vnni\\.cpp$")
list(REMOVE_ITEM _simd_sources ${_bf16_sources} ${_amx_sources} ${_vnni_sources})
set(_simd_knows core kernels/simd)
ondine_module(kernels_simd SOURCES ${PROJECT_SOURCE_DIR}/kernels/simd/isa.cpp KNOWS ${_simd_knows})

# Rounds each operation by itself: after the options of its targets.
set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/simd/quantize/quantized_rows.cpp
  ${PROJECT_SOURCE_DIR}/kernels/simd/exact/fourier.cpp
  ${PROJECT_SOURCE_DIR}/kernels/simd/exact/normals.cpp PROPERTIES COMPILE_OPTIONS
  -ffp-contract=off)

set(_simd_level -O3)
if(ONDINE_SANITIZE)
  set(_simd_level -O1)
endif()

# ondine_isa(name SOURCES source... FLAGS flag... [FULL isa]): FULL has the products in float32 of
# one that computes some in bfloat16.
function(ondine_isa name)
  cmake_parse_arguments(PARSE_ARGV 1 _arg "" "FULL" "SOURCES;FLAGS")
  set(target simd_${name})
  ondine_module(${target} SOURCES ${_arg_SOURCES} KNOWS ${_simd_knows})
  set(target ondine_${target})
  target_compile_definitions(${target} PRIVATE ONDINE_ISA=${name}
    $<$<BOOL:${_arg_FULL}>:ONDINE_FULL_ISA=${_arg_FULL}>)
  target_compile_options(${target} PRIVATE ${_simd_level} -ffp-contract=fast -fno-math-errno
    -fno-trapping-math ${_arg_FLAGS})
  set(ONDINE_OBJECTS ${ONDINE_OBJECTS} PARENT_SCOPE)
  if(ONDINE_TESTS AND CMAKE_NM)
    add_test(NAME kernels/simd/symbols_${name} COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM}
      "-DOBJECTS=$<JOIN:$<TARGET_OBJECTS:${target}>,$<COMMA>>" -DNAMESPACE=ondine::math::${name}
      -P ${PROJECT_SOURCE_DIR}/kernels/simd/check_symbols.cmake)
  endif()
endfunction()

ondine_check_instruction_sets("${ONDINE_INSTRUCTION_SETS}")
ondine_isa(baseline SOURCES ${_simd_sources})
set(_has_avx2 OFF)
set(_has_avx512 OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  check_cxx_compiler_flag(-mavx512f ONDINE_HAS_AVX512)
  check_cxx_compiler_flag(-mavx2 ONDINE_HAS_AVX2)
  foreach(_set avx2 avx512)
    string(TOUPPER ${_set} _upper)
    if(${_set} IN_LIST ONDINE_INSTRUCTION_SETS AND ONDINE_HAS_${_upper})
      set(_has_${_set} ON)
    endif()
  endforeach()
endif()
if(_has_avx2)
  ondine_isa(avx2 SOURCES ${_simd_sources} FLAGS -mavx2 -mfma -mbmi2)
  target_compile_definitions(ondine_kernels_simd PRIVATE ONDINE_WITH_AVX2)
endif()
if(_has_avx512)
  set(_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mbmi2
    -mprefer-vector-width=512)
  ondine_isa(avx512 SOURCES ${_simd_sources} FLAGS ${_avx512})
  target_compile_definitions(ondine_kernels_simd PRIVATE ONDINE_WITH_AVX512)
  check_cxx_compiler_flag(-mavx512bf16 ONDINE_HAS_AVX512_BF16)
  if(ONDINE_HAS_AVX512_BF16)
    ondine_isa(avx512_bf16 SOURCES ${_bf16_sources} FLAGS ${_avx512} -mavx512bf16 FULL avx512)
    target_compile_definitions(ondine_kernels_simd PRIVATE ONDINE_WITH_AVX512_BF16)
    check_cxx_compiler_flag(-mamx-bf16 ONDINE_HAS_AMX_BF16)
    if(ONDINE_HAS_AMX_BF16)
      ondine_isa(amx_bf16 SOURCES ${_amx_sources} FULL avx512
        FLAGS ${_avx512} -mavx512bf16 -mamx-tile -mamx-bf16 -fno-exceptions)
      target_compile_definitions(ondine_kernels_simd PRIVATE ONDINE_WITH_AMX_BF16)
    endif()
  endif()
  check_cxx_compiler_flag(-mavx512vnni ONDINE_HAS_AVX512_VNNI)
  if(ONDINE_HAS_AVX512_VNNI)
    ondine_isa(avx512_vnni SOURCES ${_vnni_sources} FLAGS ${_avx512} -mavx512vnni)
    target_compile_definitions(ondine_kernels_simd PRIVATE ONDINE_WITH_AVX512_VNNI)
  endif()
endif()

if(ONDINE_TESTS)
  set(_objects ${ONDINE_OBJECTS})
  ondine_isa(bf16_reference FULL baseline SOURCES
    ${PROJECT_SOURCE_DIR}/kernels/simd/attention/attention_rows_bf16.cpp
    ${PROJECT_SOURCE_DIR}/kernels/simd/matmul/gemm_bf16.cpp ${_amx_sources})
  set(ONDINE_OBJECTS ${_objects})
  # The choice of an instruction set, as builds with fewer of them compile it.
  foreach(_sets none avx2)
    add_library(ondine_isa_of_${_sets} OBJECT ${PROJECT_SOURCE_DIR}/kernels/simd/isa.cpp)
    target_include_directories(ondine_isa_of_${_sets} PRIVATE
      ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(ondine_isa_of_${_sets} PRIVATE ondine_warnings)
  endforeach()
  target_compile_definitions(ondine_isa_of_avx2 PRIVATE ONDINE_WITH_AVX2)
endif()

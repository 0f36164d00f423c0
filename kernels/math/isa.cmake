# kernels/math/isa/*.cpp, once for each instruction set, each in a namespace of its own.
include(CheckCXXCompilerFlag)

file(GLOB _isa_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/math/isa/*.cpp)

# The room's glob took them too.
get_target_property(_kernel_sources ondine_kernels SOURCES)
list(FILTER _kernel_sources EXCLUDE REGEX "/kernels/math/isa/")
set_target_properties(ondine_kernels PROPERTIES SOURCES "${_kernel_sources}")

set(_isa_level -O3)
if(ONDINE_SANITIZE)
  set(_isa_level -O1)
endif()

function(ondine_isa name)
  set(target ondine_math_${name})
  add_library(${target} OBJECT ${_isa_sources})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:ondine_warnings>)
  target_compile_definitions(${target} PRIVATE ONDINE_ISA=${name})
  target_compile_options(${target} PRIVATE ${_isa_level} -ffp-contract=fast -fno-math-errno
    -fno-trapping-math ${ARGN})
  set(ONDINE_OBJECTS ${ONDINE_OBJECTS} $<TARGET_OBJECTS:${target}> PARENT_SCOPE)
  if(ONDINE_TESTS AND CMAKE_NM)
    add_test(NAME kernels/math/symbols_${name} COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM}
      "-DOBJECTS=$<JOIN:$<TARGET_OBJECTS:${target}>,$<COMMA>>" -DNAMESPACE=ondine::math::${name}
      -P ${PROJECT_SOURCE_DIR}/kernels/math/isa/check_symbols.cmake)
  endif()
endfunction()

ondine_isa(baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  check_cxx_compiler_flag(-mavx512f ONDINE_HAS_AVX512)
  check_cxx_compiler_flag(-mavx2 ONDINE_HAS_AVX2)
  if(ONDINE_HAS_AVX2)
    ondine_isa(avx2 -mavx2 -mfma -mbmi2)
    target_compile_definitions(ondine_kernels PRIVATE ONDINE_WITH_AVX2)
  endif()
  if(ONDINE_HAS_AVX512)
    ondine_isa(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mbmi2
      -mprefer-vector-width=512)
    target_compile_definitions(ondine_kernels PRIVATE ONDINE_WITH_AVX512)
  endif()
endif()

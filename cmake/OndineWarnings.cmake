# Warnings and sanitizers for the project's own code.
add_library(ondine_warnings INTERFACE)
target_compile_options(ondine_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion $<$<COMPILE_LANGUAGE:CXX>:-Wunused-const-variable>
  # False positives for string concatenation in g++ 12 (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# In a unit (OndineUnity.cmake), names of one source may be those of locals in the next, and g++
# warns of types with members of an unnamed namespace outside of the main file.
set(_unit $<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>)
target_compile_options(ondine_warnings INTERFACE $<IF:${_unit},-Wshadow=local,-Wshadow>
  $<${_unit}:-Wno-subobject-linkage>)
if(ONDINE_WERROR)
  target_compile_options(ondine_warnings INTERFACE -Werror)
endif()
# Build type of the sanitizer presets: line numbers for reports, otherwise fast to compile.
set(CMAKE_CXX_FLAGS_SANITIZED "-O1 -g1")
if(ONDINE_SANITIZE)
  add_compile_options(-fsanitize=${ONDINE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ONDINE_SANITIZE})
  if(ONDINE_SANITIZE MATCHES undefined)
    # The group lacks float-cast-overflow (NaN to an integer). vptr and object-size take a quarter
    # of the compile time and find nothing that the address sanitizer does not.
    add_compile_options(-fsanitize=float-cast-overflow -fno-sanitize=vptr,object-size)
    add_link_options(-fsanitize=float-cast-overflow)
  endif()
endif()

# Precompiled headers save a third of a build. Sources still include what they use: a build with
# CMAKE_DISABLE_PRECOMPILE_HEADERS=ON must pass too.

# Headers of the standard library that nearly every file uses.
set(ONDINE_STANDARD_HEADERS <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <limits>
  <map> <memory> <optional> <span> <string> <string_view> <unordered_map> <utility> <variant>
  <vector>)

# ondine_precompile(target header...): headers that most sources of the target include.
function(ondine_precompile target)
  target_precompile_headers(${target} PRIVATE ${ONDINE_STANDARD_HEADERS} ${ARGN})
  ondine_precompiled_warnings(${target})
endfunction()

# g++ treats precompiled system headers as the project's and then issues false warnings about
# inlined code of the standard library. Builds without precompiled headers keep these warnings.
function(ondine_precompiled_warnings target)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow
      -Wno-stringop-overread)
  endif()
endfunction()

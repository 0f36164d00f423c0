# Warnings and sanitizers for the project's own code.
add_library(ondine_warnings INTERFACE)
target_compile_options(ondine_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wunused-const-variable>
  # g++ 12 reports string concatenation falsely (gcc bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(ONDINE_WERROR)
  target_compile_options(ondine_warnings INTERFACE -Werror)
endif()
# The type of the sanitized presets: lines for reports, and no more work for the compiler than that.
set(CMAKE_CXX_FLAGS_SANITIZED "-O1 -g1")
if(ONDINE_SANITIZE)
  add_compile_options(-fsanitize=${ONDINE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ONDINE_SANITIZE})
  if(ONDINE_SANITIZE MATCHES undefined)
    # NaN to an integer is undefined, but not in that group. The others cost a quarter of the time
    # to compile and see what the address sanitizer sees.
    add_compile_options(-fsanitize=float-cast-overflow -fno-sanitize=vptr,object-size)
    add_link_options(-fsanitize=float-cast-overflow)
  endif()
endif()

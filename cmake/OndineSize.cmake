# Small binaries: unreferenced sections are dropped; ONDINE_STATIC links libraries statically.
option(ONDINE_STATIC "Link archives instead of shared libraries, except for the C library" OFF)

# What is used once per model, or by the command line alone, compiles for size.
set(_size -Os)
if(EMSCRIPTEN)
  set(_size -Oz) # what -Os leaves unrolled and inlined there
endif()
set(ONDINE_COLD_OPTIONS $<$<CONFIG:Release>:${_size}>)

# Reduced builds compile everything that is not speed-critical for size.
set(ONDINE_SMALL_OPTIONS)
if(ONDINE_OPERATORS OR EMSCRIPTEN)
  set(ONDINE_SMALL_OPTIONS -Os)
endif()
# The linker of WebAssembly drops unreferenced sections by itself.
if(ONDINE_OPERATORS AND NOT EMSCRIPTEN)
  add_compile_options(-ffunction-sections -fdata-sections)
endif()
if((ONDINE_OPERATORS OR ONDINE_STATIC) AND NOT EMSCRIPTEN)
  add_link_options(-Wl,--gc-sections -Wl,--as-needed)
endif()
if(ONDINE_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(Protobuf_USE_STATIC_LIBS ON)
  set(Boost_USE_STATIC_LIBS ON)
  set(ZLIB_USE_STATIC_LIBS ON)
  if(NOT EMSCRIPTEN)
    add_link_options(-static-libstdc++ -static-libgcc)
  endif()
endif()

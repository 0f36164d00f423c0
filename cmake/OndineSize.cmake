# Small binaries: what nothing refers to is dropped, and on demand libraries become part of them.
option(ONDINE_STATIC "Link archives instead of shared libraries, but for the C library" OFF)

# For what is not fast for a reason, in reduced builds.
set(ONDINE_SMALL_OPTIONS)
if(ONDINE_OPERATORS)
  set(ONDINE_SMALL_OPTIONS -Os)
endif()
if(ONDINE_OPERATORS OR ONDINE_STATIC)
  add_link_options(-Wl,--gc-sections -Wl,--as-needed)
endif()
if(ONDINE_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(Protobuf_USE_STATIC_LIBS ON)
  set(Boost_USE_STATIC_LIBS ON)
  set(ZLIB_USE_STATIC_LIBS ON)
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

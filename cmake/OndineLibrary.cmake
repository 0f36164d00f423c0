# The library: an archive, or with BUILD_SHARED_LIBS a shared library that exports the public API only.
# The tests look inside and use an archive of the same objects in either case.

# ondine_library(name type): all modules as one library.
function(ondine_library name type)
  add_library(${name} ${type} ${ONDINE_OBJECTS})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PRIVATE protobuf::libprotobuf-lite Boost::serialization
    Threads::Threads ZLIB::ZLIB ${ONDINE_OPTIONAL_LIBRARIES})
  if(type STREQUAL SHARED)
    # Before 1.0 a minor version may change the ABI.
    set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION}
      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
      LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/ondine.map)
    if(NOT APPLE)
      target_link_options(${name} PRIVATE
        -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/ondine.map -Wl,--no-undefined)
    endif()
  endif()
endfunction()

if(BUILD_SHARED_LIBS AND WIN32)
  message(FATAL_ERROR "Ondine is an archive on Windows: no file defines what a .dll would export")
endif()
if(BUILD_SHARED_LIBS)
  ondine_library(ondine SHARED)
  ondine_library(ondine_internal STATIC)
else()
  ondine_library(ondine STATIC)
  add_library(ondine_internal ALIAS ondine)
endif()
add_library(ondine::ondine ALIAS ondine)

# Modules: a top-level folder or a family of kernels, each an object library. A module sees only
# the headers of the modules it may know: its include path is a folder of links to those, so that a
# wrong include does not compile.
set(ONDINE_OBJECTS)

# ondine_include_walls(target KNOWS folder...): the include path of `target` is the public headers
# and links to these folders of the source tree.
function(ondine_include_walls target)
  cmake_parse_arguments(PARSE_ARGV 1 _arg "" "" KNOWS)
  set(_walls ${PROJECT_BINARY_DIR}/include_walls/${target})
  file(REMOVE_RECURSE ${_walls})
  foreach(_folder IN LISTS _arg_KNOWS)
    cmake_path(GET _folder PARENT_PATH _parent)
    file(MAKE_DIRECTORY ${_walls}/${_parent})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${_folder} ${_walls}/${_folder} SYMBOLIC)
  endforeach()
  target_include_directories(${target} PRIVATE ${_walls} ${PROJECT_SOURCE_DIR}/include)
endfunction()

# ondine_module(name sources KNOWS folder...): the object library ondine_<name>.
function(ondine_module name)
  cmake_parse_arguments(PARSE_ARGV 1 _arg "" "" "SOURCES;KNOWS")
  add_library(ondine_${name} OBJECT ${_arg_SOURCES})
  ondine_include_walls(ondine_${name} KNOWS ${_arg_KNOWS})
  target_link_libraries(ondine_${name} PRIVATE $<BUILD_INTERFACE:ondine_warnings>)
  set(ONDINE_OBJECTS ${ONDINE_OBJECTS} $<TARGET_OBJECTS:ondine_${name}> PARENT_SCOPE)
endfunction()

# ondine_system_sources(list): leaves out what is for other systems. Files *_posix.cpp and *_win32.cpp
# implement the same functions.
macro(ondine_system_sources list)
  if(WIN32)
    list(FILTER ${list} EXCLUDE REGEX "_posix\\.cpp$")
  else()
    list(FILTER ${list} EXCLUDE REGEX "_win32\\.cpp$")
  endif()
endmacro()

# ondine_folder(name [COLD folder...] KNOWS folder...): a module of all sources below a top-level
# folder. The sources below the COLD folders compile for size, as the target ondine_<name>_cold.
macro(ondine_folder name)
  cmake_parse_arguments(_folder "" "" "COLD;KNOWS" ${ARGN})
  file(GLOB_RECURSE _sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cpp)
  ondine_system_sources(_sources)
  set(_cold)
  foreach(_path IN LISTS _folder_COLD)
    file(GLOB_RECURSE _below CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${_path}/*.cpp)
    ondine_system_sources(_below)
    list(APPEND _cold ${_below})
  endforeach()
  if(_cold)
    list(REMOVE_ITEM _sources ${_cold})
    ondine_module(${name}_cold SOURCES ${_cold} KNOWS ${_folder_KNOWS} ${name})
    target_compile_options(ondine_${name}_cold PRIVATE ${ONDINE_COLD_OPTIONS})
  endif()
  ondine_module(${name} SOURCES ${_sources} KNOWS ${_folder_KNOWS} ${name})
  ondine_unity(ondine_${name})
  if(_cold)
    ondine_unity(ondine_${name}_cold)
  endif()
endmacro()

# Units: sources of one folder that compile as one, which saves a newcomer most of the time that
# headers take. Names in the unnamed namespaces of a folder are therefore different. Who edits turns
# it off with ONDINE_UNITY=OFF, so that a change compiles one file.
option(ONDINE_UNITY "Compile the sources of a folder together" ON)
set(ONDINE_UNIT_SOURCES 10 CACHE STRING "Most sources of a unit")
mark_as_advanced(ONDINE_UNIT_SOURCES)

# Passes below this folder have the same names.
set(ONDINE_ALONE graph/passes)

# ondine_unity(target): sources with options of their own stay alone (CMake sees to that).
function(ondine_unity target)
  if(NOT ONDINE_UNITY)
    return()
  endif()
  get_target_property(_sources ${target} SOURCES)
  list(SORT _sources)
  foreach(_source IN LISTS _sources)
    cmake_path(GET _source PARENT_PATH _folder)
    cmake_path(RELATIVE_PATH _folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE _group)
    # The header of Windows has macros that are words of others.
    if(_group MATCHES "^${ONDINE_ALONE}" OR _source MATCHES "_win32\\.cpp$")
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "${_group}" _group)
    if(NOT DEFINED _count_${_group})
      set(_count_${_group} 0)
    endif()
    math(EXPR _unit "${_count_${_group}} / ${ONDINE_UNIT_SOURCES}")
    math(EXPR _count_${_group} "${_count_${_group}} + 1")
    set_source_files_properties(${_source} PROPERTIES UNITY_GROUP ${_group}_${_unit})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# ONDINE_OPERATORS=FILE builds only the operators that FILE names, one per line; # starts a comment.
# `ondine info --operators MODEL...` prints such a file.
set(ONDINE_OPERATORS "" CACHE FILEPATH "File that names the operators to build; all when empty")

# Writes to `out` the lines of the list `all` whose operators `wanted` names.
function(ondine_filter_operators all wanted out)
  file(STRINGS ${all} lines REGEX "^ONDINE_OPERATOR")
  file(STRINGS ${wanted} names)
  set(kept "// Written from ${wanted}.\n")
  foreach(name IN LISTS names)
    string(REGEX REPLACE "#.*" "" name "${name}")
    string(STRIP "${name}" name)
    if(name STREQUAL "")
      continue()
    endif()
    if(NOT "ONDINE_OPERATOR(${name})" IN_LIST lines)
      message(FATAL_ERROR "${wanted}: '${name}' is not an operator in ${all}")
    endif()
    list(APPEND chosen "ONDINE_OPERATOR(${name})")
  endforeach()
  if(NOT chosen)
    message(FATAL_ERROR "${wanted} names no operators")
  endif()
  list(REMOVE_DUPLICATES chosen)
  list(SORT chosen)
  list(JOIN chosen "\n" text)
  file(CONFIGURE OUTPUT ${out} CONTENT "${kept}${text}\n" @ONLY)
endfunction()

if(ONDINE_OPERATORS AND NOT CMAKE_SCRIPT_MODE_FILE)
  get_filename_component(_wanted ${ONDINE_OPERATORS} ABSOLUTE BASE_DIR ${CMAKE_BINARY_DIR})
  set(_list ${PROJECT_BINARY_DIR}/operators.inc)
  ondine_filter_operators(${PROJECT_SOURCE_DIR}/kernels/operators.inc ${_wanted} ${_list})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_wanted}
    ${PROJECT_SOURCE_DIR}/kernels/operators.inc)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/catalogue.cpp PROPERTIES
    COMPILE_DEFINITIONS "ONDINE_OPERATOR_LIST=\"${_list}\"" OBJECT_DEPENDS ${_list})
endif()

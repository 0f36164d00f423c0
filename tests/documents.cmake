# The documents' code: the README's programs compile and run, the program of docs/c.md and the
# operator of docs/adding-an-operator.md compile.

# ondine_code_blocks(language document prefix out): writes each ```language block of a document to
# prefix_1.language, prefix_2.language, ... and lists these files in `out`.
function(ondine_code_blocks language document prefix out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${document})
  file(READ ${document} _rest)
  set(_files)
  set(_number 0)
  set(_mark "```${language}\n")
  string(LENGTH "${_mark}" _length)
  while(_rest MATCHES "${_mark}")
    string(FIND "${_rest}" "${_mark}" _begin)
    math(EXPR _begin "${_begin} + ${_length}")
    string(SUBSTRING "${_rest}" ${_begin} -1 _rest)
    string(FIND "${_rest}" "```" _end)
    string(SUBSTRING "${_rest}" 0 ${_end} _code)
    math(EXPR _end "${_end} + 3")
    string(SUBSTRING "${_rest}" ${_end} -1 _rest)
    math(EXPR _number "${_number} + 1")
    file(CONFIGURE OUTPUT ${prefix}_${_number}.${language} CONTENT "${_code}" @ONLY)
    list(APPEND _files ${prefix}_${_number}.${language})
  endwhile()
  set(${out} ${_files} PARENT_SCOPE)
endfunction()

ondine_code_blocks(cpp ${PROJECT_SOURCE_DIR}/README.md ${CMAKE_CURRENT_BINARY_DIR}/readme_example
  _programs)
foreach(_file IN LISTS _programs)
  get_filename_component(_name ${_file} NAME_WE)
  add_executable(${_name} ${_file})
  target_link_libraries(${_name} PRIVATE ondine)
endforeach()

ondine_code_blocks(c ${PROJECT_SOURCE_DIR}/docs/c.md ${CMAKE_CURRENT_BINARY_DIR}/c_example
  _programs)
foreach(_file IN LISTS _programs)
  get_filename_component(_name ${_file} NAME_WE)
  add_executable(${_name} ${_file})
  set_target_properties(${_name} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
  target_compile_options(${_name} PRIVATE -Wall -Wextra -pedantic -Werror)
  target_link_libraries(${_name} PRIVATE ondine)
endforeach()

ondine_code_blocks(cpp ${PROJECT_SOURCE_DIR}/docs/adding-an-operator.md
  ${CMAKE_CURRENT_BINARY_DIR}/document_operator _operator)
add_library(document_operator OBJECT ${_operator})
target_include_directories(document_operator PRIVATE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/include)

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  # Links, line lengths, documents that sources mention; the chart fits its figures.
  add_test(NAME docs COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/dev/check_docs.py)
  add_test(NAME docs/chart COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/bench/chart.py
    --check)
  add_test(NAME docs/federation_chart COMMAND ${Python3_EXECUTABLE} -B
    ${PROJECT_SOURCE_DIR}/bench/federation/compare.py --check)
  add_test(NAME docs/topologies COMMAND ${Python3_EXECUTABLE} -B
    ${PROJECT_SOURCE_DIR}/bench/topologies.py --check)
  set_tests_properties(docs docs/chart docs/federation_chart docs/topologies PROPERTIES LABELS unit)
endif()
if(Python3_FOUND AND TARGET example_make_cnn AND TARGET ondine_cli)
  add_test(NAME docs/readme COMMAND ${Python3_EXECUTABLE}
    ${CMAKE_CURRENT_SOURCE_DIR}/system/readme.py ${PROJECT_SOURCE_DIR}/README.md
    ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${PROJECT_BINARY_DIR}/readme_test)
  set_tests_properties(docs/readme PROPERTIES LABELS system)
endif()
if(Python3_FOUND AND TARGET ondine_cli AND ONDINE_HAS_TOKENIZERS)
  add_test(NAME docs/hugging_face COMMAND ${Python3_EXECUTABLE}
    ${CMAKE_CURRENT_SOURCE_DIR}/system/hugging_face.py ${PROJECT_SOURCE_DIR}/docs/hugging-face.md
    ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${PROJECT_BINARY_DIR}/hugging_face_test)
  set_tests_properties(docs/hugging_face PROPERTIES LABELS system)
endif()
if(TARGET ondine_cli AND ONDINE_SANITIZE STREQUAL "")
  add_test(NAME docs/tutorial COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/system/tutorial.sh
    ${PROJECT_SOURCE_DIR}/docs/tutorial.md ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
    ${PROJECT_BINARY_DIR}/tutorial_test)
  # Needs the package onnx; skipped where it cannot be had.
  add_test(NAME docs/training_info COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/system/training_info.sh
    ${PROJECT_SOURCE_DIR} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
    ${PROJECT_BINARY_DIR}/training_info_test)
  set_tests_properties(docs/tutorial docs/training_info PROPERTIES LABELS system
    SKIP_RETURN_CODE 77)
endif()

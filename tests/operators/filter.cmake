cmake_minimum_required(VERSION 3.25)
# The list of a build with ONDINE_OPERATORS: cmake -DSOURCE=... -DWORK=... -P filter.cmake
include(${SOURCE}/cmake/OndineOperators.cmake)
file(MAKE_DIRECTORY ${WORK})
set(all ${SOURCE}/kernels/operators.inc)
file(WRITE ${WORK}/wanted "# two operators\nrelu  # Relu\n\nconv # Conv\nrelu\n")
ondine_filter_operators(${all} ${WORK}/wanted ${WORK}/kept.inc)
file(STRINGS ${WORK}/kept.inc kept REGEX "^ONDINE")
if(NOT kept STREQUAL "ONDINE_OPERATOR(conv);ONDINE_OPERATOR(relu)")
  message(FATAL_ERROR "kept: ${kept}")
endif()

# Unknown names and empty files are refused.
foreach(content "relux" "# nothing")
  file(WRITE ${WORK}/bad "${content}\n")
  file(WRITE ${WORK}/bad.cmake "cmake_minimum_required(VERSION 3.25)\ninclude(${SOURCE}/cmake/OndineOperators.cmake)\n"
    "ondine_filter_operators(${all} ${WORK}/bad ${WORK}/bad.inc)\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -P ${WORK}/bad.cmake RESULT_VARIABLE code
    ERROR_VARIABLE message)
  if(code EQUAL 0 OR NOT message MATCHES "is not an operator|names no operators")
    message(FATAL_ERROR "accepted '${content}': ${message}")
  endif()
endforeach()

# What the command line prints for a model is such a file.
if(ONDINE AND MODEL_MAKER)
  execute_process(COMMAND ${MODEL_MAKER} ${WORK}/model.onnx COMMAND_ERROR_IS_FATAL ANY
    OUTPUT_QUIET)
  execute_process(COMMAND ${ONDINE} info --operators ${WORK}/model.onnx
    OUTPUT_FILE ${WORK}/model.txt COMMAND_ERROR_IS_FATAL ANY)
  ondine_filter_operators(${all} ${WORK}/model.txt ${WORK}/model.inc)
  file(STRINGS ${WORK}/model.inc kept REGEX "^ONDINE")
  list(LENGTH kept count)
  if(NOT "ONDINE_OPERATOR(conv)" IN_LIST kept OR count GREATER 40)
    message(FATAL_ERROR "${count} operators: ${kept}")
  endif()
  # What fusion might have needed for another model is not kept.
  if("ONDINE_OPERATOR(scaled_attention)" IN_LIST kept)
    message(FATAL_ERROR "no attention in the model, kept: ${kept}")
  endif()
endif()

cmake_minimum_required(VERSION 3.25)
# Which ONDINE_INSTRUCTION_SETS are taken: cmake -DSOURCE=... -DWORK=... -P instruction_sets.cmake
file(MAKE_DIRECTORY ${WORK})
foreach(sets avx2 avx512 "avx2\;avx512" "avx512\;avx2" none sse "avx2\;sse" "none\;avx2" "")
  file(WRITE ${WORK}/check.cmake "cmake_minimum_required(VERSION 3.25)\n"
    "include(${SOURCE}/cmake/OndineInstructionSets.cmake)\n"
    "ondine_check_instruction_sets(\"${sets}\")\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -P ${WORK}/check.cmake RESULT_VARIABLE code
    ERROR_VARIABLE message)
  if(sets MATCHES "^(avx2|avx512|none|avx2.;avx512|avx512.;avx2)$")
    if(NOT code EQUAL 0)
      message(FATAL_ERROR "refused '${sets}': ${message}")
    endif()
  elseif(code EQUAL 0 OR NOT message MATCHES "not avx2, avx512, both or none")
    message(FATAL_ERROR "accepted '${sets}': ${message}")
  endif()
endforeach()

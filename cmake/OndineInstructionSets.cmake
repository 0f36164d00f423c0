# ONDINE_INSTRUCTION_SETS: what kernels/simd compiles for on x86-64 beside the baseline. A build for
# one kind of processor leaves out copies that it does not run.
set(ONDINE_INSTRUCTION_SETS avx2 avx512 CACHE STRING
  "Instruction sets of x86-64 beside the baseline: avx2, avx512, both or none")

# Refuses anything but these.
function(ondine_check_instruction_sets sets)
  set(others ${sets})
  list(REMOVE_ITEM others avx2 avx512)
  if(NOT sets OR (others AND NOT sets STREQUAL none))
    message(FATAL_ERROR "ONDINE_INSTRUCTION_SETS is '${sets}', not avx2, avx512, both or none")
  endif()
endfunction()

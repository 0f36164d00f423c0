# Training by several processes (docs/cluster.md). The ABIs of Open MPI and MPICH differ: one small
# library for each that is installed, compiled by its own compiler and opened when a program runs
# under its mpirun. Static builds, which load nothing, go without.
option(ONDINE_WITH_MPI "Train in several processes if Open MPI or MPICH is installed" ON)
set(ONDINE_MPI_LIBRARIES)

# ondine_mpi(name flag): finds mpicc.NAME, or an mpicc that knows `flag`.
function(ondine_mpi name flag)
  string(TOUPPER ${name} _upper)
  find_program(ONDINE_MPICC_${_upper} mpicc.${name})
  mark_as_advanced(ONDINE_MPICC_${_upper} ONDINE_MPICC)
  set(_compiler ${ONDINE_MPICC_${_upper}})
  if(NOT _compiler)
    find_program(ONDINE_MPICC mpicc)
    if(ONDINE_MPICC)
      execute_process(COMMAND ${ONDINE_MPICC} ${flag} RESULT_VARIABLE _failed OUTPUT_QUIET ERROR_QUIET)
      if(_failed EQUAL 0)
        set(_compiler ${ONDINE_MPICC})
      endif()
    endif()
  endif()
  if(NOT _compiler)
    message(STATUS "ondine: without MPI of ${name}")
    return()
  endif()
  set(_source ${PROJECT_SOURCE_DIR}/trainer/cluster/mpi/ondine_mpi)
  set(_library ${PROJECT_BINARY_DIR}/bin/libondine_mpi_${name}.so)
  add_custom_command(OUTPUT ${_library}
    COMMAND ${_compiler} -std=c11 -O2 -fPIC -shared -fvisibility=hidden -Wall -Wextra
      -o ${_library} ${_source}.c
    DEPENDS ${_source}.c ${_source}.h VERBATIM COMMENT "Compiling libondine_mpi_${name}.so")
  set(ONDINE_MPI_LIBRARIES ${ONDINE_MPI_LIBRARIES} ${_library} PARENT_SCOPE)
endfunction()

if(ONDINE_WITH_MPI AND NOT ONDINE_STATIC AND CMAKE_SYSTEM_NAME STREQUAL Linux)
  ondine_mpi(openmpi --showme:version)
  ondine_mpi(mpich -compile_info)
endif()
if(ONDINE_MPI_LIBRARIES)
  include(GNUInstallDirs)
  add_custom_target(ondine_mpi ALL DEPENDS ${ONDINE_MPI_LIBRARIES})
  set_source_files_properties(${PROJECT_SOURCE_DIR}/trainer/cluster/mpi_communicator.cpp PROPERTIES
    COMPILE_DEFINITIONS "ONDINE_MPI;ONDINE_LIBDIR=\"${CMAKE_INSTALL_LIBDIR}\"")
  list(APPEND ONDINE_OPTIONAL_LIBRARIES ${CMAKE_DL_LIBS})
  list(REMOVE_DUPLICATES ONDINE_OPTIONAL_LIBRARIES)
endif()

# Installs the build, builds programs from what was installed, and runs them.
# cmake -DBUILD=... -DSOURCE=... -DWORK=... -P run.cmake
# SOURCE: the folder tests/install.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)

# find_package(ondine)
run(${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix
    ${CONSUMER_OPTIONS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)

# pkg-config alone, without CMake.
find_program(PKG_CONFIG pkg-config)
file(GLOB_RECURSE _pc ${WORK}/prefix/ondine.pc)
if(PKG_CONFIG AND _pc AND NOT CONSUMER_OPTIONS)
  cmake_path(GET _pc PARENT_PATH _pc_dir)
  set(ENV{PKG_CONFIG_PATH} ${_pc_dir})
  execute_process(COMMAND ${PKG_CONFIG} --static --cflags --libs ondine OUTPUT_VARIABLE _flags
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(_flags UNIX_COMMAND "${_flags}")
  run(c++ -std=c++20 ${SOURCE}/consumer/main.cpp ${_flags} -o ${WORK}/consumer_pkg_config)
  run(${WORK}/consumer_pkg_config)
endif()

# The examples, out of tree.
set(_examples ${SOURCE}/../../examples)
if(NOT CONSUMER_OPTIONS)
  run(${CMAKE_COMMAND} -S ${_examples} -B ${WORK}/examples -DCMAKE_PREFIX_PATH=${WORK}/prefix
      -DCMAKE_BUILD_TYPE=Release)
  run(${CMAKE_COMMAND} --build ${WORK}/examples)
  run(${WORK}/examples/example_make_cnn ${WORK}/cnn.onnx)
endif()

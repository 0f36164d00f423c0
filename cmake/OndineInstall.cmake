# The library, its public headers, find_package(ondine) and pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ondine)
install(TARGETS ondine EXPORT ondine_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ondine DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT ondine_targets NAMESPACE ondine:: DESTINATION ${_config_dir})
configure_package_config_file(cmake/ondine-config.cmake.in
  ${PROJECT_BINARY_DIR}/ondine-config.cmake INSTALL_DESTINATION ${_config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ondine-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ondine-config.cmake
  ${PROJECT_BINARY_DIR}/ondine-config-version.cmake DESTINATION ${_config_dir})

# ondine.pc finds the prefix from its own place, so that an installed tree can be moved.
set(_pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH ONDINE_PC_PREFIX /${_pc_dir} /)
set(ONDINE_PC_LIBRARIES)
foreach(_library IN LISTS ONDINE_OPTIONAL_LIBRARIES)
  if(NOT IS_ABSOLUTE ${_library})
    set(_library -l${_library})
  endif()
  string(APPEND ONDINE_PC_LIBRARIES " ${_library}")
endforeach()
# What links an archive needs its libraries; the shared library has found its own.
set(ONDINE_PC_PRIVATE)
if(NOT BUILD_SHARED_LIBS)
  string(CONCAT ONDINE_PC_PRIVATE "Requires.private: protobuf-lite zlib\n"
    "Libs.private: -lboost_serialization${ONDINE_PC_LIBRARIES} -pthread\n")
endif()
configure_file(cmake/ondine.pc.in ${PROJECT_BINARY_DIR}/ondine.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ondine.pc DESTINATION ${_pc_dir})

if(ONDINE_MPI_LIBRARIES)
  install(PROGRAMS ${ONDINE_MPI_LIBRARIES} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET ondine_cli)
  install(TARGETS ondine_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
endif()

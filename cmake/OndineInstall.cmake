# The library, its public headers and find_package(ondine).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ondine)
install(TARGETS ondine EXPORT ondine_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ondine DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT ondine_targets NAMESPACE ondine:: DESTINATION ${_config_dir})
configure_package_config_file(cmake/ondine-config.cmake.in
  ${PROJECT_BINARY_DIR}/ondine-config.cmake INSTALL_DESTINATION ${_config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ondine-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ondine-config.cmake
  ${PROJECT_BINARY_DIR}/ondine-config-version.cmake DESTINATION ${_config_dir})
if(TARGET ondine_cli)
  install(TARGETS ondine_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

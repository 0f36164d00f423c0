# The sources are those of the repository that the port is in: vcpkg install ondine
# --overlay-ports=packaging/vcpkg.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS _options FEATURES
  images ONDINE_WITH_JPEG
  images ONDINE_WITH_PNG
  images ONDINE_WITH_WEBP
  text ONDINE_WITH_RE2
  text ONDINE_WITH_TOKENIZERS)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${_options} -DONDINE_TESTS=OFF -DONDINE_WERROR=OFF -DONDINE_TOOLS=OFF -DONDINE_EXAMPLES=OFF
    -DONDINE_WITH_MPI=OFF -DONDINE_WITH_FLOWER=OFF -DONDINE_WITH_TIFF=OFF -DONDINE_WITH_OPENJPEG=OFF
    -DONDINE_WITH_SNDFILE=OFF -DONDINE_WITH_SAMPLERATE=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/ondine)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE")

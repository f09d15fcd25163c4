# An overlay port: vcpkg install capball --overlay-ports=contrib/packages/vcpkg, in a clone.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DCPB_HDF5=OFF -DCPB_PACKED=OFF -DCPB_WERROR=OFF -DCPB_HNSW=OFF)
vcpkg_cmake_install()
vcpkg_copy_tools(TOOL_NAMES capball AUTO_CLEAN)
vcpkg_cmake_config_fixup(PACKAGE_NAME capball CONFIG_PATH lib/cmake/capball)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")

# The command: everything in cli/ and show/, over the public headers alone.
file(GLOB CPB_CLI_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c ${PROJECT_SOURCE_DIR}/show/*.c)
if(CPB_CLI_SOURCES)
  add_executable(capball_cli ${CPB_CLI_SOURCES})
  set_target_properties(capball_cli PROPERTIES OUTPUT_NAME capball)
  target_include_directories(capball_cli PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(capball_cli PRIVATE _GNU_SOURCE CLI_HDF5=$<BOOL:${CPB_WITH_hdf5}> CLI_GZ=$<BOOL:${CPB_WITH_zlib}>
    CLI_ZST=$<BOOL:${CPB_WITH_zstd}>)
  target_link_libraries(capball_cli PRIVATE capball_static capball::jansson m)
  install(TARGETS capball_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

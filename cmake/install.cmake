# What is installed: both libraries, the headers, a pkg-config file, a CMake package and, where it is built,
# the command with its manual page and completions. Nothing installed knows an absolute path, so DESTDIR and
# `cmake --install build --prefix ..` work and the tree may be moved afterwards.
include(CMakePackageConfigHelpers)

set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/capball)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set_target_properties(capball PROPERTIES EXPORT_NAME capball)
set_target_properties(capball_static PROPERTIES EXPORT_NAME capball_static)
install(TARGETS capball capball_static EXPORT capballTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/capball DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# CMake: find_package(capball), then link capball::capball or capball::capball_static.
install(EXPORT capballTargets NAMESPACE capball:: DESTINATION ${cmake_dir})
configure_package_config_file(cmake/capballConfig.cmake.in ${CMAKE_BINARY_DIR}/capballConfig.cmake
  INSTALL_DESTINATION ${cmake_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/capballConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/capballConfig.cmake ${CMAKE_BINARY_DIR}/capballConfigVersion.cmake
  DESTINATION ${cmake_dir})

# pkg-config: what the static library needs is private, so that a shared link names capball alone.
pkg_check_modules(JANSSON QUIET jansson)
set(CPB_PC_REQUIRES "")
set(CPB_PC_LIBS "")
if(JANSSON_FOUND)
  list(APPEND CPB_PC_REQUIRES jansson)
endif()
if(HDF5_FOUND)
  foreach(library ${HDF5_C_LIBRARIES} ${HDF5_LINK_LIBRARIES})
    string(APPEND CPB_PC_LIBS " ${library}")
  endforeach()
endif()
list(JOIN CPB_PC_REQUIRES ", " CPB_PC_REQUIRES)
file(RELATIVE_PATH CPB_PC_PREFIX /${pkgconfig_dir} /)
string(REGEX REPLACE "/$" "" CPB_PC_PREFIX ${CPB_PC_PREFIX})
configure_file(cmake/capball.pc.in ${CMAKE_BINARY_DIR}/capball.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/capball.pc DESTINATION ${pkgconfig_dir})

# The command writes its own manual page and completions, from the same tables as its help.
set(man_page ${CMAKE_INSTALL_MANDIR}/man1/capball.1)
set(bash_completion ${CMAKE_INSTALL_DATADIR}/bash-completion/completions/capball)
set(zsh_completion ${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_capball)
set(fish_completion ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/capball.fish)
install(CODE "
  set(command \"${CMAKE_BINARY_DIR}/capball\")
  function(write_page path)
    set(target \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${path}\")
    get_filename_component(directory \"\${target}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${directory}\")
    message(STATUS \"Installing: \${target}\")
    execute_process(COMMAND \"\${command}\" \${ARGN} OUTPUT_FILE \"\${target}\" RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR \"capball \${ARGN} failed\")
    endif()
  endfunction()
  if(EXISTS \"\${command}\")
    write_page(${man_page} man)
    write_page(${bash_completion} completion bash)
    write_page(${zsh_completion} completion zsh)
    write_page(${fish_completion} completion fish)
  endif()")

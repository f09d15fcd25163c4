# What is installed: both libraries, the headers, a pkg-config file, a CMake package and, if it is built,
# the command with its manual page and completions. No installed file contains an absolute path, so DESTDIR and
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
configure_package_config_file(cmake/capballConfig.cmake.in ${PROJECT_BINARY_DIR}/capballConfig.cmake
  INSTALL_DESTINATION ${cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/capballConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/capballConfig.cmake ${PROJECT_BINARY_DIR}/capballConfigVersion.cmake
  cmake/capballDependencies.cmake DESTINATION ${cmake_dir})

# pkg-config: what the static library needs is private, so that a shared link names capball alone. libhdf5.a does not list
# its own dependencies: the shortest list that links is in a separate file, as it must come after -lhdf5.
set(CPB_PC_REQUIRES "")
set(CPB_PC_LIBS "")
if(CPB_WITH_hdf5 AND CPB_LIBHDF5_LINK_LIBRARIES)
  list(APPEND CPB_PC_REQUIRES hdf5)
  include(CheckCSourceCompiles)
  foreach(names "dl" "z dl" "sz z dl" "sz aec z dl")
    string(REGEX REPLACE "([a-z]+)" "-l\\1" CPB_PC_STATIC "${names}")
    string(MAKE_C_IDENTIFIER "CPB_STATIC_HDF5_${names}" links)
    set(CMAKE_REQUIRED_INCLUDES ${CPB_LIBHDF5_INCLUDE_DIRS})
    set(CMAKE_REQUIRED_LIBRARIES -static ${CPB_LIBHDF5_STATIC_LDFLAGS} ${CPB_PC_STATIC} -lm -pthread)
    set(CMAKE_REQUIRED_QUIET ON)
    check_c_source_compiles("#include <hdf5.h>\nint main(void) { return H5open() < 0; }" ${links})
    if(${links})
      configure_file(cmake/capball-static.pc.in ${PROJECT_BINARY_DIR}/capball-static.pc @ONLY)
      install(FILES ${PROJECT_BINARY_DIR}/capball-static.pc DESTINATION ${pkgconfig_dir})
      list(APPEND CPB_PC_REQUIRES capball-static)
      break()
    endif()
  endforeach()
elseif(CPB_WITH_hdf5)
  string(APPEND CPB_PC_LIBS " -lhdf5")
endif()
if(CPB_WITH_zlib)
  list(APPEND CPB_PC_REQUIRES zlib)
endif()
if(CPB_WITH_zstd)
  list(APPEND CPB_PC_REQUIRES libzstd)
endif()
if(CPB_WITH_threads)
  string(APPEND CPB_PC_LIBS " -pthread")
endif()
list(JOIN CPB_PC_REQUIRES ", " CPB_PC_REQUIRES)
file(RELATIVE_PATH CPB_PC_PREFIX /${pkgconfig_dir} /)
string(REGEX REPLACE "/$" "" CPB_PC_PREFIX ${CPB_PC_PREFIX})
configure_file(cmake/capball.pc.in ${PROJECT_BINARY_DIR}/capball.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/capball.pc DESTINATION ${pkgconfig_dir})

# The page, if `make web` has built it; `capball page` copies it.
install(FILES ${PROJECT_BINARY_DIR}/web/index.html DESTINATION ${CMAKE_INSTALL_DATADIR}/capball RENAME page.html OPTIONAL)

# The command writes its own manual page and completions, from the same tables as its help.
set(man_page ${CMAKE_INSTALL_MANDIR}/man1/capball.1)
set(bash_completion ${CMAKE_INSTALL_DATADIR}/bash-completion/completions/capball)
set(zsh_completion ${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_capball)
set(fish_completion ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/capball.fish)
install(CODE "
  set(command \"${PROJECT_BINARY_DIR}/capball\")
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

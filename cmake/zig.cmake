# Toolchain: zig of PyPI compiles C for CPB_ZIG_TARGET, for example x86_64-windows-gnu; it comes with the headers and libraries of its
# targets. CPB_ZIG: a directory with zig-cc, zig-ar and zig-ranlib for that target (tools/wheels writes it).
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CPB_ZIG CPB_ZIG_TARGET)
if(CPB_ZIG_TARGET MATCHES "windows")
  set(CMAKE_SYSTEM_NAME Windows)
elseif(CPB_ZIG_TARGET MATCHES "macos")
  set(CMAKE_SYSTEM_NAME Darwin)
  set(CMAKE_INSTALL_NAME_TOOL true) # no library of a wheel is moved
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${CPB_ZIG_TARGET}")
set(CMAKE_C_COMPILER ${CPB_ZIG}/zig-cc)
set(CMAKE_AR ${CPB_ZIG}/zig-ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${CPB_ZIG}/zig-ranlib CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_C_STANDARD_LIBRARIES "" CACHE STRING "") # zig would compile the libraries that CMake names for Windows

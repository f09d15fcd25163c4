# The Python face: one extension module, everything of the library inside, only its PyInit exported.
option(CPB_PYTHON "build capball._core, the extension module of the Python package" OFF)
if(NOT CPB_PYTHON)
  return()
endif()

# The stable ABI of 3.11 serves every later Python; a free-threaded one has none and gets a module of its own.
set(component Development.Module)
if(NOT "${SKBUILD_SABI_COMPONENT}" STREQUAL "")
  set(component ${SKBUILD_SABI_COMPONENT})
  set(stable USE_SABI 3.11)
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter ${component})
file(GLOB CPB_PYTHON_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.c)
python_add_library(capball_python MODULE ${stable} WITH_SOABI ${CPB_PYTHON_SOURCES})
set_target_properties(capball_python PROPERTIES OUTPUT_NAME _core)
target_compile_definitions(capball_python PRIVATE _POSIX_C_SOURCE=200809L $<$<BOOL:${stable}>:CPB_STABLE_ABI>)
target_compile_options(capball_python PRIVATE -Wno-pedantic -Wno-cast-function-type)
# Tests of the face need not wait for the library to be compiled twice.
set(CPB_LIBRARY "" CACHE FILEPATH "a libcapball.a of this tree that is built already, to go into the module")
if(CPB_LIBRARY)
  target_include_directories(capball_python PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(capball_python PRIVATE ${CPB_LIBRARY} ${CPB_NEEDS})
else()
  target_link_libraries(capball_python PRIVATE capball_static)
endif()
# What the library exports to others, this module keeps to itself; and no debugging lines in a package.
target_link_options(capball_python PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/python/src/exports.map -s)
install(TARGETS capball_python COMPONENT python DESTINATION capball)

# The DuckDB extension, duckdb/capball.duckdb_extension: a shared library with a footer, which a script adds.
file(GLOB CPB_SQL_COMMON CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/contrib/sql/common/*.c)

function(capball_duckdb interpreter library)
  add_library(capball_duckdb MODULE EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/contrib/sql/duckdb/duckdb_capball.c ${CPB_SQL_COMMON})
  target_include_directories(capball_duckdb PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
    ${PROJECT_SOURCE_DIR}/contrib/sql/common)
  target_link_libraries(capball_duckdb PRIVATE ${library} ${ARGN})
  target_link_options(capball_duckdb PRIVATE LINKER:--as-needed LINKER:--version-script=${PROJECT_SOURCE_DIR}/contrib/sql/duckdb/exports.map)
  set_target_properties(capball_duckdb PROPERTIES PREFIX "" OUTPUT_NAME capball
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/duckdb)
  string(TOLOWER ${CMAKE_SYSTEM_NAME} system)
  string(REPLACE darwin osx system ${system})
  string(REGEX REPLACE "x86_64|AMD64" amd64 processor ${CMAKE_SYSTEM_PROCESSOR})
  string(REPLACE aarch64 arm64 processor ${processor})
  add_custom_command(TARGET capball_duckdb POST_BUILD COMMAND ${interpreter}
    ${PROJECT_SOURCE_DIR}/contrib/sql/duckdb/add_footer.py $<TARGET_FILE:capball_duckdb>
    ${CMAKE_BINARY_DIR}/duckdb/capball.duckdb_extension ${system}_${processor} ${PROJECT_VERSION})
endfunction()

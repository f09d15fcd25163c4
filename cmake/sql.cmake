# Extensions of databases, built on request: `ninja capball_sqlite`, if its header is installed, is sqlite/capball.so;
# `ninja capball_duckdb`, with -DCPB_DUCKDB_HEADERS=folder of duckdb_extension.h, is duckdb/capball.duckdb_extension. The
# PostgreSQL extension has a makefile of its own, as PGXS demands.
include(CheckIncludeFile)
check_include_file(sqlite3ext.h CPB_SQLITE)
set(CPB_DUCKDB_HEADERS "" CACHE PATH "folder of duckdb.h and duckdb_extension.h")
file(GLOB CPB_SQL_COMMON CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sql/common/*.c)

function(capball_database name source folder)
  add_library(${name} MODULE EXCLUDE_FROM_ALL ${source} ${CPB_SQL_COMMON})
  target_include_directories(${name} PRIVATE src sql/common)
  target_link_libraries(${name} PRIVATE capball_static)
  target_link_options(${name} PRIVATE -Wl,--as-needed -Wl,--exclude-libs,ALL)
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME capball
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
endfunction()

if(CPB_SQLITE)
  capball_database(capball_sqlite sql/sqlite/sqlite_capball.c sqlite)
endif()
if(CPB_DUCKDB_HEADERS)
  capball_database(capball_duckdb sql/duckdb/duckdb_capball.c duckdb)
  target_include_directories(capball_duckdb SYSTEM PRIVATE ${CPB_DUCKDB_HEADERS})
  # The oldest C API that has all functions used, see add_footer.py.
  target_compile_definitions(capball_duckdb PRIVATE DUCKDB_EXTENSION_API_VERSION_MAJOR=1
    DUCKDB_EXTENSION_API_VERSION_MINOR=2 DUCKDB_EXTENSION_API_VERSION_PATCH=0)
  string(TOLOWER ${CMAKE_SYSTEM_NAME} system)
  string(REPLACE darwin osx system ${system})
  string(REGEX REPLACE "x86_64|AMD64" amd64 processor ${CMAKE_SYSTEM_PROCESSOR})
  string(REPLACE aarch64 arm64 processor ${processor})
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_custom_command(TARGET capball_duckdb POST_BUILD COMMAND ${Python3_EXECUTABLE}
    ${PROJECT_SOURCE_DIR}/sql/duckdb/add_footer.py $<TARGET_FILE:capball_duckdb>
    ${CMAKE_BINARY_DIR}/duckdb/capball.duckdb_extension ${system}_${processor} ${PROJECT_VERSION})
endif()

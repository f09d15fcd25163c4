# Extensions of databases, built on request: `ninja capball_sqlite`, if its header is installed, is sqlite/capball.so;
# `ninja capball_duckdb` is duckdb/capball.duckdb_extension. The PostgreSQL extension has a makefile of its own, as PGXS demands.
include(CheckIncludeFile)
check_include_file(sqlite3ext.h CPB_SQLITE)
include(contrib/sql/duckdb.cmake)

function(capball_database name source folder)
  add_library(${name} MODULE EXCLUDE_FROM_ALL ${source} ${CPB_SQL_COMMON})
  target_include_directories(${name} PRIVATE src contrib/sql/common)
  target_link_libraries(${name} PRIVATE capball_static)
  target_link_options(${name} PRIVATE -Wl,--as-needed -Wl,--exclude-libs,ALL)
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME capball
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
endfunction()

if(CPB_SQLITE)
  capball_database(capball_sqlite contrib/sql/sqlite/sqlite_capball.c sqlite)
endif()

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  capball_duckdb(${Python3_EXECUTABLE} capball_static)
endif()

# The SQLite extension, sqlite/capball.so, if its header is installed; `ninja capball_sqlite` builds it. The PostgreSQL
# extension has a makefile of its own, as PGXS demands.
include(CheckIncludeFile)
check_include_file(sqlite3ext.h CPB_SQLITE)
if(CPB_SQLITE)
  file(GLOB CPB_SQL_COMMON CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sql/common/*.c)
  add_library(capball_sqlite MODULE EXCLUDE_FROM_ALL sql/sqlite/sqlite_capball.c ${CPB_SQL_COMMON})
  target_include_directories(capball_sqlite PRIVATE src sql/common)
  target_link_libraries(capball_sqlite PRIVATE capball_static)
  target_link_options(capball_sqlite PRIVATE -Wl,--as-needed -Wl,--exclude-libs,ALL)
  set_target_properties(capball_sqlite PROPERTIES PREFIX "" OUTPUT_NAME capball
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/sqlite)
endif()

# capball.wasm, the library for JavaScript: every module but threads, index and engines, behind the exports of contrib/web/src.
file(GLOB CPB_WEB_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/contrib/web/src/*.c)
# Shared with the command: a recommendation in words and commands, the most unusual rows.
list(APPEND CPB_WEB_SOURCES show/commands.c show/put_text.c
  show/recommend_text.c show/strange.c)
add_executable(capball_wasm ${CPB_WEB_SOURCES} $<TARGET_OBJECTS:cpb_core> $<TARGET_OBJECTS:cpb_files> $<TARGET_OBJECTS:cpb_json>)
set_target_properties(capball_wasm PROPERTIES OUTPUT_NAME capball SUFFIX .wasm)
target_compile_definitions(capball_wasm PRIVATE _GNU_SOURCE)
target_include_directories(capball_wasm PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
# Nothing outside the hot loops is worth its size.
file(GLOB CPB_WEB_HOT ${PROJECT_SOURCE_DIR}/src/loops/*.c)
set(CPB_WEB_COLD ${CPB_SOURCES} ${CPB_WEB_SOURCES})
list(REMOVE_ITEM CPB_WEB_COLD ${CPB_WEB_HOT})
set_property(SOURCE ${CPB_WEB_COLD} APPEND PROPERTY COMPILE_OPTIONS -Os)
foreach(target cpb_core cpb_files cpb_json)
  target_compile_options(${target} PRIVATE -w) # gcc and clang have checked these sources
endforeach()
foreach(target cpb_core cpb_files cpb_json capball_wasm)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_definitions(${target} PRIVATE _WASI_EMULATED_MMAN CPB_NO_AVX)
  target_compile_options(${target} PRIVATE -msimd128 -fno-sanitize=all -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -ffunction-sections -fdata-sections)
endforeach()
target_link_options(capball_wasm PRIVATE -mexec-model=reactor -s -Wl,--gc-sections -lwasi-emulated-mman)

# Every test is registered here, once: CTest's label is its group, its name is group/name. tools/run-tests runs groups of a build and
# of those under sanitizers together, and says what each of them is.
set(CPB_BUILD_KIND plain)
if(CPB_SANITIZE MATCHES thread)
  set(CPB_BUILD_KIND tsan)
elseif(CPB_SANITIZE)
  set(CPB_BUILD_KIND asan)
elseif(CMAKE_CROSSCOMPILING)
  set(CPB_BUILD_KIND aarch64)
endif()

# The command is a line of shell, run in the root of the tree by tests/support/run_tap, which explains KIND. COST: seconds of a test
# that takes longer than others, and begins before them. BESIDE: one that mostly waits for packages, Java, a browser or the disk:
# only one of these runs at a time, beside the others.
function(capball_test name kind command)
  cmake_parse_arguments(of BESIDE COST LABELS ${ARGN})
  string(REGEX REPLACE "/.*" "" group ${name})
  add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/support/run_tap ${kind} "${command}" WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${group};${of_LABELS}" ENVIRONMENT "BUILD=${CMAKE_BINARY_DIR}" SKIP_RETURN_CODE 77
    TIMEOUT 86400) # run_tap has its own
  if(of_COST)
    set_tests_properties(${name} PROPERTIES COST ${of_COST})
  endif()
  if(of_BESIDE)
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK beside)
  endif()
endfunction()

# What a list of "names=value", the names as a regular expression, says of a name; if nothing, `usual`.
function(capball_value result name usual)
  set(${result} "${usual}" PARENT_SCOPE)
  foreach(pair ${ARGN})
    string(REGEX MATCH "^([^=]*)=(.*)$" pair "${pair}")
    set(value "${CMAKE_MATCH_2}")
    if(name MATCHES "^${CMAKE_MATCH_1}$")
      set(${result} "${value}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# ---- test programs, and those that a build under a sanitizer or emulator runs

# Under a sanitizer, for programs that mostly compute, a subset that covers all of their code; under TSan, where one test of a program
# uses all its threads, only that, and no training of sketches, which is too slow for what it shows.
set(CPB_ONLY_asan "loop_rows=embeds_f32" "t12_layer=-*large*" "t14_sketch=-training*" "search_filters=-every_set"
  "search_sets=nothing") # t13_search and search_filters cover the same code
set(CPB_ONLY_tsan "(t1_embed|t3_membership|t9_abid|t1[01]_[a-z_]*|t12_layer|t13_search|t13_transform|recommend_rows)=*threads*"
  "t13_query=any_index" "merge_covariance=any_cut*" "fit_sources=cuts*" "t14_sketch=-training*" "adversary_estimates=until*"
  "scale_goals=ceiling*" "adversary_search=whole*" "index_sample=answers*" "progress_stops=calls*" "round_trip=threads*"
  "null_objects=nothing") # its pool has no threads
# TSan's shadow memory does not work with every address layout that a hardened kernel chooses, and what a fuzzer finds depends on it.
execute_process(COMMAND setarch -R true RESULT_VARIABLE CPB_NO_SETARCH OUTPUT_QUIET ERROR_QUIET)
if(CPB_NO_SETARCH EQUAL 0)
  set(CPB_FIXED_LAYOUT "setarch -R ")
endif()

foreach(source ${CPB_TESTS})
  get_filename_component(name ${source} NAME_WE)
  set(test "\"$BUILD\"/tests/${name}")
  capball_value(only ${name} * ${CPB_ONLY_${CPB_BUILD_KIND}})
  file(STRINGS ${source} threads REGEX "cpb_pool_new|pthread_create")
  if(CPB_BUILD_KIND STREQUAL asan OR CPB_BUILD_KIND STREQUAL plain)
    add_dependencies(tests ${name}) # whatever runs, all are compiled by two compilers
  endif()
  if(CPB_BUILD_KIND STREQUAL plain)
    capball_test(tests/${name} tap "CPB_NUMERICS=\"$BUILD\"/numerics ${test}")
  elseif(only STREQUAL nothing)
    continue()
  elseif(CPB_BUILD_KIND STREQUAL asan)
    capball_test(asan/${name} tap "LONG_ROWS_STEP=3 CPB_TESTS='${only}' UBSAN_OPTIONS=print_stacktrace=1 ${test}")
  elseif(CPB_BUILD_KIND STREQUAL tsan AND threads)
    capball_test(tsan/${name} tap "INDEX_STEP=3 LONG_ROWS_STEP=5 CPB_TESTS='${only}' ${CPB_FIXED_LAYOUT}${test}")
    add_dependencies(tests ${name})
  elseif(CPB_BUILD_KIND STREQUAL aarch64 AND source MATCHES "/t[0-9][^/]*\\.c$|/loops/|/(own_functions|(map|model|sketch)_files)\\.c$")
    # qemu does not support threads after a fork
    capball_test(aarch64/${name} tap "cd \"$BUILD\" && CPB_TESTS='-a_fork*' ${CMAKE_CROSSCOMPILING_EMULATOR} tests/${name}")
    add_dependencies(tests ${name})
  endif()
endforeach()
if(NOT CPB_TESTS)
  capball_test(tests/programs any "echo 'cmocka or MPFR is not installed: tools/setup test' >&2; exit 1")
endif()

# ---- scripts

file(GLOB_RECURSE CPB_SCRIPTS CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} tests/*.sh)
list(FILTER CPB_SCRIPTS EXCLUDE REGEX "^tests/(support|platform)/")
foreach(script ${CPB_SCRIPTS})
  get_filename_component(name ${script} NAME_WE)
  get_filename_component(folder ${script} DIRECTORY)
  string(REPLACE tests/ "" folder ${folder})
  set(options LABELS ${folder})
  if(name MATCHES "^(query|scale|pieces|data|search|lifts|sketch|pages)$") # not worth a run under a sanitizer or for coverage
    list(APPEND options computing)
  endif()
  if(name MATCHES "^(pages|engines|data|pieces|guest)$")
    list(APPEND options BESIDE)
  endif()
  if(CPB_BUILD_KIND STREQUAL plain)
    capball_test(shell/${name} tap "bash ${script}" COST 20 ${options})
  elseif(CPB_BUILD_KIND STREQUAL asan AND folder STREQUAL cli AND NOT options MATCHES computing AND
         NOT name MATCHES "^(json|long_info|help_examples)$")
    # Looking for memory that is not freed takes longer than most commands: only in the scripts that run every command, with and
    # without errors, and in the test programs. Those also look for globals that are defined twice.
    set(leaks :detect_leaks=0)
    if(name MATCHES "^(errors|transcripts)$")
      set(leaks)
    endif()
    capball_value(words ${name} "" "ranges=brief" "estimates=brief" "errors=brief")
    capball_test(asan/${name} tap "ASAN_OPTIONS=detect_odr_violation=0${leaks} bash ${script} ${words}" COST 60 ${options})
  endif()
endforeach()

# ---- fuzzing, the same with every run unless FUZZ_SECONDS is set: then it searches for new failures

if(CPB_FUZZ)
  foreach(source ${CPB_FUZZERS})
    get_filename_component(program ${source} NAME_WE)
    string(REPLACE fuzz_ "" name ${program})
    capball_value(runs ${name} 3000 "hdf5=200" "index=300" "args=2000" "set_name=2000")
    set(modes all)
    if(name STREQUAL reader) # vector files, one format at a time
      set(modes vecs bin npy text libsvm)
    endif()
    foreach(mode ${modes})
      set(reader)
      if(NOT mode STREQUAL all)
        set(reader "CPB_FUZZ_READER=${mode} ")
      endif()
      capball_test(fuzz/${name}-${mode} any "${reader}${CPB_FIXED_LAYOUT}\"$BUILD\"/fuzz/${program} -seed=1 -runs=${runs} \
\${FUZZ_SECONDS:+-seed=0 -runs=-1 -max_total_time=\$FUZZ_SECONDS} -timeout=120 -malloc_limit_mb=100000 \
-artifact_prefix=\"$BUILD\"/${name}- \"$WORK\" \"$BUILD\"/fuzz/corpus/${name}" COST 30)
    endforeach()
  endforeach()
endif()

if(NOT CPB_BUILD_KIND STREQUAL plain)
  return()
endif()

# ---- the rest

if(TARGET fault_shim)
  capball_test(faults/commands tap "JOBS=1 /usr/bin/python3 tests/faults/fault_loop.py \"$BUILD\"/capball \"$BUILD\"/tests/fault_shim.so --short"
    COST 400 BESIDE)
  capball_test(faults/calls tap "\"$BUILD\"/tests/fault_calls" COST 300)
endif()

foreach(source ${CPB_EXAMPLES})
  get_filename_component(name ${source} NAME_WE)
  capball_value(words ${name} "" "10_fit_map=\"$WORK\"/example.json" "12_index=\"$WORK\"/example.json")
  capball_test(examples/${name} any "\"$BUILD\"/examples/${name} ${words}")
  capball_test(examples/${name}-valgrind any
    "valgrind -q --error-exitcode=99 --leak-check=full \"$BUILD\"/examples/${name} ${words}")
endforeach()

capball_test(platforms/compile tap "tools/platforms short" COST 30)

capball_test(python/package tap "tools/test-python short" COST 900 BESIDE)
file(GLOB CPB_RUNS RELATIVE ${PROJECT_SOURCE_DIR} contrib/s*/run) # use the environment of the package
foreach(run ${CPB_RUNS})
  get_filename_component(name ${run} DIRECTORY)
  get_filename_component(name ${name} NAME)
  capball_test(python/${name} tap "${run} short" COST 600 BESIDE)
endforeach()
capball_test(python/recipes tap "tools/recipes short" COST 100)
if(EXISTS ${PROJECT_SOURCE_DIR}/contrib/web/run)
  capball_test(web/short tap "contrib/web/run short" COST 500 BESIDE)
endif()

capball_test(checks/house any tools/house)
file(GLOB CPB_CHECKS CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} tools/check-*)
foreach(check ${CPB_CHECKS})
  string(REPLACE tools/check- "" name ${check})
  capball_test(checks/${name} any ${check})
endforeach()

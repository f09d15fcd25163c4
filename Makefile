# A thin wrapper over CMake and Ninja; `make help` lists the targets.
PREFIX ?= /usr/local
JOBS ?= 2
ADVERSARY ?= 128
export JOBS

ninja = ninja -j$(JOBS)
ifndef SIDE_BY_SIDE # what is to be built needs what setup installs, whatever -j says
.NOTPARALLEL:
endif
# After an update or an installation, objects of the build before are removed: the checks of the build would read them.
configure = cmake -G Ninja -S . >/dev/null -B $(1) $(2) && ninja -C $(1) -t cleandead >/dev/null
comma := ,
checked = -DCMAKE_BUILD_TYPE=Checked -DCMAKE_C_FLAGS_CHECKED='$(1) -g1'
version = $(shell sed -n 's/^\#define CPB_VERSION_[MP][A-Z]* \([0-9]*\)$$/\1/p' include/capball/status.h | paste -sd.)
sources = $(shell find include src show cli contrib tests bench examples fuzz python -name '*.[ch]' -o -name '*.inc' 2>/dev/null)

.PHONY: recipes p-values test-python test-spark bench-spark test-sql bench-sql platforms aarch64 all demo test check tidy adversary asan tsan valgrind faults fuzz soak coverage bench install dist format clean help
.PHONY: python wheel asan-python histories web test-web bench-web
.PHONY: fresh without-contrib build build-tests build-asan build-tsan python-environments

all: build ## the library and the command, in build/

demo: build ## set up, build, run the demo
	@build/capball demo

test: setup-test ## set up, build, run every test and check; ends with "N passed, N failed"
	@$(MAKE) --no-print-directory -j3 SIDE_BY_SIDE=1 python-environments build-tests build-asan build-tsan
	@tools/run-tests

check: setup-test build ## the unit tests only: no sanitizers, no Python; under a minute once built
	@$(ninja) -C build tests
	@start=$$(date +%s); tools/run-tests tests; code=$$?; echo "make check: $$(($$(date +%s) - start)) s"; exit $$code

tidy: ## clang-tidy over the sources, configured by .clang-tidy; takes minutes
	@tools/tidy

asan: setup-test build-asan ## every test program under ASan and UBSan
	@tools/run-tests asan

tsan: setup-test build-tsan ## the tests that use threads, under TSan
	@tools/run-tests tsan

valgrind: setup-test build-tests ## the examples, also under valgrind
	@tools/run-tests examples

faults: setup-test build-tests ## every command with each allocation and system call failing; takes minutes
	@build/tests/fault_calls && /usr/bin/python3 tests/faults/fault_loop.py build/capball build/tests/fault_shim.so

fuzz: setup-test build-asan ## each fuzz program for FUZZ_SECONDS (60), with new inputs
	@FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) tools/run-tests fuzz

soak: setup-test build-asan ## fuzz until stopped; reports executions and stores new inputs
	@tools/soak

coverage: setup-test ## lines and branches that the tests never take, in build-coverage/
	@tools/coverage

adversary: setup-test build-tests ## tests/*/adversary_* at full length: a million certificates, a million answers of indexes, 10^7 bounds of estimates
	@for test in tests/*/adversary_*.c; do CPB_ADVERSARY=$(ADVERSARY) build/tests/$$(basename $$test .c) || exit 1; done
	@tests/cli/ranges.sh long

p-values: setup-test build-tests ## p-values of new rows over 200 draws of 8 distributions
	@CPB_DRAWS=200 build/tests/p_values

histories: setup-test build-tests ## 10,000 random histories of an index file, with kills and power failures; takes minutes
	@INDEX_HISTORIES=$(or $(HISTORIES),10000) build/tests/index_histories

test-python: setup-python build ## the Python package in a separate environment, with every extra
	@tools/test-python full

test-spark: setup-spark build ## capball on Spark: local, and a cluster of a master and two workers on this machine
	@contrib/spark/run full

test-sql: setup-sql build ## capball in SQLite, PostgreSQL and DuckDB; servers run in temporary directories
	@contrib/sql/run full

recipes: setup-python build ## the recipes of docs/how-to/recipes.md on the engines of PyPI, or on those that $$PYTHON has
	@if [ -n "$$PYTHON" ]; then tools/recipes; else tools/test-python full install && PYTHON="$$PWD/build/python-full/bin/python" tools/recipes; fi

bench-sql: setup-sql build ## capball in databases compared with plain SQL and with the command
	@contrib/sql/run bench

bench-spark: setup-spark build ## capball on Spark compared with Spark itself
	@contrib/spark/run bench

web: setup-package ## capball for JavaScript and the page: build/web/npm, build/web/index.html; zig from PyPI compiles it
	@contrib/web/run build

test-web: setup-web build ## the JavaScript package in node, the page in chromium; installs what they need
	@contrib/web/run test

bench-web: setup-web build ## the JavaScript package beside the plain C loops
	@contrib/web/run bench

.PHONY: docs release
docs: setup-web build ## the site of the documentation, in build/site: every sample run, links checked, tried in a browser
	@tools/docs

release: ## what a release of VERSION needs, in build/release: archive, packages, pages, sums; dry unless APPLY=1
	@tools/release '$(VERSION)' $(if $(APPLY),apply)

python: setup-python ## wheel and sdist of the Python package, in build/dist
	@tools/package-python here

wheel: setup-python ## the wheel to distribute: zig, glibc 2.17, every Python since 3.11
	@tools/package-python wheel

.PHONY: wheels packages
wheels: setup-wheels build ## the sdist and a wheel for each platform, by zig; what this machine can run is run; prints a table
	@tools/wheels

packages: setup-packages build ## packages of contrib/packages: built, installed, run, removed in build/packages
	@tools/packages

asan-python: setup-test ## the Python package called wrongly, under ASan and UBSan
	@tools/package-python asan

fresh: ## what README promises, in new roots of Debian made by mmdebstrap, where nothing is installed; FULL=1: every test target
	@tools/fresh $(if $(FULL),full)

without-contrib: ## a clone without contrib/ builds and passes all tests that remain, in build-without-contrib/
	@rm -rf build-without-contrib && git clone -q . build-without-contrib/capball && rm -r build-without-contrib/capball/contrib
	@$(MAKE) --no-print-directory -C build-without-contrib/capball test

bench: build ## every benchmark: ratios to a rival or a roofline of the same run
	@$(ninja) -C build benches
	@tools/run-benches

platforms: setup-platforms build ## other processors and libraries: the core compiles without a warning, results have the same bits
	@tools/platforms bits
	@tools/platforms commands
	@tools/platforms compile

aarch64: setup-platforms ## the law and loop tests on aarch64, under qemu
	@$(call configure,build-aarch64,-DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DCPB_HDF5=OFF -DCPB_PACKED=OFF)
	@$(ninja) -C build-aarch64 all tests
	@TEST_SECONDS=3600 tools/run-tests aarch64

.PHONY: paper
paper: setup-python build ## repeats the paper's figures and tables, in build/paper/report.html; QUICK=1, DATA=folder
	@DATA='$(DATA)' QUICK='$(QUICK)' contrib/paper/run

install: build ## into DESTDIR/PREFIX
	@DESTDIR='$(DESTDIR)' cmake --install build --prefix '$(PREFIX)'

dist: ## capball-VERSION.tar.gz of the last commit, in DIST (default: here)
	@git archive --format=tar.gz --prefix=capball-$(version)/ -o $(or $(DIST),.)/capball-$(version).tar.gz HEAD && echo capball-$(version).tar.gz

format: ## clang-format every source
	@clang-format -i $(sources)

clean: ## remove every build
	@rm -rf build build-asan build-tsan build-coverage build-aarch64 build-tidy

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

setup-%:
	@CC='$(CC)' tools/setup $*

# What cannot be installed is reported by the tests that need it.
python-environments:
	@tools/test-python short environment >/dev/null; for run in contrib/s*/run; do [ ! -x $$run ] || $$run environment >/dev/null; done

build: setup-run
	@$(call configure,build,-DCMAKE_C_COMPILER='$(CC)')
	@$(ninja) -C build all
build-tests: build
	@$(ninja) -C build tests examples
# Sanitizers and fuzzers in one build, with clang, so that everything compiles with two compilers, warnings being errors.
build-asan:
	@$(call configure,build-asan,-DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ $(call checked,-O0) -DCPB_SANITIZE='address$(comma)undefined' -DCPB_FUZZ=ON)
	@$(ninja) -C build-asan all tests fuzzers examples benches
build-tsan:
	@$(call configure,build-tsan,-DCMAKE_C_COMPILER='$(CC)' $(call checked,-O1) -DCPB_SANITIZE=thread -DCPB_PLAIN_LOOPS=ON)
	@$(ninja) -C build-tsan tests

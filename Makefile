# make demo, make test: each sets up its own virtual environment and needs only git, gcc and Python 3.11.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-moving-tables fuzz environment kernels lint docs profile bench clean

environment: $(VENV)/stamp

$(VENV)/stamp: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check cmake ninja "cython>=3.1" "numpy>=1.26"
	touch $@

$(VENV)/stamp-test: $(VENV)/stamp
	$(BIN)/python -m pip install --quiet "numba>=0.61" "msgpack>=1.0" pytest pytest-benchmark pytest-xdist hypothesis ruff mypy "cython-lint>=0.16" build \
	    "vulkan>=1.3.275" "tinymesa==25.2.7.2" pyelftools "zstandard>=0.22" llvmlite matplotlib pillow "scikit-build-core>=1.1" "cython-cmake>=0.3" \
	    "setuptools-scm>=8" "auditwheel>=6" "mkdocs>=1.6" "mkdocstrings[python]>=1.0" \
	    texture2ddecoder imagecodecs astc-encoder-py etcpak
	touch $@

# The kernels, built in place. -O1 halves the wait of a first build; `make bench` and wheels use -O2 and profiles.
OPTIMIZATION := -O1
PROFILE := OFF
# ON in continuous integration: other compilers warn of other things.
WARNINGS_AS_ERRORS ?= OFF
kernels: environment
	PATH="$(abspath $(BIN)):$$PATH" cmake -S . -B build/development -G Ninja -DPYACO_INPLACE=ON \
	    -DPython_EXECUTABLE="$(abspath $(BIN))/python" -DCMAKE_BUILD_TYPE=None -DPYACO_OPTIMIZATION=$(OPTIMIZATION) \
	    -DPYACO_PROFILE=$(PROFILE) -DPYACO_WERROR=$(WARNINGS_AS_ERRORS) > /dev/null
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/development $(addprefix --target room_,$(ROOMS))

# The demonstration needs the rooms of a compute shader's way; it runs a few million instructions, and is done sooner
# without the optimizer.
demo: OPTIMIZATION := -O0
demo: ROOMS := common ir isa spirv nir aco emu texels
demo: kernels
	PYTHONPATH=. $(BIN)/python examples/matmul.py

test: kernels $(VENV)/stamp-test
	PYTHONPATH=. $(BIN)/python -m pytest -n 2 -q --durations=40 $(PYTEST_ARGUMENTS)

# The rooms that build IR, tested with tables that move at every append (_core/common/table.pxd). Only the room common is built anew.
MOVING_TESTS := tests/nir tests/aco tests/spirv
test-moving-tables: kernels $(VENV)/stamp-test
	PATH="$(abspath $(BIN)):$$PATH" cmake -S . -B build/moving_tables -G Ninja -DPYACO_MOVING_TABLES=ON \
	    -DPython_EXECUTABLE="$(abspath $(BIN))/python" -DCMAKE_BUILD_TYPE=None -DPYACO_OPTIMIZATION=-O1 > /dev/null
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/moving_tables --target room_common
	PYTHONPATH=. $(BIN)/python -c "import sys, pytest, pyaco._core.common as room; \
	    room.__path__.insert(0, 'build/moving_tables/pyaco/_core/common'); sys.exit(pytest.main(sys.argv[1:]))" -q $(MOVING_TESTS)

# Mutated ACO IR text, guided by the ways that the passes' compiled code takes (tests/aco/mutated_programs.py). Only the rooms of ACO IR are built anew.
FUZZ := tests/aco/mutated_programs.py 20000
fuzz: kernels $(VENV)/stamp-test
	PATH="$(abspath $(BIN)):$$PATH" cmake -S . -B build/edge_coverage -G Ninja -DPYACO_EDGE_COVERAGE=ON \
	    -DPython_EXECUTABLE="$(abspath $(BIN))/python" -DCMAKE_BUILD_TYPE=None -DPYACO_OPTIMIZATION=-O1 > /dev/null
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/edge_coverage --target room_ir --target room_aco
	PYTHONPATH=. PYACO_EDGE_COVERAGE=build/edge_coverage $(BIN)/python -m pytest -q tests/aco/test_mutated_programs.py
	PYTHONPATH=. PYACO_EDGE_COVERAGE=build/edge_coverage $(BIN)/python $(FUZZ)

lint: $(VENV)/stamp-test
	$(BIN)/ruff check . && PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint pyaco examples && PYTHONPATH=. $(BIN)/mypy

# The site, from docs/ and the docstrings; needs no network once its tools are installed.
docs: $(VENV)/stamp-test
	$(BIN)/mkdocs build --strict --quiet

# Profiles, by which GCC optimizes what compiles (docs/compile_time.md): to be made anew when kernels have changed.
profile: environment
	$(BIN)/python tools/train_profile.py

build/profiles/trained:
	$(MAKE) profile

# BENCH_PROFILE=OFF: where the compiler is not GCC.
BENCH_PROFILE ?= USE
bench: $(if $(filter USE,$(BENCH_PROFILE)),build/profiles/trained) $(VENV)/stamp-test
	$(MAKE) kernels OPTIMIZATION=-O2 PROFILE=$(BENCH_PROFILE)
	PYTHONPATH=. $(BIN)/python -m pytest bench -q

clean:
	rm -rf build .venv

# `make demo` and `make test` are all a person needs; each makes .venv first where it has to (tools/make_venv.py).
#   make setup PYTHON=python3.12     another Python than python3 (3.10 to 3.13)
#   make demo ARGS="--seed 1"        arguments for what runs: demo, bench, test, test-long, check
#   make check                       lint, and the tests of the rooms that differ from BASE (main), without running nodes
#   make test-long                   what make test leaves out: CONTRIBUTING.md lists it
#   make demo BOARD=avr              the real firmware on a simulated Uno, instead of the virtual board
#   make firmware                    the board's .hex for both back ends, and their sizes
#   make docs                        the documentation as a site of static files: build/docs/site
#   make dist                        wheel and sdist in dist/, checked
#   make apt                         Debian packages of the firmware (build, simulate, fuzz) and a browser, where missing and allowed;
#                                    make test, firmware, fuzz and demo BOARD=avr do it too (APT=no: they do not)
#   make soak MINUTES=10             the whole graph on the virtual board, with faults, on a busy machine: out/soak.json
#   make fuzz TIME=600               each fuzzer of the firmware for so many seconds
#   make fuzz-inputs TIME=1800       files of every kind, damaged, for so many seconds: failures in out/fuzz

PYTHON ?= python3
WORKERS ?= 2
APT ?= yes
BOARD ?=
BASE ?= main
TIME ?= 60
MINUTES ?= 10
VENV := .venv/bin
SCRATCH := build/colcon
COLCON := $(VENV)/python -m colcon --log-base $(SCRATCH)/log
SPACES := --base-paths . --build-base $(SCRATCH)/build

# Nothing that make starts talks beyond this machine.
export ROS_AUTOMATIC_DISCOVERY_RANGE := LOCALHOST
unexport ROS_STATIC_PEERS
# Left by the Python of another environment, this would keep ours from finding its own libraries.
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE
# Images set this; then every process that tests and demo start would compile the whole package anew.
unexport PYTHONDONTWRITEBYTECODE

PACKAGES := $(if $(filter no,$(APT)),true,$(PYTHON) tools/apt_packages.py)

.PHONY: setup apt demo test test-long check bench soak firmware fuzz fuzz-inputs lint format colcon docs dist clean

setup:
	@$(PYTHON) tools/make_venv.py
	@$(PYTHON) tools/make_web.py

apt:
	@$(PYTHON) tools/apt_packages.py

demo: setup
	@$(if $(filter avr,$(BOARD)),$(PACKAGES) sim)
	@$(VENV)/picker demo $(if $(BOARD),--board $(BOARD)) $(ARGS)

# A file is one worker's.  Where a worker dies, xdist would wait for its last tests for ever.
SIDE_BY_SIDE = -n $(WORKERS) --dist=loadfile --max-worker-restart=0
PYTEST = $(VENV)/python -m pytest
# Exit code 5: ARGS selects none of these.
OR_NONE = || test $$? -eq 5

# Tests with running nodes come last and one at a time: nothing else takes their processors.
# Without the packages tests of the firmware are left out, and the last line says which.
test: setup
	@$(PACKAGES) || true
	@$(PYTEST) $(SIDE_BY_SIDE) -m "not ros and not long" $(ARGS) $(OR_NONE)
	@$(PYTEST) -m "ros and not long" $(ARGS) $(OR_NONE)

# Last come those that draw their cases, with thousands of them.
test-long: setup
	@$(PACKAGES) || true
	@$(PYTEST) $(SIDE_BY_SIDE) -m "not ros and long" --timeout 1800 $(ARGS) $(OR_NONE)
	@$(PYTEST) -m "ros and long" --timeout 1800 $(ARGS) $(OR_NONE)
	@$(PYTEST) $(SIDE_BY_SIDE) --hypothesis-profile long $$(grep -lr "from generated import" test --include="test_*.py")

CHANGED = { git diff --name-only $$(git merge-base HEAD $(BASE)); git ls-files --others --exclude-standard; }
ROOMS = sed -nE 's,^(picker_dynamics|test)/([a-z_]+)/.*,test/\2,p; s,^firmware/.*,test/board,p; s,^(urdf|config)/.*,test/robot,p'

check: lint
	@rooms="$$($(CHANGED) | $(ROOMS) | grep -vE '/(support|data|launch)$$' | sort -u | xargs -r ls -d 2> /dev/null)"; \
	test -z "$$rooms" || $(PYTEST) $(SIDE_BY_SIDE) -m "not ros and not long" $$rooms $(ARGS) $(OR_NONE)

bench: setup
	@$(VENV)/python -m benchmarks $(ARGS)

soak: setup
	@mkdir -p out
	@$(VENV)/python -m benchmarks.soak --minutes $(MINUTES) --out out/soak.json $(ARGS)

firmware:
	@$(PACKAGES) avr
	@for backend in pca9685 timer; do $(MAKE) -s -C firmware hex sizes BACKEND=$$backend && \
		echo "  build/firmware/$$backend/picker_firmware.hex" || exit 1; done

fuzz-inputs: setup
	@PYTHONPATH=.:test/support $(VENV)/python -m input_fuzz --seconds $(TIME) $(ARGS)

fuzz:
	@$(PACKAGES) fuzz
	@$(MAKE) -s -C firmware fuzz-run TIME=$(TIME)

lint: setup
	@$(VENV)/ruff format --check -q . || { echo "make format writes them"; exit 1; }
	@$(VENV)/ruff check .
	@$(VENV)/lint-imports --no-cache
	@$(VENV)/mypy
	@$(PYTHON) tools/make_web.py lint

format: setup
	@$(VENV)/ruff format .
	@$(VENV)/ruff check --fix .

colcon: setup
	@mkdir -p $(SCRATCH)
	@$(COLCON) build $(SPACES) --install-base $(SCRATCH)/install
	@$(COLCON) test $(SPACES) --install-base $(SCRATCH)/install --event-handlers console_direct+
	@$(COLCON) test-result --test-result-base $(SCRATCH)/build --verbose

# Every warning is an error.
docs: setup
	@$(VENV)/python -c "import latex2mathml, material" 2> /dev/null || \
		$(VENV)/pip install -q --no-deps --require-hashes -r constraints/docs.txt
	@$(VENV)/python tools/site_pages.py build/docs/pages
	@NO_MKDOCS_2_WARNING=1 $(VENV)/mkdocs build --strict

# Wheel and sdist, checked, and the demo run from the wheel in an environment of its own.
dist: setup
	@rm -rf dist build/dist build/bare && $(PYTHON) -m venv build/dist && $(PYTHON) -m venv build/bare
	@build/dist/bin/pip install -q build twine
	@build/dist/bin/python -m build -o dist . > build/dist/log && build/dist/bin/twine check --strict dist/*
	@build/bare/bin/pip install -q "$$(ls $(CURDIR)/dist/*.whl)[sim,demo]"
	@cd build/bare && bin/picker demo $(ARGS)

clean:
	rm -rf dist .venv build install log out/demo web/node_modules picker_dynamics/scripting/view/page *.egg-info .hypothesis .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

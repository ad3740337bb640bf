# The few commands of every day. `make help` lists them; CMake and Ninja do the work (CMakePresets.json).

CACHE := $(shell tools/setup.sh where)
CONFIGURE = -DONNXRUNTIME_ROOT='$(or $(ONNXRUNTIME_ROOT),$(CACHE)/onnxruntime)' \
            -DBRIM_TEST_PYTHON='$(CACHE)/venv-test/bin/python' -DBRIM_CACHE='$(CACHE)'
CTEST = ctest --output-on-failure -j2 --test-dir

# $(call build,PRESET,FOLDER): configures (half a second, and new files are noticed) and builds.
build = cmake --preset $(1) $(CONFIGURE) >/dev/null && cmake --build $(2)

.NOTPARALLEL:
.PHONY: all demo check test check-slow check-asan check-tsan check-all bench bench-arena bench-images bench-governor bench-governor-quick bench-governor-models fuzz format clean help

all: ## build a release: build/brimful
	@tools/setup.sh build
	@$(call build,release,build)

demo: all ## real photos become real vectors; prints the nearest pairs
	@tools/setup.sh demo
	@demo/run.sh

check: ## the quick tests
	@$(call build,debug,build/debug)
	@$(CTEST) build/debug -LE slow

test: ## set-up for the tests, then the quick tests
	@tools/setup.sh test
	@$(MAKE) --no-print-directory check

check-slow: ## the slow tests alone
	@$(call build,debug,build/debug)
	@$(CTEST) build/debug -L slow

check-asan check-tsan: check-%: ## the quick tests with sanitizers
	@$(call build,$*,build/$*)
	@$(CTEST) build/$* -LE 'slow|lint'

check-all: test check-slow check-asan check-tsan ## every test, and the quick ones with sanitizers

bench: all ## brimful against its peers on the same photos
	@tools/setup.sh bench
	@bench/e2e

bench-arena: all ## the memory that models run in: ours against the runtime's own
	@tools/setup.sh models
	@bench/arena
	@bench/arena --limit auto

bench-images: all ## photos to tensors on one core, against Pillow and others
	@tools/setup.sh bench
	@$(CACHE)/venv-bench/bin/python bench/images

bench-governor: all ## the policies of the governor against the best fixed batch, on simulated devices
	@bench/governor

bench-governor-quick: all ## the default policy alone: one line of JSON with worst_ratio
	@bench/governor --quick

bench-governor-models: all ## the default policy against the best fixed batch, in turns, on three real models
	@tools/setup.sh models
	@bench/governor_models

fuzz: ## the fuzz targets with libFuzzer (clang): build/fuzz/fuzz_*; CONTRIBUTING.md says how they run
	@cmake --preset fuzz $(CONFIGURE) >/dev/null && cmake --build build/fuzz --target fuzz

format: ## lay out the sources
	@tools/check_format.sh --fix

clean: ## remove build/ (the cache folder stays)
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z][a-z -]*\):.*## /\1\t/p' Makefile | expand -t 24
	@echo "cache of fetched things: $(CACHE)"

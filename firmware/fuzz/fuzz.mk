# Fuzzers of the firmware's core: clang with libFuzzer (packages clang and libclang-rt-NN-dev).  Included by ../Makefile, which
# sets OUT.
#   make -C firmware fuzz               builds them
#   make -C firmware fuzz-run TIME=60   runs each for so many seconds, on a corpus that grows from run to run
FUZZ_DIR := $(dir $(lastword $(MAKEFILE_LIST)))
FUZZ_CXX ?= clang++
FUZZ_FLAGS ?= -std=c++11 -g -O1 -Wall -Wextra -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
FUZZ_CORE := $(wildcard $(FUZZ_DIR)../picker_firmware/src/core/*.cpp)
FUZZ_HEADERS := $(wildcard $(FUZZ_DIR)*.h $(FUZZ_DIR)../picker_firmware/src/core/*.h)
FUZZERS := $(addprefix $(OUT)/fuzz/,fuzz_parser fuzz_core)
FUZZ_OPTIONS := -max_len=2048 -len_control=0 -print_final_stats=1
TIME ?= 60

.PHONY: fuzz fuzz-run
fuzz: $(FUZZERS)

$(OUT)/fuzz/fuzz_core: $(FUZZ_DIR)rig.cpp
$(OUT)/fuzz/%: $(FUZZ_DIR)%.cpp $(FUZZ_CORE) $(FUZZ_HEADERS)
	@mkdir -p $(@D)
	@$(FUZZ_CXX) $(FUZZ_FLAGS) -o $@ $(filter %.cpp,$^)

fuzz-run: $(FUZZERS)
	@for fuzzer in $(FUZZERS); do \
	  mkdir -p $$fuzzer.corpus && ASAN_OPTIONS=quarantine_size_mb=16 $$fuzzer $(FUZZ_OPTIONS) -max_total_time=$(TIME) \
	    -artifact_prefix=$$fuzzer- $$fuzzer.corpus > $$fuzzer.log 2>&1 || { tail -n 30 $$fuzzer.log; exit 1; }; \
	  count=$$(sed -n 's/^stat::number_of_executed_units: *//p' $$fuzzer.log); \
	  echo "$${fuzzer##*/}: $$count executions in $(TIME) s, nothing found"; done

# The simulated Uno, a shared library on libsimavr (packages libsimavr-dev and a C compiler).  Included by ../Makefile, which
# sets OUT; alone: make -f sim.mk OUT=../../build/firmware sim
SIM_DIR := $(dir $(lastword $(MAKEFILE_LIST)))
SIM_CC ?= cc
SIM_CFLAGS ?= -std=gnu11 -O2 -Wall -Wextra
SIM_SOURCES := $(addprefix $(SIM_DIR),uno.c usart.c twi.c pca9685.c pins.c)
SIM_LIBRARY := $(OUT)/sim/libpicker_uno.so

.PHONY: sim
sim: $(SIM_LIBRARY)

# Made under another name first: processes that run the old library, or start while this one is written, are not disturbed.
$(SIM_LIBRARY): $(SIM_SOURCES) $(SIM_DIR)uno.h $(SIM_DIR)kernel.h
	@mkdir -p $(@D)
	@$(SIM_CC) $(SIM_CFLAGS) -fPIC -shared -fvisibility=default -I/usr/include/simavr -o $@.$$$$ $(SIM_SOURCES) -lsimavr && mv $@.$$$$ $@

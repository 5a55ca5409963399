# The sketch as the Arduino IDE builds it, with its compiler options, against the core that Debian packages: a check that
# nothing here stands in its way.  A copy is built, as the IDE does, so that no header is found by accident.

ARDUINO ?= /usr/share/arduino/hardware/arduino/avr
ARDUINO_OUT := $(OUT)/arduino
ARDUINO_ELF := $(ARDUINO_OUT)/picker_firmware.elf
ARDUINO_FLAGS := -Os -g -std=gnu++11 -fpermissive -fno-exceptions -ffunction-sections -fdata-sections \
  -fno-threadsafe-statics -Wno-error=narrowing -flto -mmcu=atmega328p -DF_CPU=16000000L -DARDUINO=10819 -DARDUINO_AVR_UNO \
  -DARDUINO_ARCH_AVR -I$(ARDUINO)/cores/arduino -I$(ARDUINO)/variants/standard
# The core as packaged needs this with the compiler as packaged.
ARDUINO_CORE_FLAGS := $(filter-out -std=%,$(ARDUINO_FLAGS)) -DDECIMAL_DIG=__DECIMAL_DIG__ -w
ARDUINO_CORE_SOURCES := $(wildcard $(ARDUINO)/cores/arduino/*.c $(ARDUINO)/cores/arduino/*.cpp)
ARDUINO_CORE := $(ARDUINO_OUT)/core.a

.PHONY: arduino
arduino: $(ARDUINO_ELF)

$(ARDUINO_CORE): $(ARDUINO_CORE_SOURCES)
	@mkdir -p $(ARDUINO_OUT)/core
	@cd $(ARDUINO_OUT)/core && avr-gcc -c $(ARDUINO_CORE_FLAGS) $(filter %.c,$^)
	@cd $(ARDUINO_OUT)/core && $(AVR_CXX) -c $(ARDUINO_CORE_FLAGS) -std=gnu++11 $(filter %.cpp,$^)
	@avr-gcc-ar rcs $@ $(ARDUINO_OUT)/core/*.o

$(ARDUINO_ELF): $(ARDUINO_CORE) $(SKETCH)/picker_firmware.ino $(CORE) $(BOARD) $(HEADERS)
	@rm -rf $(ARDUINO_OUT)/sketch && cp -r $(SKETCH) $(ARDUINO_OUT)/sketch
	@cmp -s $(ARM_CONFIG) $(ARDUINO_OUT)/sketch/arm_config.h || cp $(ARM_CONFIG) $(ARDUINO_OUT)/sketch/arm_config.h
	@cd $(ARDUINO_OUT)/sketch && $(AVR_CXX) $(ARDUINO_FLAGS) -Wall -Wextra -fuse-linker-plugin -Wl,--gc-sections -o $@ \
	  -include Arduino.h -x c++ picker_firmware.ino src/core/*.cpp src/board/*.cpp -x none $(ARDUINO_CORE) -lm

// Firmware of picker_dynamics for an Arduino Uno or Nano with a PCA9685, or with servos on its own pins.
//
// What it does: docs/protocol.md.  Wiring and flashing: docs/firmware.md.  The arm: arm_config.h, which
// `picker firmware header` writes.

#include "src/board/board.h"

void setup() { picker::board_begin(); }

void loop() { picker::board_loop(); }

// An Arduino Uno or Nano that is the firmware's hardware.  Call begin once, then loop for ever.
#pragma once

namespace picker {

void board_begin();
void board_loop();

}  // namespace picker

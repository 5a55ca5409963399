// Another number with each start of the board, counted in EEPROM.
#pragma once

#include <stdint.h>

namespace picker {

uint16_t next_boot_id();

}  // namespace picker

// I2C as a master at 400 kHz, polled, with a time-out for every byte.
#pragma once

#include <stdint.h>

namespace picker {

// Switch the bus on; a slave that a reset left in the middle of a byte is clocked out of it.
void twi_begin();

// Each is false where nobody answers or the bus is stuck; the transaction is over then, and the bus freed if it can be.
bool twi_start(uint8_t address_and_read);
bool twi_write(uint8_t byte);
bool twi_read(uint8_t& byte, bool last);
bool twi_stop();

}  // namespace picker

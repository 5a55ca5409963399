#include "boot_id.h"

#include <avr/eeprom.h>

namespace picker {

namespace {

// A cell bears 100 000 writes.  The ids go round through 64 places, so the board bears 6.4 million starts.
constexpr uint8_t PLACES = 64;
uint16_t* const RING = reinterpret_cast<uint16_t*>(0);

uint8_t after(uint8_t place) { return uint8_t(place + 1) % PLACES; }

}  // namespace

// The ids in the ring count up; the newest is the one that the next does not follow.  A write that was cut short looks like
// that too, and gives some other id: that is all that is asked for.
uint16_t next_boot_id() {
  uint8_t place = 0;
  uint16_t newest = eeprom_read_word(RING);
  for (; place < PLACES - 1; ++place) {
    const uint16_t next = eeprom_read_word(RING + place + 1);
    if (next != uint16_t(newest + 1)) break;
    newest = next;
  }
  const uint16_t id = uint16_t(newest + 1);
  eeprom_update_word(RING + after(place), id);
  return id;
}

}  // namespace picker

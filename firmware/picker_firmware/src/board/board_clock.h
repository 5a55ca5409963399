// Board time from Timer1, which runs freely at 0.5 us a count; compare unit A is an alarm, unit B drives pins.
#pragma once

#include <stdint.h>

namespace picker {

constexpr uint8_t COUNTS_PER_US = 2;

// Start; board time is START_TIME_US (0, or shortly before the wrap-around for a test).
void clock_begin();

// Board time [us], modulo 2^32.  May be called with interrupts on or off.
uint32_t clock_now();

// The timer's own count: for code that runs with interrupts off.
uint16_t clock_counts();

// Ring at that board time, at once if it has passed; clock_rang() tells, and an interrupt wakes the processor.
void clock_set_alarm(uint32_t time_us);
bool clock_rang();

// The program is alive.  Where it says so no more for a third of a second, the reset that the watchdog is about to make is
// noted for the next start.
void clock_note_alive();

}  // namespace picker

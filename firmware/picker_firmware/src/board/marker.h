// Tells a simulator, by values written to GPIOR0, what the processor is doing, so that it can count cycles.
//
//   value  section     from ... to
//   0      OTHER       everything else: sleeping, looking for work
//   1      RECEIVE     one byte from the host; the one that ends a frame: until the message is carried out or queued
//   2      FRAME       evaluation of a servo frame: queue, interpolation, limits
//   3      GRAVITY     gravity difference, inside FRAME
//   4      TELEMETRY   building a telemetry frame
//   5      OUTPUT      bringing pulses to the output stage: I2C, or the table of the timer
//
// Interrupts are not marked: their time counts for the section that they interrupt.  A mark takes two cycles.
#pragma once

#include <avr/io.h>

namespace picker {

enum Section : unsigned char {
  MARK_OTHER = 0,
  MARK_RECEIVE = 1,
  MARK_FRAME = 2,
  MARK_GRAVITY = 3,
  MARK_TELEMETRY = 4,
  MARK_OUTPUT = 5,
};

}  // namespace picker

#undef PICKER_MARK
#define PICKER_MARK(section) (GPIOR0 = picker::MARK_##section)

#include "arm.h"

#ifndef PICKER_BACKEND_TIMER

#include <util/delay.h>

#include "outputs.h"
#include "twi.h"

namespace picker {

namespace {

enum Register : uint8_t { MODE1 = 0x00, MODE2 = 0x01, OUTPUT_0 = 0x06, ALL_OFF_HIGH = 0xFD, PRE_SCALE = 0xFE };
constexpr uint8_t SLEEP = 0x10, AUTO_INCREMENT = 0x20;  // MODE1; its all-call bit stays 0: nobody else's address is ours
constexpr uint8_t TOTEM_POLE = 0x04;                    // MODE2
constexpr uint8_t FULL = 0x10;                          // in the high bytes of an output: fully on, fully off
constexpr uint8_t WRITE = arm_config::PCA9685_ADDRESS << 1, READ = WRITE | 1;

constexpr uint64_t OSCILLATOR_HZ = arm_config::OSCILLATOR_HZ;
constexpr uint32_t PERIOD_TICKS = uint32_t((OSCILLATOR_HZ * arm_config::CONFIG.frame_us + 500000) / 1000000);
constexpr uint8_t PRESCALE = uint8_t((PERIOD_TICKS + 2048) / 4096 - 1);

// Counts for 1/8 us, times 2^20: a count lasts (PRESCALE + 1) / OSCILLATOR_HZ.
constexpr uint32_t COUNTS_2_20 = uint32_t(((OSCILLATOR_HZ << 20) / (PRESCALE + 1u) + 4000000) / 8000000);
constexpr uint16_t PULSE_LONGEST = 0x7FFF;

constexpr uint16_t UNKNOWN = 0xFFFF;
uint16_t counts[PICKER_JOINTS];  // on the outputs now, 0: off
uint32_t counts_2_20 = COUNTS_2_20;

uint16_t to_counts(uint16_t pulse) { return uint16_t((pulse * counts_2_20 + (1ul << 19)) >> 20); }

uint16_t to_pulse(uint16_t count) {
  const uint32_t pulse = ((uint32_t(count) << 20) + counts_2_20 / 2) / counts_2_20;
  return pulse > PULSE_LONGEST ? PULSE_LONGEST : uint16_t(pulse);
}

bool begin_write(uint8_t address) { return twi_start(WRITE) && twi_write(address); }

bool write_register(uint8_t address, uint8_t value) { return begin_write(address) && twi_write(value) && twi_stop(); }

bool begin_read(uint8_t address) { return begin_write(address) && twi_start(READ); }

bool read_register(uint8_t address, uint8_t& value) { return begin_read(address) && twi_read(value, true) && twi_stop(); }

constexpr uint8_t first_register(uint8_t joint) { return uint8_t(OUTPUT_0 + 4 * arm_config::CHANNELS[joint]); }

// The chip's reset state, but for its speed.  The oscillator needs 0.5 ms.
bool set_up() {
  counts_2_20 = COUNTS_2_20;
  for (uint8_t joint = 0; joint < PICKER_JOINTS; ++joint) counts[joint] = 0;
  if (!write_register(MODE1, SLEEP | AUTO_INCREMENT) || !write_register(PRE_SCALE, PRESCALE)) return false;
  if (!write_register(ALL_OFF_HIGH, FULL) || !write_register(MODE2, TOTEM_POLE)) return false;
  if (!write_register(MODE1, AUTO_INCREMENT)) return false;
  _delay_us(500);
  return true;
}

// What one output does: from its counts of switching on and off.
bool read_output(uint8_t joint) {
  uint8_t bytes[4];
  if (!begin_read(first_register(joint))) return false;
  for (uint8_t i = 0; i < 4; ++i) {
    if (!twi_read(bytes[i], i == 3)) return false;
  }
  const uint16_t on = uint16_t(bytes[0] | (bytes[1] & 0x0F) << 8), off = uint16_t(bytes[2] | (bytes[3] & 0x0F) << 8);
  counts[joint] = uint16_t(off - on) & 0x0FFF;
  if (bytes[1] & FULL) counts[joint] = 0x0FFF;
  if (bytes[3] & FULL) counts[joint] = 0;
  return twi_stop();
}

// The chip as another program, or this one before a reset, has left it: still running, at whatever speed.
bool take_over(bool& drives) {
  uint8_t prescale;
  if (!write_register(MODE1, AUTO_INCREMENT) || !read_register(PRE_SCALE, prescale)) return false;
  drives = false;
  for (uint8_t joint = 0; joint < PICKER_JOINTS; ++joint) {
    if (!read_output(joint)) return false;
    if (counts[joint] != 0) drives = true;
  }
  if (prescale != PRESCALE) counts_2_20 = COUNTS_2_20 * (PRESCALE + 1u) / (prescale + 1u);
  if (!drives && prescale != PRESCALE) return set_up();
  return true;
}

// One transaction for neighbouring outputs: what is written in one, the chip brings to its outputs at one time.
bool write_changes(const uint16_t* pulses) {
  uint8_t next = 0;  // register that the open transaction would write next; 0: none is open
  for (uint8_t joint = 0; joint < PICKER_JOINTS; ++joint) {
    const uint16_t count = to_counts(pulses[joint]);
    if (count == counts[joint]) continue;
    const uint8_t first = first_register(joint);
    if (next != first) {
      if (next != 0 && !twi_stop()) return false;
      if (!begin_write(first)) return false;
    }
    if (!twi_write(0) || !twi_write(0) || !twi_write(uint8_t(count))) return false;
    if (!twi_write(count == 0 ? FULL : uint8_t(count >> 8))) return false;
    counts[joint] = count;
    next = uint8_t(first + 4);
  }
  return next == 0 || twi_stop();
}

}  // namespace

void outputs_begin() { twi_begin(); }

bool outputs_find(uint16_t* pulses) {
  uint8_t mode;
  if (!read_register(MODE1, mode)) return false;
  bool drives = false;
  if (!(mode & SLEEP ? set_up() : take_over(drives))) return false;
  for (uint8_t joint = 0; joint < PICKER_JOINTS; ++joint) pulses[joint] = to_pulse(counts[joint]);
  return true;
}

bool outputs_match(uint8_t joint, uint16_t pulse) { return counts[joint] == to_counts(pulse); }

// Servos are noisy neighbours: one disturbed transaction is no failure, if the same works at once.
bool outputs_set(const uint16_t* pulses) {
  if (write_changes(pulses)) return true;
  for (uint8_t joint = 0; joint < PICKER_JOINTS; ++joint) counts[joint] = UNKNOWN;
  return write_changes(pulses);
}

// Asleep it is only after a loss of its own supply: its outputs are off then, whatever has been written.
bool outputs_check() {
  uint8_t mode;
  return (read_register(MODE1, mode) || read_register(MODE1, mode)) && !(mode & SLEEP);
}

}  // namespace picker

#endif

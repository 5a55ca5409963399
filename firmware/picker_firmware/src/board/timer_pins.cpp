#include "arm.h"

#ifdef PICKER_BACKEND_TIMER

#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/atomic.h>

#include "board_clock.h"
#include "outputs.h"

// Pulses one after the other, each a servo frame after its last, timed by compare unit B of Timer1.  The interrupt comes a
// little early and waits for the very count, so that other interrupts do not move the edges.

namespace picker {

namespace {

constexpr uint16_t PERIOD = uint16_t(arm_config::CONFIG.frame_us * COUNTS_PER_US);
constexpr uint16_t START = 3000 * COUNTS_PER_US;   // after the start of the servo frame: by then it has been evaluated
constexpr uint16_t EARLY = 12 * COUNTS_PER_US;     // longer than any other interrupt takes
constexpr uint16_t SHORTEST = 50 * COUNTS_PER_US;  // that the interrupt keeps up with

constexpr uint32_t longest_train(uint8_t joints) {
  return joints == 0 ? 0 : longest_train(uint8_t(joints - 1)) + arm_config::LIMITS[joints - 1].highest / 8;
}
static_assert(START / COUNTS_PER_US + longest_train(PICKER_JOINTS) + 1000 < arm_config::CONFIG.frame_us,
              "the longest pulses of all joints do not fit one servo frame: use a PCA9685");
static_assert(arm_config::CONFIG.frame_us <= 32000, "a servo frame must fit the 16 bits of the timer");

struct Pin {
  volatile uint8_t* port;
  uint8_t mask;
};

constexpr uint8_t NONE = PICKER_JOINTS;
Pin pins[PICKER_JOINTS];
volatile uint16_t widths[PICKER_JOINTS];  // [counts], 0: off
uint8_t high = NONE;                      // joint whose pin is high
uint16_t train_start, edge;               // [counts]

// Arduino's numbers: 0 to 7 are port D, 8 to 13 port B, 14 to 19 port C.
Pin pin_of(uint8_t number) {
  if (number < 8) return {&PORTD, uint8_t(1 << number)};
  if (number < 14) return {&PORTB, uint8_t(1 << (number - 8))};
  return {&PORTC, uint8_t(1 << (number - 14))};
}

volatile uint8_t& direction_of(const Pin& pin) { return *(pin.port - 1); }  // DDRx lies just below PORTx

uint16_t to_counts(uint16_t pulse) {
  if (pulse == 0) return 0;
  const uint16_t width = uint16_t(pulse + 2) / 4;
  return width < SHORTEST ? SHORTEST : width;
}

uint8_t next_live(uint8_t joint) {
  while (joint < PICKER_JOINTS && widths[joint] == 0) ++joint;
  return joint;
}

}  // namespace

void outputs_begin() {
  for (uint8_t joint = 0; joint < PICKER_JOINTS; ++joint) {
    pins[joint] = pin_of(arm_config::TIMER_PINS[joint]);
    *pins[joint].port &= uint8_t(~pins[joint].mask);
    direction_of(pins[joint]) |= pins[joint].mask;
  }
  ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
    edge = train_start = uint16_t(clock_counts() + START);
    OCR1B = uint16_t(edge - EARLY);
    TIFR1 = _BV(OCF1B);
    TIMSK1 |= _BV(OCIE1B);
  }
}

// A reset has made the pins inputs: nothing runs.
bool outputs_find(uint16_t* pulses) {
  for (uint8_t joint = 0; joint < PICKER_JOINTS; ++joint) pulses[joint] = 0;
  return true;
}

bool outputs_match(uint8_t joint, uint16_t pulse) { return widths[joint] == to_counts(pulse); }

// A pulse that has begun ends as it was meant to: a cut one would be a command too.
bool outputs_set(const uint16_t* pulses) {
  for (uint8_t joint = 0; joint < PICKER_JOINTS; ++joint) {
    const uint16_t width = to_counts(pulses[joint]);
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) { widths[joint] = width; }
  }
  return true;
}

bool outputs_check() { return true; }

}  // namespace picker

// An edge: the pin that is high goes low, the next one high; after the last, wait for the next frame.
ISR(TIMER1_COMPB_vect) {
  using namespace picker;
  const uint8_t low = high;
  high = next_live(low == NONE ? 0 : uint8_t(low + 1));
  while (int16_t(TCNT1 - edge) < 0) {
  }
  if (low != NONE) *pins[low].port &= uint8_t(~pins[low].mask);
  if (high != NONE) {
    *pins[high].port |= pins[high].mask;
    edge += widths[high];
  } else {
    edge = train_start = uint16_t(train_start + PERIOD);
  }
  OCR1B = uint16_t(edge - EARLY);
}

#endif

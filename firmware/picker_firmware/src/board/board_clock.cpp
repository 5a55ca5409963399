#include "board_clock.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/atomic.h>

#include "reset_cause.h"

#ifndef START_TIME_US
#define START_TIME_US 0UL
#endif

namespace picker {

namespace {

constexpr uint16_t OVERFLOW_US = 0x8000;    // 65536 counts
constexpr uint16_t ALARM_MAX_US = 30000;    // less than an overflow, more than a servo frame
constexpr uint16_t ALARM_MIN_US = 10;       // less takes longer to set than to wait for
constexpr uint8_t STUCK_OVERFLOWS = 10;     // 328 ms; the watchdog bites after 500

volatile uint32_t overflow_us = START_TIME_US;
volatile uint8_t overflows_since_alive;
volatile bool rang;

}  // namespace

void clock_begin() {
  TCCR1A = 0;
  TCCR1B = _BV(CS11);  // 16 MHz / 8
  TCNT1 = 0;
  TIFR1 = _BV(TOV1) | _BV(OCF1A) | _BV(OCF1B);
  TIMSK1 = _BV(TOIE1);
}

uint16_t clock_counts() { return TCNT1; }

uint32_t clock_now() {
  uint32_t time_us;
  uint16_t counts;
  bool pending;
  ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
    counts = TCNT1;
    pending = TIFR1 & _BV(TOV1);
    time_us = overflow_us;
  }
  if (pending && counts < 0x8000) time_us += OVERFLOW_US;  // it overflowed before it was read
  return time_us + counts / COUNTS_PER_US;
}

void clock_set_alarm(uint32_t time_us) {
  ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
    const int32_t left_us = int32_t(time_us - clock_now());
    rang = left_us < ALARM_MIN_US;
    if (!rang) {
      const uint16_t wait_us = left_us > ALARM_MAX_US ? ALARM_MAX_US : uint16_t(left_us);
      OCR1A = uint16_t(TCNT1 + wait_us * COUNTS_PER_US);
      TIFR1 = _BV(OCF1A);
      TIMSK1 |= _BV(OCIE1A);
    }
  }
}

bool clock_rang() { return rang; }

void clock_note_alive() { overflows_since_alive = 0; }

}  // namespace picker

ISR(TIMER1_OVF_vect) {
  using namespace picker;
  overflow_us += OVERFLOW_US;
  if (++overflows_since_alive == STUCK_OVERFLOWS) reset_note_stuck();
}

ISR(TIMER1_COMPA_vect) { picker::rang = true; }

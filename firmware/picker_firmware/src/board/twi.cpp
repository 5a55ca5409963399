#include "twi.h"

#include <avr/io.h>
#include <util/delay.h>
#include <util/twi.h>

namespace picker {

namespace {

constexpr uint8_t SDA = _BV(PC4), SCL = _BV(PC5);
constexpr uint8_t DIVIDER = (F_CPU / 400000UL - 16) / 2;
constexpr uint8_t TIMEOUT_US = 200;  // a byte takes 23
constexpr uint8_t GO = _BV(TWINT) | _BV(TWEN);

// A line is pulled low by being an output, and let go by being an input with pull-up.
void pull(uint8_t line) {
  PORTC &= uint8_t(~line);
  DDRC |= line;
  _delay_us(5);
}

void let_go(uint8_t line) {
  DDRC &= uint8_t(~line);
  PORTC |= line;
  _delay_us(5);
}

// A slave that misses clocks holds SDA: clock SCL until it lets go, at most a byte and its acknowledge, then STOP.
void free_bus() {
  TWCR = 0;
  let_go(SDA);
  let_go(SCL);
  for (uint8_t clock = 0; clock < 9 && !(PINC & SDA); ++clock) {
    pull(SCL);
    let_go(SCL);
  }
  pull(SDA);
  let_go(SDA);
  TWCR = _BV(TWEN);
}

bool fail() {
  free_bus();
  return false;
}

// Start an action and wait for its end.
bool act(uint8_t control) {
  TWCR = control;
  for (uint8_t waited_us = 0; waited_us < TIMEOUT_US; ++waited_us) {
    if (TWCR & _BV(TWINT)) return true;
    _delay_us(1);
  }
  return false;
}

// What must not be there is looked for, not what must: one simulator reports "data acknowledged" for an address too.
bool refused() {
  switch (TW_STATUS) {
    case TW_MT_SLA_NACK:
    case TW_MT_DATA_NACK:
    case TW_MR_SLA_NACK:
    case TW_MT_ARB_LOST:
    case TW_BUS_ERROR:
      return true;
    default:
      return false;
  }
}

}  // namespace

void twi_begin() {
  TWSR = 0;
  TWBR = DIVIDER;
  free_bus();
}

bool twi_start(uint8_t address_and_read) {
  if (!act(GO | _BV(TWSTA))) return fail();
  return twi_write(address_and_read);
}

bool twi_write(uint8_t byte) {
  TWDR = byte;
  if (!act(GO) || refused()) return fail();
  return true;
}

bool twi_read(uint8_t& byte, bool last) {
  if (!act(last ? GO : GO | _BV(TWEA)) || refused()) return fail();
  byte = TWDR;
  return true;
}

bool twi_stop() {
  TWCR = GO | _BV(TWSTO);
  for (uint8_t waited_us = 0; waited_us < TIMEOUT_US; ++waited_us) {
    if (!(TWCR & _BV(TWSTO))) return true;
    _delay_us(1);
  }
  return fail();
}

}  // namespace picker

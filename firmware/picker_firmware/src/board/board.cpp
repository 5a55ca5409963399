#include "board.h"

#include <avr/interrupt.h>
#include <avr/sleep.h>
#include <avr/wdt.h>

#include "../core/firmware.h"
#include "adc.h"
#include "arm.h"
#include "board_clock.h"
#include "boot_id.h"
#include "marker.h"
#include "outputs.h"
#include "reset_cause.h"
#include "uart.h"

namespace picker {

namespace {

constexpr uint8_t BYTES_AT_ONCE = 32;  // before it is looked again what is due

Firmware firmware;
bool outputs_known = false;  // they have been looked at since the start
bool outputs_work = false;

void output_failed() {
  outputs_work = false;
  firmware.set_cause(Fault::OUTPUT_FAILED, true);
}

// The output stage answers (again).  What it does counts, not what it should have done while nobody could tell it; but what
// was switched off meanwhile goes off now.
void find_outputs() {
  uint16_t pulses[PICKER_JOINTS];
  if (!outputs_find(pulses)) {
    output_failed();
    return;
  }
  for (uint8_t joint = 0; outputs_known && joint < PICKER_JOINTS; ++joint) {
    const uint16_t wanted = firmware.pulses()[joint];
    if (wanted == 0 || outputs_match(joint, wanted)) pulses[joint] = wanted;
  }
  outputs_known = outputs_work = true;
  firmware.outputs_found(pulses);
  firmware.set_cause(Fault::OUTPUT_FAILED, false);
}

void set_outputs() {
  PICKER_MARK(OUTPUT);
  if (outputs_work && !outputs_set(firmware.pulses())) output_failed();
  PICKER_MARK(OTHER);
}

// Once a servo frame: the output stage is looked after even where nothing moves.
void tend_outputs() {
  PICKER_MARK(OUTPUT);
  if (!outputs_work) {
    find_outputs();
  } else if (!outputs_check()) {
    output_failed();
  }
  set_outputs();
}

void serve_host() {
  for (uint8_t left = BYTES_AT_ONCE; left != 0 && uart_pending() && firmware.ready(); --left) {
    PICKER_MARK(RECEIVE);
    const uint8_t byte = uart_take();
    const uint32_t now_us = byte == DELIMITER ? clock_now() : 0;  // only the end of a frame has a time
    if (firmware.receive(byte, now_us)) set_outputs();
    PICKER_MARK(OTHER);
  }
  uart_send();
}

void run_due() {
  const Firmware::Ran ran = firmware.run_due(clock_now());
  if (ran == Firmware::Ran::NOTHING) return;
  uart_send();
  if (ran == Firmware::Ran::FRAME) tend_outputs();
  adc_update(firmware);
}

// Every interrupt wakes the processor; the transmitter's do not concern the program, unless it waits for room.
void sleep_until(uint32_t time_us) {
  clock_set_alarm(time_us);
  const bool blocked = !firmware.ready();
  for (;;) {
    cli();
    if (clock_rang() || (blocked ? firmware.ready() : uart_pending())) break;
    sleep_enable();
    sei();  // takes effect after the next instruction: no interrupt is missed in between
    sleep_cpu();
    sleep_disable();
  }
  sei();
}

}  // namespace

void board_begin() {
  cli();
  const uint16_t boot_id = next_boot_id();
  clock_begin();
  adc_begin();
  uart_begin(firmware.transmit());
  sei();
  set_sleep_mode(SLEEP_MODE_IDLE);
  wdt_enable(WDTO_500MS);

  const uint16_t all_off[PICKER_JOINTS] = {};
  firmware.begin(arm_config::CONFIG, clock_now(), boot_id, all_off);
  if (restarted_by_failure()) firmware.latch(Fault::RESTARTED);
  outputs_begin();
  find_outputs();
}

void board_loop() {
  wdt_reset();
  clock_note_alive();
  serve_host();
  run_due();
  sleep_until(firmware.next_due());
}

}  // namespace picker

#include "reset_cause.h"

#include <avr/io.h>
#include <avr/wdt.h>
#include <stdint.h>

// Who clears MCUSR?
//
//   started by                       MCUSR                  r2
//   the reset vector, no boot loader the cause              anything
//   a recent Optiboot                the cause; after its   the same
//                                    own time-out EXTRF
//   an older Optiboot                0                      the cause; after its own time-out WDRF
//   the Optiboot of an Uno           0                      anything
//
// So WDRF counts only in MCUSR, and only without EXTRF; in r2 only a lone BORF is worth anything.  Where the boot loader tells
// nothing, the program itself has noted that the watchdog was about to bite (clock_note_alive).

namespace picker {

namespace {

constexpr uint16_t STUCK = 0x5AC3;  // unlikely in RAM after power-on

struct Cause {
  uint8_t flags, boot_loader;
};

// Survive a reset, and are written before the C runtime is there.
Cause cause __attribute__((section(".noinit")));
volatile uint16_t stuck __attribute__((section(".noinit")));

// A watchdog that has bitten keeps running at its shortest time: it must be off before RAM is cleared.
void __attribute__((naked, used, section(".init3"))) save_cause() {
  __asm__ __volatile__("mov %0, r2" : "=r"(cause.boot_loader));
  cause.flags = MCUSR;
  MCUSR = 0;
  wdt_disable();
}

}  // namespace

bool restarted_by_failure() {
  const bool was_stuck = stuck == STUCK;
  stuck = 0;
  if (was_stuck && !(cause.flags & _BV(PORF))) return true;
  if (cause.flags == 0) return cause.boot_loader == _BV(BORF);
  return !(cause.flags & (_BV(PORF) | _BV(EXTRF))) && (cause.flags & (_BV(BORF) | _BV(WDRF)));
}

void reset_note_stuck() { stuck = STUCK; }

}  // namespace picker

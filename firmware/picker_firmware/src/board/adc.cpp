#include "adc.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/atomic.h>

#include "arm.h"

namespace picker {

namespace {

constexpr uint8_t NONE = 255;
constexpr uint8_t SUPPLY = PICKER_JOINTS, SLOTS = PICKER_JOINTS + 1;  // slot j: potentiometer of joint j

volatile uint16_t values[SLOTS];
volatile uint8_t slot = SLOTS;  // being converted; SLOTS: the round is over
bool measured = false;          // a round was started
uint16_t supply_sum = 0;        // four times the supply, smoothed over some rounds: starting servos make it dip

uint8_t input_of(uint8_t at) { return at < SUPPLY ? arm_config::FEEDBACK_ADC[at] : arm_config::SUPPLY_ADC; }

// Convert the first slot from `at` on that has an input.
void convert_from(uint8_t at) {
  while (at < SLOTS && input_of(at) == NONE) ++at;
  slot = at;
  if (at == SLOTS) return;
  ADMUX = uint8_t(_BV(REFS0) | input_of(at));  // against the 5 V supply, which feeds the potentiometers too
  ADCSRA |= _BV(ADSC);
}

uint16_t value_of(uint8_t at) {
  uint16_t value;
  ATOMIC_BLOCK(ATOMIC_RESTORESTATE) { value = values[at]; }
  return value;
}

uint16_t supply_mv() {
  const uint16_t value = value_of(SUPPLY);
  supply_sum = supply_sum == 0 ? uint16_t(4 * value) : uint16_t(supply_sum - supply_sum / 4 + value);
  const uint16_t mv = uint16_t((uint32_t(supply_sum) * arm_config::SUPPLY_DIVIDER) >> (arm_config::SUPPLY_SHIFT + 2));
  return mv == 0 ? 1 : mv;  // 0 would mean that it is not measured
}

}  // namespace

void adc_begin() { ADCSRA = _BV(ADEN) | _BV(ADIE) | _BV(ADPS2) | _BV(ADPS1) | _BV(ADPS0); }  // 125 kHz: 104 us each

void adc_update(Firmware& firmware) {
  if (slot != SLOTS) return;
  if (measured) {
    for (uint8_t joint = 0; joint < PICKER_JOINTS; ++joint) {
      if (arm_config::FEEDBACK_ADC[joint] != NONE) firmware.set_feedback(joint, value_of(joint));
    }
    if (arm_config::SUPPLY_ADC != NONE) firmware.set_supply(supply_mv());
  }
  measured = true;
  convert_from(0);
}

}  // namespace picker

ISR(ADC_vect) {
  using namespace picker;
  values[slot] = ADC;
  convert_from(uint8_t(slot + 1));
}

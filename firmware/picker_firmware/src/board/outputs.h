// The output stage that this build drives: a PCA9685, or pins of the board itself (PICKER_BACKEND_TIMER).
//
// Every function is false where the stage does not answer; outputs_find() then brings it back.
#pragma once

#include <stdint.h>

namespace picker {

void outputs_begin();

// Look what the outputs do, without disturbing them: the pulses [1/8 us], 0 where off.  A stage that does nothing is set up.
bool outputs_find(uint16_t* pulses);

// True where the output of `joint`, as found or set last, is what it would be for `pulse`.
bool outputs_match(uint8_t joint, uint16_t pulse);

// Bring the pulses to the outputs.
bool outputs_set(const uint16_t* pulses);

// Does it still work?
bool outputs_check();

}  // namespace picker

// Analogue inputs: a potentiometer per joint and the servo supply, as far as arm_config.h assigns them.
#pragma once

#include "../core/firmware.h"

namespace picker {

void adc_begin();

// Hand over what was measured, and measure anew; takes no time, an interrupt does the rest.
void adc_update(Firmware& firmware);

}  // namespace picker

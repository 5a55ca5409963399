// The arm's constants.  The Arduino IDE takes them from the sketch; a make may name another folder (CONFIG).
#pragma once

#if defined(ARDUINO)
#include "../../arm_config.h"
#else
#include "arm_config.h"
#endif

static_assert(F_CPU == 16000000UL, "timer, serial and I2C speeds are made for 16 MHz");
static_assert(PICKER_JOINTS <= picker::JOINTS_MAX, "PICKER_JOINTS_MAX is below the joints of this arm");

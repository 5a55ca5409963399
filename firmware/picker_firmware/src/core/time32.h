// Board time: 32-bit microseconds that wrap around every 71.6 minutes.
#pragma once

#include <stdint.h>

namespace picker {

// How far `later` lies after `earlier` [us]; negative where it lies before.
inline int32_t ahead_us(uint32_t later, uint32_t earlier) { return int32_t(later - earlier); }

}  // namespace picker

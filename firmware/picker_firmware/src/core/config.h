// What is compiled in for one arm.  `picker firmware header` writes it, from the servo map, into arm_config.h.
#pragma once

#include <stdint.h>

// The build for one arm may make room for its joints only; all translation units must agree.
#ifndef PICKER_JOINTS_MAX
#define PICKER_JOINTS_MAX 8
#endif

#ifndef PICKER_QUEUE_CAPACITY
#define PICKER_QUEUE_CAPACITY 24
#endif

namespace picker {

constexpr uint8_t JOINTS_MAX = PICKER_JOINTS_MAX;
constexpr uint8_t QUEUE_CAPACITY = PICKER_QUEUE_CAPACITY;

// Pulses in 1/8 us, speed in 1/8 us per servo frame, brake in 1/8 us per frame per frame.
struct JointLimits {
  uint16_t lowest, highest, speed, brake;
};

struct GravityModel;  // core/gravity.h

struct Config {
  uint8_t joints;
  const JointLimits* limits;
  uint16_t limits_crc;       // CRC of the table of limits, as INFO carries it
  uint16_t resolution_ns;    // smallest step of an output: 4883 for a PCA9685 at 50 Hz, 500 for timer-driven pins
  uint16_t frame_us;         // servo frame, at most 32767
  uint16_t host_timeout_ms;  // silence after which the host counts as lost
  uint16_t max_lead_ms;      // how far ahead a set-point may be stamped
  uint16_t supply_min_mv;    // below it SUPPLY_LOW is raised; 0 where the supply is not measured
  const GravityModel* gravity;  // nullptr: braking does without it
};

}  // namespace picker

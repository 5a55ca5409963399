// What the firmware has compiled in for the arm 'picker'.
// Written by `picker firmware header`, from config/servos.yaml, urdf/picker.urdf.  Change those and write it anew, not this.
#pragma once

#define PICKER_JOINTS 5

#include "src/core/config.h"
#include "src/core/gravity.h"

namespace arm_config {

// Joint by joint: base, shoulder, elbow, wrist, scissor.  255 is none.
constexpr uint8_t CHANNELS[PICKER_JOINTS] = {0, 1, 2, 3, 4};  // outputs of the PCA9685
constexpr uint8_t TIMER_PINS[PICKER_JOINTS] = {4, 5, 6, 7, 8};  // Arduino pins of the timer back end
constexpr uint8_t FEEDBACK_ADC[PICKER_JOINTS] = {255, 255, 255, 255, 255};  // potentiometers

constexpr uint8_t SUPPLY_ADC = 255;  // servo supply
constexpr uint16_t SUPPLY_DIVIDER = 0;  // [mV per ADC count] x 2^SUPPLY_SHIFT
constexpr uint8_t SUPPLY_SHIFT = 8;

constexpr uint8_t PCA9685_ADDRESS = 0x40;
constexpr uint32_t OSCILLATOR_HZ = 25000000;  // of this PCA9685; 25000000 where not measured

#ifdef PICKER_BACKEND_TIMER
constexpr uint16_t RESOLUTION_NS = 500;
#else
constexpr uint16_t RESOLUTION_NS = 4883;
#endif

// Shortest and longest pulse [1/8 us], speed [1/8 us per frame], brake [1/8 us per frame per frame].
constexpr picker::JointLimits LIMITS[PICKER_JOINTS] = {
    {4000, 20000, 407, 77},  // base
    {4000, 20000, 407, 77},  // shoulder
    {4000, 20000, 407, 77},  // elbow
    {4000, 20000, 407, 77},  // wrist
    {8808, 20000, 407, 77},  // scissor
};

// Pulse maps of the joints that bear weight: pulse [1/8 us], angle [rad], rad per 1/8 us, 1/8 us per N m.
constexpr picker::MapPiece SHOULDER[1] = {
    {4000, -0.436332315f, 0.000196349545f, 203.718323f},
};
constexpr picker::MapPiece ELBOW[1] = {
    {4000, 0.530580103f, -0.000196349545f, -203.718323f},
};
constexpr picker::MapPiece WRIST[1] = {
    {4000, 1.57079637f, -0.000196349545f, -203.718323f},
};

// Which joints are shoulder, elbow and wrist; g P1, g P2, g P3 [N m]; their maps.
constexpr picker::GravityModel GRAVITY_MODEL = {
    5,
    {1, 2, 3},
    {0.637650013f, 0.27026549f, 0.0706320032f},
    {{1, SHOULDER}, {1, ELBOW}, {1, WRIST}}};
constexpr const picker::GravityModel* GRAVITY = &GRAVITY_MODEL;

constexpr picker::Config CONFIG = {
    PICKER_JOINTS,
    LIMITS,
    0x4949,  // limits_crc
    RESOLUTION_NS,
    20000,  // frame_us
    250,  // host_timeout_ms
    2000,  // max_lead_ms
    0,  // supply_min_mv
    GRAVITY,
};

}  // namespace arm_config

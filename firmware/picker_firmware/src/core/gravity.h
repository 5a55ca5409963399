// Gravity compensation for the one motion that the board plans itself: decelerating without its host.
//
// The set-points that a host sends are already compensated: q_cmd = q + G(q) / K.  When the board brakes on its own it goes
// on from such a pulse, so only the difference to where braking began is to be added:
//
//     [G(q_now) - G(q_start)] / K        (all of G(q_now) / K would compensate twice, and lift the arm)
//
// G is the closed form of docs/derivations.md ("Strawberry picker"); a1, a2, a3 are the elevations of upper arm, forearm, hand:
//
//     t_i = g P_i cos a_i        shoulder = t1 + t2 + t3,  elbow = t2 + t3,  wrist = t3,  no gravity on any other joint
//
// An arm of another shape has no GravityModel and brakes without it.
#pragma once

#include <stdint.h>

namespace picker {

// A straight piece of the map from pulses [1/8 us] to angles of the joint [rad]; the next one starts where it ends.
struct MapPiece {
  uint16_t pulse;  // where it starts
  float angle;     // there
  float slope;     // rad per 1/8 us
  float gain;      // 1/(K slope): pulse [1/8 us] for a torque [N m]
};

struct PulseMap {
  uint8_t pieces;
  const MapPiece* piece;
};

// Three joints that pitch in one vertical plane: shoulder, elbow, wrist.
struct GravityModel {
  uint8_t joints;    // of the arm
  uint8_t pitch[3];  // which of them are shoulder, elbow and wrist
  float moment[3];   // g P1, g P2, g P3 [N m]
  PulseMap map[3];   // of shoulder, elbow and wrist
};

// Torques [N m] that hold the arm still at the joint angles q [rad]; both have model.joints entries.
void gravity_torque(const GravityModel& model, const float* q, float* torque);

// What to add to each pulse [1/8 us] because gravity at the pulses `to` is not what it was at the pulses `from`.
// All three have model.joints entries; all outputs run.
void gravity_difference(const GravityModel& model, const uint16_t* from, const uint16_t* to, int16_t* change);

}  // namespace picker

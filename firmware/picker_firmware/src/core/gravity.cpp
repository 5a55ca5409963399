#include "gravity.h"

#include <math.h>

namespace picker {

namespace {

const MapPiece& piece_at(const PulseMap& map, uint16_t pulse) {
  const MapPiece* piece = map.piece;
  for (uint8_t left = uint8_t(map.pieces - 1); left > 0 && pulse >= piece[1].pulse; --left) ++piece;
  return *piece;
}

float angle_at(const PulseMap& map, uint16_t pulse) {
  const MapPiece& piece = piece_at(map, pulse);
  return piece.angle + piece.slope * float(int16_t(pulse - piece.pulse));
}

// Torques of shoulder, elbow and wrist [N m] at their angles [rad]: each bears its own link and everything beyond it.
void pitch_torque(const GravityModel& model, const float* q, float* t) {
  float elevation = 0.0f;
  for (uint8_t i = 0; i < 3; ++i) {
    elevation += q[i];
    t[i] = model.moment[i] * cosf(elevation);
  }
  t[1] += t[2];
  t[0] += t[1];
}

void pitch_torque_at(const GravityModel& model, const uint16_t* pulses, float* t) {
  float q[3];
  for (uint8_t i = 0; i < 3; ++i) q[i] = angle_at(model.map[i], pulses[model.pitch[i]]);
  pitch_torque(model, q, t);
}

}  // namespace

void gravity_torque(const GravityModel& model, const float* q, float* torque) {
  const float pitch[3] = {q[model.pitch[0]], q[model.pitch[1]], q[model.pitch[2]]};
  float t[3];
  pitch_torque(model, pitch, t);
  for (uint8_t joint = 0; joint < model.joints; ++joint) torque[joint] = 0.0f;
  for (uint8_t i = 0; i < 3; ++i) torque[model.pitch[i]] = t[i];
}

void gravity_difference(const GravityModel& model, const uint16_t* from, const uint16_t* to, int16_t* change) {
  float before[3], now[3];
  pitch_torque_at(model, from, before);
  pitch_torque_at(model, to, now);
  for (uint8_t joint = 0; joint < model.joints; ++joint) change[joint] = 0;
  for (uint8_t i = 0; i < 3; ++i) {
    const uint8_t joint = model.pitch[i];
    const float pulse = (now[i] - before[i]) * piece_at(model.map[i], to[joint]).gain;
    change[joint] = int16_t(pulse < 0.0f ? pulse - 0.5f : pulse + 0.5f);
  }
}

}  // namespace picker

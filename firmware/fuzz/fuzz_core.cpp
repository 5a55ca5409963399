// Bytes, frames, time and mishaps in any order, on any arm: what must never happen does not (rig.cpp has the list), and when
// the host falls silent the arm stands within half a second.
#include "rig.h"

using picker::BoardState;
using picker::Fault;
using picker::MessageType;

namespace {

void append_u16(reference::Bytes* bytes, uint16_t value) {
  bytes->push_back(uint8_t(value));
  bytes->push_back(uint8_t(value >> 8));
}

// A pulse that is mostly allowed, sometimes just not.
uint16_t some_pulse(const picker::JointLimits& limits, Input& input) {
  const uint32_t span = limits.highest - limits.lowest;
  return uint16_t(limits.lowest + input.u16() % (span + 1) + (input.u8() == 0xFF ? span : 0));
}

void send_set_point(Rig& rig, const Arm& arm, Input& input, uint32_t time_us) {
  reference::Bytes payload;
  append_u16(&payload, uint16_t(time_us));
  append_u16(&payload, uint16_t(time_us >> 16));
  for (uint8_t joint = 0; joint < arm.config.joints; ++joint) append_u16(&payload, some_pulse(arm.limits[joint], input));
  rig.send(picker::PROTOCOL_VERSION, uint8_t(MessageType::SET_POINT), payload);
}

// Points at a steady pace, time passing between them, as a good host sends them.
void stream(Rig& rig, const Arm& arm, Input& input) {
  const uint32_t spacing_us = 1000 + input.below(30000), lead_us = input.below(200000);
  for (uint8_t left = 1 + input.u8() % 16; left > 0; --left) {
    send_set_point(rig, arm, input, rig.now() + lead_us);
    rig.advance(spacing_us);
    rig.listen(picker::TransmitBuffer::SIZE);
  }
}

// More points at once than any queue has room for.
void burst(Rig& rig, const Arm& arm, Input& input) {
  const uint32_t spacing_us = 1 + input.below(80000), first_us = rig.now() + 10000 + input.u16();
  for (uint32_t k = 0; k < picker::QUEUE_CAPACITY + 2u; ++k) {
    send_set_point(rig, arm, input, first_us + k * spacing_us);
    rig.listen(picker::TransmitBuffer::SIZE);
  }
  rig.advance(arm.config.frame_us);  // and telemetry tells how many are waiting
  rig.listen(picker::TransmitBuffer::SIZE);
}

void enable(Rig& rig, const Arm& arm, Input& input, uint8_t mask) {
  reference::Bytes payload = {mask};
  for (uint8_t joint = 0; joint < arm.config.joints; ++joint) {
    append_u16(&payload, mask >> joint & 1 ? some_pulse(arm.limits[joint], input) : 0);
  }
  rig.send(picker::PROTOCOL_VERSION, uint8_t(MessageType::ENABLE), payload);
}

void step(Rig& rig, const Arm& arm, Input& input) {
  const uint8_t all = uint8_t((1u << arm.config.joints) - 1);
  switch (input.u8() % 20) {
    case 0: return rig.feed(input.bytes(1 + input.u8() % 80));
    case 1: return rig.send(input.u8(), input.u8(), input.bytes(input.u8() % 64));
    case 2: return rig.send(picker::PROTOCOL_VERSION, uint8_t(input.u8() % 12), input.bytes(input.u8() % 24));
    case 3: return rig.set_sequence(uint16_t(rig.sequence() + int8_t(input.u8())));
    case 4: return rig.set_cause(Fault(1 + input.u8() % 5), input.u8() & 1);
    case 5: return rig.set_supply(input.u16());
    case 6: return rig.set_feedback(uint8_t(input.u8() % arm.config.joints), input.u16() % 1024);
    case 7: return rig.listen(input.u8());
    case 8: return rig.let_bytes_be_lost(input.u8() & 1);
    case 9: return rig.advance(input.u16());
    case 10: return rig.advance(input.u16() * 8u);
    case 11: return send_set_point(rig, arm, input, rig.now() + input.u32());
    case 12: return send_set_point(rig, arm, input, rig.now() + input.u16());
    case 13: return stream(rig, arm, input);
    case 14: return burst(rig, arm, input);
    case 15: return enable(rig, arm, input, all);
    case 16: return enable(rig, arm, input, input.u8());
    case 17: return rig.send(picker::PROTOCOL_VERSION, uint8_t(MessageType::ADOPT), {uint8_t(input.u8() & all)});
    case 18: return rig.output_stage_returns(input.u8(), int8_t(input.u8()));
    default:
      rig.send(picker::PROTOCOL_VERSION, uint8_t(MessageType::HELLO), {});
      return rig.send(picker::PROTOCOL_VERSION, uint8_t(MessageType::RESET), {});
  }
}

// Frames that braking may take, at most: the slowest joint, and the way that is left at its speed (what gravity changes, and back
// from a step outside the limits).
uint32_t frames_to_stand(const Arm& arm) {
  uint32_t frames = 0;
  for (uint8_t joint = 0; joint < arm.config.joints; ++joint) {
    const picker::JointLimits& limits = arm.limits[joint];
    const uint32_t own = uint32_t((limits.speed + limits.brake - 1) / limits.brake);
    const uint32_t way = uint32_t(arm.slack) + (arm.config.gravity ? uint32_t(limits.highest - limits.lowest) : 0);
    const uint32_t rest = way / limits.speed + 1;
    if (own + rest > frames) frames = own + rest;
  }
  return frames;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const Arm arm(input);
  Rig rig(arm, input);
  for (int left = 200; left > 0 && !input.empty(); --left) step(rig, arm, input);

  // The host is gone: HOST_LOST at the first frame after the time-out, then standstill as fast as the limits allow.
  rig.advance(1000u * arm.config.host_timeout_ms + 2u * arm.config.frame_us);
  const bool owned = rig.firmware().owned() != 0;
  REQUIRE(!owned || rig.firmware().faults() & picker::bit_of(Fault::HOST_LOST));
  rig.advance(frames_to_stand(arm) * arm.config.frame_us);
  REQUIRE(rig.firmware().state() == (owned ? BoardState::HOLD : BoardState::IDLE));
  return 0;
}

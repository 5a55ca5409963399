#include "rig.h"

using picker::BoardState;
using picker::MessageType;

namespace {

// The picker's, but softer: what gravity changes on the way is worth many pulses.
const picker::MapPiece RISING[] = {{4000, -0.44f, 1.91e-4f, 1000.0f}, {11000, 0.9f, 2.0e-4f, 950.0f}};
const picker::MapPiece FALLING[] = {{4000, 0.53f, -1.96e-4f, -1000.0f}};
const picker::GravityModel GRAVITY = {5, {1, 2, 3}, {0.64f, 0.27f, 0.07f}, {{2, RISING}, {1, FALLING}, {1, FALLING}}};

int32_t distance(uint16_t a, uint16_t b) { return a > b ? a - b : b - a; }

}  // namespace

Arm::Arm(Input& input) {
  const uint8_t choice = input.u8();
  const bool heavy = choice & 1;
  const uint8_t joints = heavy ? 5 : uint8_t(1 + (choice >> 1) % picker::JOINTS_MAX);
  for (uint8_t joint = 0; joint < picker::JOINTS_MAX; ++joint) {
    const uint16_t speed = uint16_t(heavy ? 200 + input.below(1000) : 1 + input.below(0x7FFF));
    const uint16_t brake = uint16_t(1 + speed / (1 + input.u8() % 12));
    limits[joint] = {4000, 20000, speed, brake < speed ? brake : speed};
    if (!heavy) {
      limits[joint].lowest = uint16_t(1 + input.below(0x7FFE));
      limits[joint].highest = uint16_t(limits[joint].lowest + 1 + input.below(uint32_t(0x7FFF - limits[joint].lowest)));
    }
  }
  const uint16_t resolution_ns = choice & 2 ? 500 : 4883;
  slack = (resolution_ns + 124) / 125;
  queue_capacity = uint8_t(16 + (choice >> 4) % (picker::QUEUE_CAPACITY - 15));
  config = {joints, limits, 0x1234, resolution_ns, 20000, 250, 2000, 4500, heavy ? &GRAVITY : nullptr};
}

Rig::Rig(const Arm& arm, Input& input)
    : arm_(arm), now_us_(input.u8() & 1 ? uint32_t(0) - input.u32() % 4000000 : 0) {
  uint16_t found[picker::JOINTS_MAX] = {};
  const uint8_t running = input.u8();
  for (uint8_t joint = 0; joint < arm.config.joints; ++joint) {
    if (running >> joint & 1) found[joint] = uint16_t(1 + input.below(0x7FFF));
  }
  firmware_.begin(arm.config, now_us_, input.u16(), found, arm.queue_capacity);
  require_sound();
}

// -- what the world does --------------------------------------------------------------------------------

void Rig::send(uint8_t version, uint8_t type, const reference::Bytes& payload) {
  feed(reference::frame(version, type, sequence_++, payload));
}

void Rig::feed(const reference::Bytes& bytes) {
  for (uint8_t byte : bytes) {
    if (!firmware_.ready()) {  // the transmit buffer is full: a real byte is lost, or waits until it is not
      if (lossy_) continue;
      listen(picker::TransmitBuffer::SIZE);
    }
    while (run_one()) {
    }
    const Outputs before = outputs();
    firmware_.receive(byte, now_us_);
    require_byte_sound(before);
    require_sound();
  }
}

void Rig::advance(uint32_t duration_us) {
  const uint32_t until_us = now_us_ + duration_us;
  while (int32_t(until_us - firmware_.next_due()) >= 0) {
    now_us_ = firmware_.next_due();
    while (run_one()) {
    }
  }
  now_us_ = until_us;
}

bool Rig::run_one() {
  const Outputs before = outputs();
  const picker::Firmware::Ran ran = firmware_.run_due(now_us_);
  if (ran == picker::Firmware::Ran::NOTHING) return false;
  if (ran == picker::Firmware::Ran::FRAME) require_frame_sound(before);
  if (ran == picker::Firmware::Ran::TELEMETRY) require_same(before);
  require_sound();
  return true;
}

void Rig::set_cause(picker::Fault fault, bool present) {
  const Outputs before = outputs();
  firmware_.set_cause(fault, present);
  require_same(before);
  require_sound();
}

void Rig::set_supply(uint16_t supply_mv) {
  const Outputs before = outputs();
  firmware_.set_supply(supply_mv);
  require_same(before);
  require_sound();
}

void Rig::set_feedback(uint8_t joint, uint16_t value) { firmware_.set_feedback(joint, value); }

void Rig::output_stage_returns(uint8_t lost, int8_t offset) {
  const Outputs before = outputs();
  uint16_t found[picker::JOINTS_MAX] = {};
  for (uint8_t joint = 0; joint < arm_.config.joints; ++joint) {
    const int32_t pulse = before.pulses[joint] + offset * (offset % 8);  // some near, some far outside the limits
    if (before.live & ~lost & 1 << joint) found[joint] = uint16_t(pulse < 1 ? 1 : pulse > 32767 ? 32767 : pulse);
  }
  firmware_.outputs_found(found);
  came_back_ = true;
  REQUIRE(memcmp(firmware_.pulses(), found, sizeof(uint16_t) * arm_.config.joints) == 0);
  REQUIRE((firmware_.live() & ~before.live) == 0 && (firmware_.owned() & ~before.owned) == 0);
  require_sound();
}

void Rig::listen(size_t count) {
  reference::Bytes plain;
  for (; count > 0 && !firmware_.transmit().empty(); --count) {
    const uint8_t byte = firmware_.transmit().pop();
    if (byte != 0) {
      wire_.push_back(byte);
      continue;
    }
    REQUIRE(reference::open(wire_, &plain));
    require_message_sound(plain);
    wire_.clear();
  }
}

// -- what must hold -------------------------------------------------------------------------------------

Rig::Outputs Rig::outputs() const {
  Outputs all = {{}, firmware_.live(), firmware_.owned(), firmware_.state()};
  memcpy(all.pulses, firmware_.pulses(), sizeof all.pulses);
  return all;
}

void Rig::require_sound() const {
  const uint8_t all = uint8_t((1u << arm_.config.joints) - 1);
  const Outputs now = outputs();
  REQUIRE((now.live & ~all) == 0);
  REQUIRE((now.owned & ~now.live) == 0);
  REQUIRE((now.state == BoardState::IDLE) == (now.owned == 0));
  REQUIRE(firmware_.faults() == 0 || now.state != BoardState::MOVE);
  for (uint8_t joint = 0; joint < arm_.config.joints; ++joint) {
    if (!(now.live >> joint & 1)) REQUIRE(now.pulses[joint] == 0);
    if (now.owned >> joint & 1) {
      const int32_t slack = came_back_ ? arm_.slack : 0;
      REQUIRE(arm_.limits[joint].lowest - slack <= now.pulses[joint] && now.pulses[joint] <= arm_.limits[joint].highest + slack);
    }
  }
}

// Time passed: nothing goes on or off, nobody gains or loses a joint; owned joints move within their speed, no other does.
void Rig::require_frame_sound(const Outputs& before) const {
  const Outputs now = outputs();
  REQUIRE(now.live == before.live && now.owned == before.owned);
  for (uint8_t joint = 0; joint < arm_.config.joints; ++joint) {
    const int32_t step = distance(now.pulses[joint], before.pulses[joint]);
    const bool may_move = now.owned >> joint & 1 && (before.state == BoardState::MOVE || before.state == BoardState::BRAKE);
    REQUIRE(step <= (may_move ? arm_.limits[joint].speed : 0));
  }
}

// A byte came: no pulse moves, but for one that is adopted a step outside its limits.  A joint may have been switched off, or
// on where it was off.
void Rig::require_byte_sound(const Outputs& before) const {
  const Outputs now = outputs();
  for (uint8_t joint = 0; joint < arm_.config.joints; ++joint) {
    const bool was_live = before.live >> joint & 1, is_live = now.live >> joint & 1, is_owned = now.owned >> joint & 1;
    if (is_live && !was_live) REQUIRE(is_owned && firmware_.faults() == 0);
    if (is_live && was_live && now.pulses[joint] != before.pulses[joint]) {
      const picker::JointLimits& limits = arm_.limits[joint];
      REQUIRE(is_owned && distance(now.pulses[joint], before.pulses[joint]) <= arm_.slack);
      REQUIRE(now.pulses[joint] == limits.lowest || now.pulses[joint] == limits.highest);
    }
  }
}

void Rig::require_same(const Outputs& before) const {
  const Outputs now = outputs();
  REQUIRE(now.live == before.live && now.owned == before.owned);
  REQUIRE(memcmp(now.pulses, before.pulses, sizeof now.pulses) == 0);
}

void Rig::require_message_sound(const reference::Bytes& plain) const {
  REQUIRE(plain[0] == picker::PROTOCOL_VERSION);
  const size_t length = plain.size() - 4;
  switch (MessageType(plain[1])) {
    case MessageType::INFO:
      REQUIRE(length == 19 && plain[4 + 5] == arm_.config.joints && plain[4 + 8] == arm_.queue_capacity);
      return;
    case MessageType::ACK:
      REQUIRE(length == 7);
      return;
    case MessageType::NACK:
      REQUIRE(length == 6 && plain[4 + 3] != 0 && plain[4 + 3] <= uint8_t(picker::Reason::GAP));
      return;
    case MessageType::TELEMETRY: {
      size_t measured = 0;
      for (uint8_t bits = plain[4 + 30]; bits != 0; bits &= uint8_t(bits - 1)) ++measured;
      REQUIRE(length == 31 + 2 * (arm_.config.joints + measured));
      REQUIRE(plain[4 + 8] <= uint8_t(BoardState::BRAKE));
      REQUIRE(plain[4 + 14] <= arm_.queue_capacity);
      return;
    }
    default:
      REQUIRE(false);
  }
}

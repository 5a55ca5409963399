// One board under the fuzzer: it is fed bytes and time, and after every step what must never happen is looked for.
#pragma once

#include <string.h>

#include "../picker_firmware/src/core/firmware.h"
#include "../picker_firmware/src/core/gravity.h"
#include "input.h"
#include "reference.h"

struct Arm {
  picker::JointLimits limits[picker::JOINTS_MAX];
  picker::Config config;
  uint8_t queue_capacity;
  int32_t slack;  // a step of the output [1/8 us]

  explicit Arm(Input& input);
};

class Rig {
 public:
  Rig(const Arm& arm, Input& input);

  uint32_t now() const { return now_us_; }
  uint16_t sequence() const { return sequence_; }
  const picker::Firmware& firmware() const { return firmware_; }

  void set_sequence(uint16_t sequence) { sequence_ = sequence; }
  void send(uint8_t version, uint8_t type, const reference::Bytes& payload);
  void feed(const reference::Bytes& bytes);
  void advance(uint32_t duration_us);
  void set_cause(picker::Fault fault, bool present);
  void set_supply(uint16_t supply_mv);
  void set_feedback(uint8_t joint, uint16_t value);
  // It answers again: outputs in `lost` are off, the others as they were, to within a step of the output.
  void output_stage_returns(uint8_t lost, int8_t offset);
  void listen(size_t count);
  void let_bytes_be_lost(bool lost) { lossy_ = lost; }

 private:
  struct Outputs {
    uint16_t pulses[picker::JOINTS_MAX];
    uint8_t live, owned;
    picker::BoardState state;
  };

  Outputs outputs() const;
  void require_sound() const;
  void require_frame_sound(const Outputs& before) const;
  void require_byte_sound(const Outputs& before) const;
  void require_same(const Outputs& before) const;
  void require_message_sound(const reference::Bytes& plain) const;
  bool run_one();

  const Arm& arm_;
  picker::Firmware firmware_;
  uint32_t now_us_;
  uint16_t sequence_ = 0;
  bool lossy_ = false;
  bool came_back_ = false;  // the output stage did: pulses are what it can make, and may lie a step outside the limits
  reference::Bytes wire_;
};

#include "firmware.h"

#include "marker.h"
#include "time32.h"

namespace picker {

namespace {

constexpr uint8_t UNKNOWN = 0xFF;

// Bytes of the payload of a message to a board of `joints` joints; UNKNOWN for any other type.
uint8_t payload_size(uint8_t type, uint8_t joints) {
  switch (MessageType(type)) {
    case MessageType::HELLO:
    case MessageType::PING:
    case MessageType::STOP:
    case MessageType::HALT:
    case MessageType::RELAX:
    case MessageType::RESET:
      return 0;
    case MessageType::ADOPT:
    case MessageType::DISABLE:
      return 1;
    case MessageType::TELEMETRY_PERIOD:
      return 2;
    case MessageType::ENABLE:
      return uint8_t(1 + 2 * joints);
    case MessageType::SET_POINT:
      return uint8_t(4 + 2 * joints);
    default:
      return UNKNOWN;
  }
}

}  // namespace

void Firmware::begin(const Config& config, uint32_t now_us, uint16_t boot_id, const uint16_t* found_pulses,
                     uint8_t queue_capacity) {
  config_ = &config;
  boot_id_ = boot_id;
  period_us_ = PERIOD_DEFAULT_MS * 1000ul;
  next_frame_us_ = now_us + config.frame_us;
  next_telemetry_us_ = heard_us_ = now_us;
  motion_.begin(config, queue_capacity, now_us);
  motion_.found(found_pulses);
}

// -- time -----------------------------------------------------------------------------------------------

bool Firmware::frame_is_next() const { return ahead_us(next_telemetry_us_, next_frame_us_) >= 0; }

Firmware::Ran Firmware::run_due(uint32_t now_us) {
  if (ahead_us(next_due(), now_us) > 0) return Ran::NOTHING;
  if (frame_is_next()) {
    const uint32_t start_us = next_frame_us_;
    next_frame_us_ += config_->frame_us;
    PICKER_MARK(FRAME);
    servo_frame(start_us);
    PICKER_MARK(OTHER);
    return Ran::FRAME;
  }
  next_telemetry_us_ += period_us_;
  PICKER_MARK(TELEMETRY);
  send_telemetry(now_us);
  PICKER_MARK(OTHER);
  return Ran::TELEMETRY;
}

void Firmware::servo_frame(uint32_t start_us) {
  if (motion_.owned() != 0 && ahead_us(start_us, heard_us_) > int32_t(config_->host_timeout_ms * 1000ul)) {
    latch(Fault::HOST_LOST);
  }
  motion_.frame(start_us + config_->frame_us / 2);
}

// -- faults ---------------------------------------------------------------------------------------------

void Firmware::latch(Fault fault) {
  faults_ |= bit_of(fault);
  motion_.brake();
}

void Firmware::set_cause(Fault fault, bool present) {
  if (present) {
    causes_ |= bit_of(fault);
    latch(fault);
  } else {
    causes_ &= uint16_t(~bit_of(fault));
  }
}

void Firmware::set_supply(uint16_t supply_mv) {
  supply_mv_ = supply_mv;
  set_cause(Fault::SUPPLY_LOW, supply_mv != 0 && supply_mv < config_->supply_min_mv);
}

void Firmware::set_feedback(uint8_t joint, uint16_t value) {
  feedback_[joint] = value;
  feedback_mask_ |= uint8_t(1 << joint);
}

// -- from the host --------------------------------------------------------------------------------------

bool Firmware::receive(uint8_t byte, uint32_t now_us) {
  if (!reader_.take(byte)) return false;
  const Frame frame = reader_.frame();
  if (frame.version == PROTOCOL_VERSION) heard_us_ = now_us;
  while (run_due(now_us) != Ran::NOTHING) {
  }
  handle(frame, now_us);
  return true;
}

void Firmware::handle(const Frame& frame, uint32_t now_us) {
  if (frame.version != PROTOCOL_VERSION) {
    send_nack(frame, {Reason::OTHER_VERSION, PROTOCOL_VERSION}, Duty::DROPPABLE);
    return;
  }
  const uint8_t expected = payload_size(frame.type, config_->joints);
  const bool fits = expected == frame.length;
  if (fits && MessageType(frame.type) == MessageType::HELLO) {
    requests_.forget(frame.sequence);
    send_info(frame.sequence);
    return;
  }
  const uint16_t age = requests_.age_of(frame.sequence);
  if (MessageType(frame.type) == MessageType::SET_POINT) {
    handle_set_point(frame, now_us);
  } else if (!fits) {
    send_nack(frame, {expected == UNKNOWN ? Reason::UNKNOWN_TYPE : Reason::BAD_LENGTH, 0}, Duty::DROPPABLE);
  } else if (MessageType(frame.type) == MessageType::PING) {
    send_ack(frame, now_us);
  } else {
    handle_request(frame, age, now_us);
  }
}

void Firmware::handle_request(const Frame& frame, uint16_t age, uint32_t now_us) {
  Verdict verdict = {Reason::STALE, 0};
  if (!requests_.is_stale(age)) {
    if (!requests_.is_repeated(age)) requests_.remember(age, carry_out(frame, now_us));
    verdict = requests_.verdict();
  }
  if (verdict.reason == Reason::NONE) {
    send_ack(frame, now_us);
  } else {
    send_nack(frame, verdict, Duty::ANSWER);
  }
}

void Firmware::handle_set_point(const Frame& frame, uint32_t now_us) {
  Verdict verdict = {Reason::BAD_LENGTH, 0};
  if (frame.length == payload_size(frame.type, config_->joints)) {
    verdict = {Reason::FAULT, faults_};
    if (faults_ == 0) verdict = motion_.accept(read_u32(frame.payload), frame.payload + 4, now_us);
  }
  if (verdict.reason == Reason::NONE) {
    ++accepted_;
    last_sequence_ = frame.sequence;
  } else {
    ++rejected_;
    last_reason_ = verdict.reason;
    send_nack(frame, verdict, Duty::DROPPABLE);
  }
}

Verdict Firmware::carry_out(const Frame& frame, uint32_t now_us) {
  switch (MessageType(frame.type)) {
    case MessageType::STOP:
      latch(Fault::STOPPED);
      return CARRIED_OUT;
    case MessageType::HALT:
      motion_.brake();
      return CARRIED_OUT;
    case MessageType::RELAX:
      motion_.disable(0xFF);
      return CARRIED_OUT;
    case MessageType::RESET:
      return reset();
    case MessageType::TELEMETRY_PERIOD:
      return set_period(read_u16(frame.payload), now_us);
    default:
      return switch_outputs(frame);
  }
}

Verdict Firmware::switch_outputs(const Frame& frame) {
  const uint8_t mask = frame.payload[0];
  const uint8_t all = uint8_t((1u << config_->joints) - 1);
  if (mask == 0 || (mask & uint8_t(~all)) != 0) return {Reason::BAD_VALUE, mask};
  if (MessageType(frame.type) == MessageType::DISABLE) {
    motion_.disable(mask);
    return CARRIED_OUT;
  }
  if (faults_ != 0) return {Reason::FAULT, faults_};
  return MessageType(frame.type) == MessageType::ADOPT ? motion_.adopt(mask) : motion_.enable(mask, frame.payload + 1);
}

// A new period counts from the telemetry sent last; where it is over already, from now.
Verdict Firmware::set_period(uint16_t period_ms, uint32_t now_us) {
  if (period_ms < PERIOD_MIN_MS || period_ms > PERIOD_MAX_MS) return {Reason::BAD_VALUE, period_ms};
  next_telemetry_us_ -= period_us_;
  period_us_ = period_ms * 1000ul;
  next_telemetry_us_ += period_us_;
  if (ahead_us(next_telemetry_us_, now_us) < 0) next_telemetry_us_ = now_us;
  return CARRIED_OUT;
}

Verdict Firmware::reset() {
  faults_ &= causes_;
  if (faults_ != 0) return {Reason::FAULT_PERSISTS, faults_};
  return CARRIED_OUT;
}

// -- to the host ----------------------------------------------------------------------------------------

// What may be dropped leaves room for the longest answer, so that the host's next request need not wait.
bool Firmware::has_room(uint8_t payload, Duty duty) const {
  const uint8_t reserve = duty == Duty::DROPPABLE ? ANSWER_MAX : 0;
  return transmit_.free() >= payload + FRAME_OVERHEAD + reserve;
}

FrameWriter Firmware::frame_of(MessageType type) {
  return FrameWriter(transmit_, PROTOCOL_VERSION, uint8_t(type), sequence_++);
}

void Firmware::send_info(uint16_t request) {
  if (!has_room(INFO_SIZE, Duty::ANSWER)) return;
  FrameWriter out = frame_of(MessageType::INFO);
  out.u16(request).u8(FIRMWARE_VERSION[0]).u8(FIRMWARE_VERSION[1]).u8(FIRMWARE_VERSION[2]);
  out.u8(config_->joints).u16(boot_id_).u8(motion_.capacity()).u16(config_->frame_us).u16(config_->resolution_ns);
  out.u16(config_->host_timeout_ms).u16(config_->max_lead_ms).u16(config_->limits_crc);
  out.end();
}

void Firmware::send_ack(const Frame& frame, uint32_t now_us) {
  if (!has_room(ACK_SIZE, Duty::ANSWER)) return;
  FrameWriter out = frame_of(MessageType::ACK);
  out.u16(frame.sequence).u8(frame.type).u32(now_us);
  out.end();
}

void Firmware::send_nack(const Frame& frame, Verdict verdict, Duty duty) {
  if (!has_room(NACK_SIZE, duty)) return;
  FrameWriter out = frame_of(MessageType::NACK);
  out.u16(frame.sequence).u8(frame.type).u8(uint8_t(verdict.reason)).u16(verdict.detail);
  out.end();
}

void Firmware::send_telemetry(uint32_t now_us) {
  uint8_t measured = 0;
  for (uint8_t bits = feedback_mask_; bits != 0; bits &= uint8_t(bits - 1)) ++measured;
  if (!has_room(uint8_t(TELEMETRY_SIZE + 2 * (config_->joints + measured)), Duty::DROPPABLE)) return;

  FrameWriter out = frame_of(MessageType::TELEMETRY);
  out.u32(now_us).u16(boot_id_).u16(last_sequence_).u8(uint8_t(state())).u16(faults_);
  out.u8(motion_.live()).u8(motion_.owned()).u8(motion_.limited()).u8(motion_.queued());
  out.u16(motion_.behind_ms()).u16(accepted_).u16(rejected_).u8(uint8_t(last_reason_)).u16(reader_.bad_frames()).u16(requests_.missed());
  out.u16(motion_.underruns()).u16(supply_mv_).u8(feedback_mask_);
  for (uint8_t joint = 0; joint < config_->joints; ++joint) out.u16(pulses()[joint]);
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (feedback_mask_ >> joint & 1) out.u16(feedback_[joint]);
  }
  out.end();
}

}  // namespace picker

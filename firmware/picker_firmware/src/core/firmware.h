// The firmware of one board, without its hardware: bytes and time in, pulses and bytes out.
//
// docs/protocol.md says what it does.  Its owner calls run_due() as time passes, receive() for each byte that came, and
// brings to the outputs what pulses() and live() say.  Times are board time [us].
#pragma once

#include <stdint.h>

#include "config.h"
#include "frame_reader.h"
#include "frame_writer.h"
#include "output_motion.h"
#include "protocol.h"
#include "request_memory.h"
#include "transmit_buffer.h"

namespace picker {

class Firmware {
 public:
  // All zero, so that a static one needs neither code nor flash for its first values: begin() sets what is not zero.
  constexpr Firmware() {}

  // Call once, before anything else.  `found_pulses` are what the outputs do already, 0 where they are off.
  void begin(const Config& config, uint32_t now_us, uint16_t boot_id, const uint16_t* found_pulses,
             uint8_t queue_capacity = QUEUE_CAPACITY);

  // Run one servo frame or send one telemetry that is due at `now_us`; says which.
  enum class Ran : uint8_t { NOTHING, FRAME, TELEMETRY };
  Ran run_due(uint32_t now_us);
  uint32_t next_due() const { return frame_is_next() ? next_frame_us_ : next_telemetry_us_; }

  // Take one byte from the host; true where a frame was handled, so that the outputs may have changed.  The time counts for
  // a delimiter only.  Not to be called while ready() is false: an answer might find no room then.
  bool receive(uint8_t byte, uint32_t now_us);
  bool ready() const { return transmit_.free() >= ANSWER_MAX; }
  TransmitBuffer& transmit() { return transmit_; }

  const uint16_t* pulses() const { return motion_.pulses(); }
  uint8_t live() const { return motion_.live(); }
  uint8_t owned() const { return motion_.owned(); }
  uint8_t limited() const { return motion_.limited(); }
  BoardState state() const { return motion_.state(); }
  uint16_t faults() const { return faults_; }

  // The cause of a fault appears, which latches it, or goes, which leaves it latched.
  void set_cause(Fault fault, bool present);
  void latch(Fault fault);
  void set_supply(uint16_t supply_mv);
  void set_feedback(uint8_t joint, uint16_t value);

  // The output stage answers again: this is what it does now.
  void outputs_found(const uint16_t* pulses) { motion_.found(pulses); }

 private:
  static constexpr uint8_t INFO_SIZE = 19, ACK_SIZE = 7, NACK_SIZE = 6, TELEMETRY_SIZE = 31;
  static constexpr uint8_t ANSWER_MAX = INFO_SIZE + FRAME_OVERHEAD;

  enum class Duty : uint8_t { ANSWER, DROPPABLE };

  bool frame_is_next() const;
  void servo_frame(uint32_t start_us);
  void handle(const Frame& frame, uint32_t now_us);
  void handle_request(const Frame& frame, uint16_t age, uint32_t now_us);
  void handle_set_point(const Frame& frame, uint32_t now_us);
  Verdict carry_out(const Frame& frame, uint32_t now_us);
  Verdict switch_outputs(const Frame& frame);
  Verdict set_period(uint16_t period_ms, uint32_t now_us);
  Verdict reset();

  bool has_room(uint8_t payload, Duty duty) const;
  FrameWriter frame_of(MessageType type);
  void send_info(uint16_t request);
  void send_ack(const Frame& frame, uint32_t now_us);
  void send_nack(const Frame& frame, Verdict verdict, Duty duty);
  void send_telemetry(uint32_t now_us);

  const Config* config_ = nullptr;
  FrameReader reader_;
  TransmitBuffer transmit_;
  OutputMotion motion_;
  RequestMemory requests_;

  uint32_t next_frame_us_ = 0, next_telemetry_us_ = 0, period_us_ = 0;
  uint32_t heard_us_ = 0;  // when the last valid frame came
  uint16_t boot_id_ = 0;
  uint16_t sequence_ = 0;  // of the next frame to the host
  uint16_t faults_ = 0, causes_ = 0;
  uint16_t last_sequence_ = 0, accepted_ = 0, rejected_ = 0;
  Reason last_reason_ = Reason::NONE;
  uint16_t supply_mv_ = 0;
  uint8_t feedback_mask_ = 0;
  uint16_t feedback_[JOINTS_MAX] = {};
};

}  // namespace picker

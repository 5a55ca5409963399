// The outputs from servo frame to servo frame: follow the queue, brake, hold, within the limits.
//
// Pulses in 1/8 us, speeds in 1/8 us per servo frame.
#pragma once

#include <stdint.h>

#include "config.h"
#include "protocol.h"
#include "setpoint_queue.h"

namespace picker {

class OutputMotion {
 public:
  constexpr OutputMotion() {}
  void begin(const Config& config, uint8_t queue_capacity, uint32_t now_us);

  // What the output stage really does: these pulses, 0 where an output is off.  At boot, before anything else, and whenever
  // it answers again.
  void found(const uint16_t* pulses);

  const uint16_t* pulses() const { return pulses_; }
  uint8_t live() const { return live_; }
  uint8_t owned() const { return owned_; }
  uint8_t limited() const { return limited_; }
  uint16_t underruns() const { return underruns_; }
  uint8_t queued() const { return queue_.size(); }
  uint16_t behind_ms() const;  // how far behind its time the queue is played
  uint8_t capacity() const { return queue_.capacity(); }
  BoardState state() const { return owned_ == 0 ? BoardState::IDLE : motion_; }

  // `pulses` are the bytes of the message.
  Verdict enable(uint8_t mask, const uint8_t* pulses);
  Verdict adopt(uint8_t mask);
  void disable(uint8_t mask);
  Verdict accept(uint32_t time_us, const uint8_t* pulses, uint32_t now_us);

  // Flush the queue and decelerate from the next frame on.
  void brake();

  // One servo frame; `at_us` is the middle of it.
  void frame(uint32_t at_us);

 private:
  void begin_anew(uint32_t time_us);
  void follow();
  void play();
  void play_until(uint32_t time_us);
  void slow_down();
  void decelerate(uint8_t joint);
  bool compensate();
  void hold();

  bool follows(const Point& before, const Point& point) const;
  bool stands(const Point& before, const Point& point) const;
  uint8_t away(const Point& point) const;
  int32_t longest_us() const { return int32_t(config_->host_timeout_ms * 1000ul); }
  uint16_t adopt_slack() const;
  bool is_within(uint8_t joint, uint16_t pulse, uint16_t slack) const;
  int16_t within_limits(uint8_t joint, uint16_t pulse, int16_t step) const;

  const Config* config_ = nullptr;
  SetPointQueue queue_;
  uint16_t pulses_[JOINTS_MAX] = {};
  int16_t speed_[JOINTS_MAX] = {};
  uint16_t brake_start_[JOINTS_MAX] = {};  // the outputs when braking began, compensated by the host
  uint16_t braked_[JOINTS_MAX] = {};       // from there, without the difference that gravity makes
  uint32_t frame_at_us_ = 0;               // middle of the last servo frame
  uint32_t played_us_ = 0;                 // up to which the queue is played: behind that where points came late
  uint16_t rate_ = 0;                      // at which time is played
  bool chained_ = false;                  // a point may follow the anchor: outputs were not moved otherwise since
  bool ends_at_rest_ = false;              // the point accepted last repeats the pulses of the one before it
  uint8_t live_ = 0, owned_ = 0, limited_ = 0;
  BoardState motion_ = BoardState::IDLE;  // HOLD, MOVE or BRAKE from begin() on
  uint16_t underruns_ = 0;
};

}  // namespace picker

// Time-stamped set-points and the line between them.
#pragma once

#include <stdint.h>

#include "config.h"
#include "protocol.h"

namespace picker {

struct Point {
  uint32_t time_us;
  uint16_t pulses[JOINTS_MAX];
};

// The fraction of the way from one time to another, in 1/65536, truncated; start <= at <= end.
uint32_t fraction_of(uint32_t start_us, uint32_t end_us, uint32_t at_us);

// The pulse at that fraction of the way, rounded to nearest; both pulses at most PULSE_MAX.
uint16_t pulse_between(uint16_t start, uint16_t end, uint32_t fraction);

// Points in the order of their times, and the anchor: the point passed last, where the line starts.
class SetPointQueue {
 public:
  constexpr SetPointQueue() {}
  void begin(uint8_t joints, uint8_t capacity) {
    joints_ = joints;
    capacity_ = capacity;
  }

  uint8_t size() const { return size_; }
  uint8_t capacity() const { return capacity_; }
  bool ends_at_rest() const { return ends_at_rest_; }
  const Point& anchor() const { return anchor_; }
  const Point& coming() const { return points_[first_]; }

  void clear() { size_ = 0; }
  void set_anchor_time(uint32_t time_us) { anchor_.time_us = time_us; }
  void set_anchor(uint32_t time_us, const uint16_t* pulses);

  // Why a point at `time_us` cannot be taken; NONE where it can.
  Reason refusal(uint32_t time_us, uint32_t now_us, uint32_t played_us, uint32_t max_lead_us) const;

  // Append a point for which refusal() had nothing to say; `pulses` are the bytes of the message.
  void push(uint32_t time_us, const uint8_t* pulses);

  // Take out the points that lie at or before `at_us`; the last of them becomes the anchor.
  void pass_until(uint32_t at_us, uint8_t owned);

 private:
  uint8_t index(uint8_t place) const;
  bool repeats_anchor(const Point& point, uint8_t owned) const;

  Point anchor_ = {};
  Point points_[QUEUE_CAPACITY] = {};
  uint8_t joints_ = 0, capacity_ = 0;
  uint8_t first_ = 0, size_ = 0;
  bool ends_at_rest_ = false;
};

}  // namespace picker

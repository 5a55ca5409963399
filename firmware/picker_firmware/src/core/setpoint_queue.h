// Time-stamped set-points and the line between them.
#pragma once

#include <stdint.h>

#include "config.h"

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
  const Point& anchor() const { return anchor_; }
  const Point& coming() const { return points_[first_]; }
  const Point& newest() const { return size_ == 0 ? anchor_ : points_[index(uint8_t(size_ - 1))]; }

  void clear() { size_ = 0; }
  void set_anchor(uint32_t time_us, const uint16_t* pulses);

  // Append a point; only where size() is below capacity().
  void push(const Point& point);

  // Take out the points that lie at or before `at_us`; the last of them becomes the anchor.
  void pass_until(uint32_t at_us);

 private:
  uint8_t index(uint8_t place) const;

  Point anchor_ = {};
  Point points_[QUEUE_CAPACITY] = {};
  uint8_t joints_ = 0, capacity_ = 0;
  uint8_t first_ = 0, size_ = 0;
};

}  // namespace picker

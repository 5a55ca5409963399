#include "setpoint_queue.h"

#include "time32.h"

namespace picker {

uint32_t fraction_of(uint32_t start_us, uint32_t end_us, uint32_t at_us) {
  uint32_t span = end_us - start_us, elapsed = at_us - start_us;
  while (span > 0xFFFF) {  // so that the shift below fits
    span >>= 1;
    elapsed >>= 1;
  }
  return (elapsed << 16) / span;
}

uint16_t pulse_between(uint16_t start, uint16_t end, uint32_t fraction) {
  const int32_t way = int32_t(end) - int32_t(start);  // 16 bits with its sign, times 17 bits: at most 2^31 - 2^16
  return uint16_t(start + int16_t((way * int32_t(fraction) + 0x8000) >> 16));
}

void SetPointQueue::set_anchor(uint32_t time_us, const uint16_t* pulses) {
  anchor_.time_us = time_us;
  for (uint8_t joint = 0; joint < joints_; ++joint) anchor_.pulses[joint] = pulses[joint];
}

void SetPointQueue::push(const Point& point) {
  points_[index(size_)] = point;
  ++size_;
}

void SetPointQueue::pass_until(uint32_t at_us) {
  while (size_ != 0 && ahead_us(points_[first_].time_us, at_us) <= 0) {
    anchor_ = points_[first_];
    first_ = index(1);
    --size_;
  }
}

uint8_t SetPointQueue::index(uint8_t place) const {
  const uint8_t at = uint8_t(first_ + place);
  return at < QUEUE_CAPACITY ? at : uint8_t(at - QUEUE_CAPACITY);
}

}  // namespace picker

#include "setpoint_queue.h"

#include "frame_reader.h"
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

Reason SetPointQueue::refusal(uint32_t time_us, uint32_t now_us, uint32_t played_us, uint32_t max_lead_us) const {
  if (ahead_us(time_us, now_us) > int32_t(max_lead_us)) return Reason::TOO_FAR;
  if (ahead_us(time_us, played_us) <= 0) return Reason::PAST;
  if (size_ != 0 && ahead_us(time_us, points_[index(uint8_t(size_ - 1))].time_us) <= 0) return Reason::NOT_LATER;
  if (size_ >= capacity_) return Reason::QUEUE_FULL;
  return Reason::NONE;
}

void SetPointQueue::push(uint32_t time_us, const uint8_t* pulses) {
  Point& point = points_[index(size_)];
  point.time_us = time_us;
  for (uint8_t joint = 0; joint < joints_; ++joint) point.pulses[joint] = read_u16(pulses + 2 * joint);
  ++size_;
}

void SetPointQueue::pass_until(uint32_t at_us, uint8_t owned) {
  while (size_ != 0 && ahead_us(points_[first_].time_us, at_us) <= 0) {
    const Point& passed = points_[first_];
    ends_at_rest_ = repeats_anchor(passed, owned);
    anchor_ = passed;
    first_ = index(1);
    --size_;
  }
}

uint8_t SetPointQueue::index(uint8_t place) const {
  const uint8_t at = uint8_t(first_ + place);
  return at < QUEUE_CAPACITY ? at : uint8_t(at - QUEUE_CAPACITY);
}

bool SetPointQueue::repeats_anchor(const Point& point, uint8_t owned) const {
  for (uint8_t joint = 0; joint < joints_; ++joint) {
    if ((owned >> joint & 1) && point.pulses[joint] != anchor_.pulses[joint]) return false;
  }
  return true;
}

}  // namespace picker

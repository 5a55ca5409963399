#include "output_motion.h"

#include "frame_reader.h"
#include "gravity.h"
#include "marker.h"
#include "time32.h"

namespace picker {

namespace {

// With less than this queued of a way that does not end at rest, play slows down in proportion [us]: outputs come to rest on
// their way, whenever points stop coming.  With no more than NEARLY_US left, the way is gone to its end.
constexpr int32_t SLOW_US = 40000, NEARLY_US = 2000;

// Rate at which time is played as fast as it passes, and in which it comes up to that from standstill [us].
constexpr uint16_t FULL_RATE = 256;
constexpr uint32_t RAMP_US = 500000;

// Outputs that stand may begin anew at a point that is as near as this share of what they may move in a frame.
constexpr uint8_t NEAR = 4;

// Pulses have 15 bits, so all that is added to them and subtracted fits 16 with a sign: 32 would cost an AVR dearly.
int16_t clip(int16_t value, int16_t lowest, int16_t highest) {
  return value < lowest ? lowest : value > highest ? highest : value;
}

int16_t clip(int16_t value, int16_t bound) { return clip(value, int16_t(-bound), bound); }

int16_t way(uint16_t from, uint16_t to) { return int16_t(to - from); }

int16_t magnitude(int16_t value) { return value < 0 ? int16_t(-value) : value; }

// Joints of the arm whose bit is set in a mask.
bool has(uint8_t mask, uint8_t joint) { return mask >> joint & 1; }

}  // namespace

void OutputMotion::begin(const Config& config, uint8_t queue_capacity, uint32_t now_us) {
  config_ = &config;
  queue_.begin(config.joints, queue_capacity);
  frame_at_us_ = played_us_ = now_us;
}

void OutputMotion::found(const uint16_t* pulses) {
  live_ = 0;
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    const uint8_t bit = uint8_t(1 << joint);
    pulses_[joint] = pulses[joint];
    if (pulses[joint] != 0) live_ |= bit;
    if (!is_within(joint, pulses[joint], adopt_slack())) owned_ &= uint8_t(~bit);  // as for ADOPT: nobody drives it from there
  }
  owned_ &= live_;
  queue_.clear();
  chained_ = false;
  hold();
}

// -- outputs on and off ---------------------------------------------------------------------------------

Verdict OutputMotion::enable(uint8_t mask, const uint8_t* pulses) {
  if (motion_ != BoardState::HOLD) return {Reason::BUSY, 0};
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (!has(mask, joint)) continue;
    if (has(live_, joint)) return {Reason::ALREADY_LIVE, joint};
    if (!is_within(joint, read_u16(pulses + 2 * joint), 0)) return {Reason::OUT_OF_LIMITS, joint};
  }
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (has(mask, joint)) pulses_[joint] = read_u16(pulses + 2 * joint);
  }
  live_ |= mask;
  owned_ |= mask;
  chained_ = false;
  return CARRIED_OUT;
}

Verdict OutputMotion::adopt(uint8_t mask) {
  if (motion_ != BoardState::HOLD) return {Reason::BUSY, 0};
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (!has(mask, joint)) continue;
    if (!has(live_, joint)) return {Reason::NOT_LIVE, joint};
    if (!is_within(joint, pulses_[joint], adopt_slack())) return {Reason::OUT_OF_LIMITS, joint};
  }
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (has(mask, joint)) pulses_[joint] = uint16_t(pulses_[joint] + within_limits(joint, pulses_[joint], 0));
  }
  owned_ |= mask;
  chained_ = false;
  return CARRIED_OUT;
}

void OutputMotion::disable(uint8_t mask) {
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (has(mask, joint)) pulses_[joint] = 0, speed_[joint] = 0;
  }
  live_ &= uint8_t(~mask);
  owned_ &= uint8_t(~mask);
  if (owned_ == 0) {
    queue_.clear();
    motion_ = BoardState::HOLD;
  }
}

// -- motion ---------------------------------------------------------------------------------------------

Verdict OutputMotion::accept(uint32_t time_us, const uint8_t* pulses, uint32_t now_us) {
  if (owned_ == 0) return {Reason::NOT_ENABLED, 0};
  Point point = {};
  point.time_us = time_us;
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    point.pulses[joint] = read_u16(pulses + 2 * joint);
    if (has(owned_, joint) && !is_within(joint, point.pulses[joint], 0)) return {Reason::OUT_OF_LIMITS, joint};
  }
  const int32_t lead_us = ahead_us(time_us, now_us);
  if (lead_us > int32_t(config_->max_lead_ms * 1000ul)) return {Reason::TOO_FAR, 0};
  if (lead_us < -longest_us()) return {Reason::PAST, 0};
  if (motion_ == BoardState::BRAKE) return {Reason::BUSY, 0};
  const bool first = queue_.size() == 0;
  const Point& before = queue_.newest();
  if (chained_ && ahead_us(time_us, before.time_us) <= 0) return {first ? Reason::PAST : Reason::NOT_LATER, 0};
  const bool follows = chained_ && this->follows(before, point);
  if (first) {
    const uint8_t far = away(point);
    const bool near = far == config_->joints;
    if (!near && !follows) return {Reason::GAP, far};
    if (near && (ends_at_rest_ || !follows)) begin_anew(time_us);
  } else {
    if (!follows) return {Reason::GAP, 0};
    if (queue_.size() >= queue_.capacity()) return {Reason::QUEUE_FULL, 0};
  }
  motion_ = BoardState::MOVE;
  ends_at_rest_ = stands(before, point);
  queue_.push(point);
  return CARRIED_OUT;
}

// Let the way begin where the outputs are: at a point a frame ahead or more from now on, at one that comes late as much before.
void OutputMotion::begin_anew(uint32_t time_us) {
  const int32_t late_us = int32_t(config_->frame_us) - ahead_us(time_us, frame_at_us_);
  played_us_ = late_us > 0 ? frame_at_us_ - uint32_t(late_us) : frame_at_us_;
  queue_.set_anchor(played_us_, pulses_);
  chained_ = true;
  rate_ = FULL_RATE;
}

void OutputMotion::brake() {
  queue_.clear();
  chained_ = false;
  if (motion_ != BoardState::MOVE) return;
  motion_ = BoardState::BRAKE;
  for (uint8_t joint = 0; joint < config_->joints; ++joint) brake_start_[joint] = braked_[joint] = pulses_[joint];
}

void OutputMotion::frame(uint32_t at_us) {
  limited_ = 0;
  frame_at_us_ = at_us;
  if (motion_ == BoardState::MOVE) {
    follow();
  } else if (motion_ == BoardState::BRAKE) {
    slow_down();
  } else if (ahead_us(at_us, queue_.anchor().time_us) > longest_us()) {
    chained_ = false;  // what comes now follows nothing
  }
}

void OutputMotion::follow() {
  play();
  const bool last = queue_.size() == 0;
  const Point& anchor = queue_.anchor();
  const Point& coming = last ? anchor : queue_.coming();
  const uint32_t fraction = last ? 0 : fraction_of(anchor.time_us, coming.time_us, played_us_);
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (!has(owned_, joint)) continue;
    const uint16_t target = pulse_between(anchor.pulses[joint], coming.pulses[joint], fraction);
    speed_[joint] = clip(way(pulses_[joint], target), int16_t(config_->limits[joint].speed));
    pulses_[joint] = uint16_t(pulses_[joint] + speed_[joint]);
    if (pulses_[joint] != target) limited_ |= uint8_t(1 << joint);
  }
  if (last && limited_ == 0) {
    if (!ends_at_rest_) ++underruns_;
    rate_ = ends_at_rest_ ? FULL_RATE : 0;
    hold();
  }
}

// Go on in the queue by a frame: no faster than time passes, slower where little is left, at once where nothing moves.
void OutputMotion::play() {
  const uint16_t frame_us = config_->frame_us;
  const int32_t left_us = ahead_us(queue_.newest().time_us, played_us_);
  rate_ = uint16_t(rate_ + uint32_t(frame_us) * FULL_RATE / RAMP_US);
  uint16_t most = FULL_RATE;
  if (!ends_at_rest_ && left_us < SLOW_US) most = uint16_t(uint32_t(left_us) * FULL_RATE / SLOW_US);
  if (rate_ > most) rate_ = most;
  const int32_t step_us = int32_t(uint32_t(frame_us) * rate_ / FULL_RATE);
  play_until(played_us_ + uint32_t(left_us <= NEARLY_US || left_us < step_us ? left_us : step_us));
  while (queue_.size() != 0 && ahead_us(frame_at_us_, played_us_) > 0 && stands(queue_.anchor(), queue_.coming())) {
    const uint32_t end_us = queue_.coming().time_us;
    play_until(ahead_us(frame_at_us_, end_us) > 0 ? end_us : frame_at_us_);
  }
}

void OutputMotion::play_until(uint32_t time_us) {
  played_us_ = time_us;
  queue_.pass_until(time_us);
}

uint16_t OutputMotion::behind_ms() const {
  if (queue_.size() == 0 && (!chained_ || ends_at_rest_)) return 0;
  const uint32_t behind = (frame_at_us_ - played_us_) / 1000;
  return behind < 0xFFFF ? uint16_t(behind) : 0xFFFF;
}

// Whether no set-point is missing between two in which the outputs move.
bool OutputMotion::follows(const Point& before, const Point& point) const {
  return ahead_us(point.time_us, before.time_us) <= longest_us() || stands(before, point);
}

bool OutputMotion::stands(const Point& before, const Point& point) const {
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (has(owned_, joint) && before.pulses[joint] != point.pulses[joint]) return false;
  }
  return true;
}

// The first joint whose output is not near a point; the number of joints where all are.
uint8_t OutputMotion::away(const Point& point) const {
  uint8_t joint = 0;
  for (; joint < config_->joints; ++joint) {
    const uint16_t nearest = uint16_t(config_->limits[joint].speed / NEAR);
    if (has(owned_, joint) && magnitude(way(pulses_[joint], point.pulses[joint])) > int16_t(nearest)) break;
  }
  return joint;
}

void OutputMotion::slow_down() {
  bool stands = true;
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (!has(owned_, joint)) continue;
    decelerate(joint);
    if (speed_[joint] != 0) stands = false;
  }
  if (compensate() && stands) hold();
}

// One frame of one joint: its speed goes towards 0.
void OutputMotion::decelerate(uint8_t joint) {
  const int16_t speed = int16_t(speed_[joint] - clip(speed_[joint], int16_t(config_->limits[joint].brake)));
  const int16_t allowed = within_limits(joint, braked_[joint], speed);
  braked_[joint] = uint16_t(braked_[joint] + allowed);
  speed_[joint] = allowed == speed ? speed : 0;
}

// Bring the outputs to the braked pulses, plus what gravity changes on the way; true where they are there.
bool OutputMotion::compensate() {
  int16_t change[JOINTS_MAX] = {};
  if (config_->gravity != nullptr && live_ == uint8_t((1u << config_->joints) - 1)) {  // else the pose is not known
    PICKER_MARK(GRAVITY);
    gravity_difference(*config_->gravity, brake_start_, braked_, change);
    PICKER_MARK(FRAME);
  }
  bool arrived = true;
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (!has(owned_, joint)) continue;
    const uint16_t target = uint16_t(braked_[joint] + within_limits(joint, braked_[joint], change[joint]));
    pulses_[joint] = uint16_t(pulses_[joint] + clip(way(pulses_[joint], target), int16_t(config_->limits[joint].speed)));
    if (pulses_[joint] != target) arrived = false;
  }
  return arrived;
}

// -- helpers --------------------------------------------------------------------------------------------

void OutputMotion::hold() {
  for (uint8_t joint = 0; joint < config_->joints; ++joint) speed_[joint] = 0;
  motion_ = BoardState::HOLD;
}

uint16_t OutputMotion::adopt_slack() const {
  return uint16_t((config_->resolution_ns + 124) / 125);  // a coarse output cannot hold a limit exactly
}

bool OutputMotion::is_within(uint8_t joint, uint16_t pulse, uint16_t slack) const {
  const JointLimits& limits = config_->limits[joint];
  return pulse >= uint16_t(limits.lowest - (slack < limits.lowest ? slack : limits.lowest)) && pulse <= limits.highest + slack;
}

// How much of a step from `pulse` leads no further than to the joint's limits, or back to them.
int16_t OutputMotion::within_limits(uint8_t joint, uint16_t pulse, int16_t step) const {
  const JointLimits& limits = config_->limits[joint];
  return clip(step, way(pulse, limits.lowest), way(pulse, limits.highest));
}

}  // namespace picker

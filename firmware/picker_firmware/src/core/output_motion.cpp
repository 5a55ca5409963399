#include "output_motion.h"

#include "frame_reader.h"
#include "gravity.h"
#include "marker.h"

namespace picker {

namespace {

// A joint that moves by no more than this per frame [1/8 us] stands: 1 us is below any deadband.
constexpr int16_t STILL = 8;

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
  played_us_ = now_us;
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
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (has(owned_, joint) && !is_within(joint, read_u16(pulses + 2 * joint), 0)) return {Reason::OUT_OF_LIMITS, joint};
  }
  const Reason reason = queue_.refusal(time_us, now_us, played_us_, config_->max_lead_ms * 1000ul);
  if (reason != Reason::NONE) return {reason, 0};
  if (queue_.size() == 0) {  // the line starts where the arm is, or, if it lags, where it shall be
    if (motion_ == BoardState::MOVE) {
      queue_.set_anchor_time(played_us_);
    } else {
      queue_.set_anchor(played_us_, pulses_);
    }
    motion_ = BoardState::MOVE;
  }
  queue_.push(time_us, pulses);
  return CARRIED_OUT;
}

void OutputMotion::brake() {
  queue_.clear();
  if (motion_ == BoardState::MOVE) start_braking();
}

void OutputMotion::start_braking() {
  motion_ = BoardState::BRAKE;
  for (uint8_t joint = 0; joint < config_->joints; ++joint) brake_start_[joint] = braked_[joint] = pulses_[joint];
}

void OutputMotion::frame(uint32_t at_us) {
  limited_ = 0;
  played_us_ = at_us;
  if (owned_ == 0) return;
  if (motion_ == BoardState::MOVE) {
    follow(at_us);
  } else if (motion_ == BoardState::BRAKE) {
    slow_down(Goal::STANDSTILL);
  }
}

void OutputMotion::follow(uint32_t at_us) {
  queue_.pass_until(at_us, owned_);
  const bool last = queue_.size() == 0;
  if (last && !queue_.ends_at_rest() && moves()) {
    ++underruns_;
    start_braking();
    slow_down(Goal::ANCHOR);
    return;
  }
  const Point& anchor = queue_.anchor();
  const Point& coming = last ? anchor : queue_.coming();
  const uint32_t fraction = last ? 0 : fraction_of(anchor.time_us, coming.time_us, at_us);
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (!has(owned_, joint)) continue;
    const uint16_t target = pulse_between(anchor.pulses[joint], coming.pulses[joint], fraction);
    speed_[joint] = clip(way(pulses_[joint], target), int16_t(config_->limits[joint].speed));
    pulses_[joint] = uint16_t(pulses_[joint] + speed_[joint]);
    if (pulses_[joint] != target) limited_ |= uint8_t(1 << joint);
  }
  if (last && limited_ == 0) hold();
}

void OutputMotion::slow_down(Goal goal) {
  bool stands = true;
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (!has(owned_, joint)) continue;
    decelerate(joint, goal);
    if (speed_[joint] != 0) stands = false;
  }
  if (compensate() && stands) hold();
}

// One frame of one joint: its speed goes towards 0; a longer way in that direction is gone as far as the limit allows.
void OutputMotion::decelerate(uint8_t joint, Goal goal) {
  const JointLimits& limits = config_->limits[joint];
  const int16_t speed = int16_t(speed_[joint] - clip(speed_[joint], int16_t(limits.brake)));
  int16_t step = speed;
  if (goal == Goal::ANCHOR) {
    const int16_t rest = way(braked_[joint], queue_.anchor().pulses[joint]);
    const bool against = (rest < 0 && speed > 0) || (rest > 0 && speed < 0);
    if (!against && magnitude(rest) > magnitude(speed)) step = rest;
  }
  step = clip(step, int16_t(limits.speed));
  const int16_t allowed = within_limits(joint, braked_[joint], step);
  braked_[joint] = uint16_t(braked_[joint] + allowed);
  speed_[joint] = allowed == step ? speed : 0;
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

bool OutputMotion::moves() const {
  for (uint8_t joint = 0; joint < config_->joints; ++joint) {
    if (has(owned_, joint) && magnitude(speed_[joint]) > STILL) return true;
  }
  return false;
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

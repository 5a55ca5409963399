#include "picker_core.h"

#include <vector>

#include "arm_config.h"
#include "src/core/crc16.h"
#include "src/core/firmware.h"
#include "src/core/gravity.h"
#include "src/core/time32.h"

using namespace picker;

struct picker_board {
  JointLimits limits[JOINTS_MAX];
  Config config;
  Firmware firmware;
  bool small_transmit;
  std::vector<uint8_t> sent;

  // The board's buffer is for what a wire carries off while it is being filled; a host that is slower than that has this one.
  void carry_off() {
    while (!small_transmit && !firmware.transmit().empty()) sent.push_back(firmware.transmit().pop());
  }
};

picker_board* picker_create(const picker_settings* settings) {
  if (settings->joints < 1 || settings->joints > JOINTS_MAX || settings->queue_capacity > QUEUE_CAPACITY) return nullptr;
  picker_board* board = new picker_board();
  for (uint8_t joint = 0; joint < settings->joints; ++joint) {
    const uint16_t* four = settings->limits[joint];
    board->limits[joint] = {four[0], four[1], four[2], four[3]};
  }
  board->config = {settings->joints, board->limits, settings->limits_crc, settings->resolution_ns, settings->frame_us,
                   settings->host_timeout_ms, settings->max_lead_ms, settings->supply_min_mv,
                   settings->gravity ? arm_config::CONFIG.gravity : nullptr};
  board->small_transmit = settings->small_transmit != 0;
  board->firmware.begin(board->config, settings->start_time_us, settings->boot_id, settings->found, settings->queue_capacity);
  return board;
}

void picker_destroy(picker_board* board) { delete board; }

void picker_advance(picker_board* board, uint32_t now_us) {
  while (ahead_us(board->firmware.next_due(), now_us) <= 0) {
    board->firmware.run_due(board->firmware.next_due());
    board->carry_off();
  }
}

size_t picker_receive(picker_board* board, const uint8_t* data, size_t count, uint32_t now_us) {
  picker_advance(board, now_us);
  size_t taken = 0;
  while (taken < count && board->firmware.ready()) {
    board->firmware.receive(data[taken++], now_us);
    board->carry_off();
  }
  return taken;
}

size_t picker_transmit(picker_board* board, uint8_t* data, size_t room) {
  size_t count = 0;
  if (board->small_transmit) {
    TransmitBuffer& waiting = board->firmware.transmit();
    while (count < room && !waiting.empty()) data[count++] = waiting.pop();
    return count;
  }
  while (count < room && count < board->sent.size()) {
    data[count] = board->sent[count];
    ++count;
  }
  board->sent.erase(board->sent.begin(), board->sent.begin() + static_cast<long>(count));
  return count;
}

void picker_look(const picker_board* board, picker_view* view) {
  const Firmware& firmware = board->firmware;
  for (uint8_t joint = 0; joint < JOINTS_MAX; ++joint) {
    view->pulses[joint] = joint < board->config.joints ? firmware.pulses()[joint] : uint16_t(0);
  }
  view->faults = firmware.faults();
  view->state = uint8_t(firmware.state());
  view->live = firmware.live();
  view->owned = firmware.owned();
  view->limited = firmware.limited();
}

void picker_set_cause(picker_board* board, uint8_t fault, int present) {
  board->firmware.set_cause(Fault(fault), present != 0);
}

void picker_latch(picker_board* board, uint8_t fault) { board->firmware.latch(Fault(fault)); }

void picker_set_supply(picker_board* board, uint16_t supply_mv) { board->firmware.set_supply(supply_mv); }

void picker_set_feedback(picker_board* board, uint8_t joint, uint16_t value) {
  board->firmware.set_feedback(joint, value);
}

void picker_outputs_found(picker_board* board, const uint16_t* pulses) { board->firmware.outputs_found(pulses); }

uint16_t picker_crc16(const uint8_t* data, size_t count) {
  uint16_t crc = CRC_START;
  for (size_t i = 0; i < count; ++i) crc = crc16_update(crc, data[i]);
  return crc;
}

uint16_t picker_interpolate(uint32_t start_us, uint16_t start, uint32_t end_us, uint16_t end, uint32_t at_us) {
  return pulse_between(start, end, fraction_of(start_us, end_us, at_us));
}

size_t picker_encode(uint8_t version, uint8_t type, uint16_t sequence, const uint8_t* payload, size_t count, uint8_t* wire) {
  TransmitBuffer out;
  FrameWriter writer(out, version, type, sequence);
  for (size_t i = 0; i < count; ++i) writer.u8(payload[i]);
  writer.end();
  size_t length = 0;
  while (!out.empty()) wire[length++] = out.pop();
  return length;
}

size_t picker_decode(const uint8_t* wire, size_t count, uint8_t* body, uint8_t* length, uint16_t* bad) {
  FrameReader reader;
  size_t frames = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!reader.take(wire[i])) continue;
    ++frames;
    const Frame frame = reader.frame();
    body[0] = frame.version;
    body[1] = frame.type;
    body[2] = uint8_t(frame.sequence);
    body[3] = uint8_t(frame.sequence >> 8);
    for (uint8_t at = 0; at < frame.length && at < FrameReader::PAYLOAD_KEPT; ++at) body[HEADER_SIZE + at] = frame.payload[at];
    *length = frame.length;
  }
  *bad = reader.bad_frames();
  return frames;
}

uint8_t picker_gravity_joints(void) {
  const Config& arm = arm_config::CONFIG;
  return arm.gravity == nullptr ? uint8_t(0) : arm.joints;
}

void picker_gravity_torque(const float* q, float* torque) { gravity_torque(*arm_config::CONFIG.gravity, q, torque); }

void picker_gravity_difference(const uint16_t* from, const uint16_t* to, int16_t* change) {
  gravity_difference(*arm_config::CONFIG.gravity, from, to, change);
}

// What the tests in Python do not reach: the parts by themselves, and what the simulated firmware in Python does not have.
// (Protocol and motion are compared with Python frame by frame.)

#include "arm_config.h"
#include "check.h"
#include "src/core/firmware.h"
#include "src/core/gravity.h"

using namespace picker;

namespace {

constexpr uint16_t SPEED = 400, BRAKE = 40;
const JointLimits LIMITS[5] = {
    {4000, 20000, SPEED, BRAKE}, {4000, 20000, SPEED, BRAKE}, {4000, 20000, SPEED, BRAKE},
    {4000, 20000, SPEED, BRAKE}, {4000, 20000, SPEED, BRAKE}};
const uint16_t ALL_OFF[5] = {};

Config config_of(uint8_t joints, const GravityModel* gravity = nullptr) {
  return {joints, LIMITS, 0, 4883, 20000, 250, 2000, 0, gravity};
}

// A host: writes frames as the board does, and carries off what the board sends.
struct Bench {
  Config config;
  Firmware firmware;
  TransmitBuffer wire;
  uint16_t sequence = 0;
  uint32_t now_us = 0;

  explicit Bench(const Config& what, const uint16_t* found = ALL_OFF) : config(what) { firmware.begin(config, 0, 1, found); }

  FrameWriter frame(MessageType type) { return FrameWriter(wire, PROTOCOL_VERSION, uint8_t(type), sequence++); }

  void deliver() {
    while (!wire.empty()) firmware.receive(wire.pop(), now_us);
  }

  void request(MessageType type) {
    frame(type).end();
    deliver();
  }

  void enable_all(uint16_t pulse) {
    FrameWriter out = frame(MessageType::ENABLE);
    out.u8(uint8_t((1 << config.joints) - 1));
    for (uint8_t joint = 0; joint < config.joints; ++joint) out.u16(pulse);
    out.end();
    deliver();
  }

  void set_point(uint32_t time_us, uint16_t pulse) {
    FrameWriter out = frame(MessageType::SET_POINT);
    out.u32(time_us);
    for (uint8_t joint = 0; joint < config.joints; ++joint) out.u16(pulse);
    out.end();
    deliver();
  }

  size_t fetch() {
    size_t count = 0;
    for (; !firmware.transmit().empty(); ++count) firmware.transmit().pop();
    return count;
  }

  void run_frame() {
    now_us += 20000;
    while (firmware.run_due(now_us) != Firmware::Ran::NOTHING) fetch();
  }
};

void reader_finds_back_after_every_cut() {
  TransmitBuffer wire;
  uint8_t bytes[64];
  uint8_t count = 0;
  FrameWriter(wire, PROTOCOL_VERSION, 6, 300).u32(0).u16(12000).u16(0).end();
  while (!wire.empty()) bytes[count++] = wire.pop();
  for (uint8_t cut = 1; cut < count - 1; ++cut) {
    FrameReader reader;
    for (uint8_t i = cut; i < count; ++i) CHECK(!reader.take(bytes[i]));  // joined in its middle
    CHECK_EQUAL(reader.bad_frames(), 1);
    for (uint8_t i = 0; i < count; ++i) CHECK_EQUAL(reader.take(bytes[i]), i == count - 1);
    CHECK_EQUAL(reader.frame().sequence, 300);
    CHECK_EQUAL(reader.frame().length, 8);
    CHECK_EQUAL(read_u16(reader.frame().payload + 4), 12000);
  }
}

void reader_keeps_no_more_than_it_has_room_for() {
  TransmitBuffer wire;
  FrameWriter long_frame(wire, PROTOCOL_VERSION, 0x7F, 9);
  for (uint8_t i = 0; i < 65; ++i) long_frame.u8(i);  // 72 stuffed bytes: the longest frame there is
  long_frame.end();
  FrameReader reader;
  bool good = false;
  while (!wire.empty()) good = reader.take(wire.pop());
  CHECK(good);
  CHECK_EQUAL(reader.frame().length, 65);
  CHECK_EQUAL(reader.frame().payload[FrameReader::PAYLOAD_KEPT - 1], FrameReader::PAYLOAD_KEPT - 1);
}

void transmit_buffer_keeps_order_over_its_end() {
  TransmitBuffer buffer;
  uint8_t next = 0, expected = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 90; ++i) buffer.put(next++);
    CHECK(buffer.empty());  // not yet published
    buffer.publish();
    CHECK_EQUAL(buffer.free(), TransmitBuffer::SIZE - 1 - 90);
    for (int i = 0; i < 90; ++i) CHECK_EQUAL(buffer.pop(), expected++);
    CHECK(buffer.empty());
  }
}

void full_transmit_buffer_drops_telemetry_and_no_answer() {
  Bench bench(config_of(5));
  bench.run_frame();
  while (bench.firmware.ready()) bench.request(MessageType::PING);
  const uint8_t before = bench.firmware.transmit().free();
  CHECK(before < 27);  // no room for the longest answer: the host has to wait
  bench.now_us += 100000;
  while (bench.firmware.run_due(bench.now_us) != Firmware::Ran::NOTHING) {
  }
  CHECK_EQUAL(bench.firmware.transmit().free(), before);  // five telemetry frames fell due, and none was written
  const size_t answers = bench.fetch();
  CHECK_EQUAL(answers % 15, 0);  // nothing but whole answers to the pings
  CHECK(bench.firmware.ready());
}

void queue_fills_and_empties_over_its_end() {
  SetPointQueue queue;
  queue.begin(1, QUEUE_CAPACITY);
  const uint16_t start[1] = {100};
  queue.set_anchor(0, start);
  Point point = {};
  for (int round = 0; round < 40; ++round) {
    for (uint8_t i = 0; i < 17; ++i) {
      point.time_us += 1000;
      point.pulses[0] = uint16_t(point.time_us / 1000);
      queue.push(point);
      CHECK_EQUAL(queue.newest().time_us, point.time_us);
    }
    queue.pass_until(point.time_us - 1);
    CHECK_EQUAL(queue.size(), 1);
    queue.pass_until(point.time_us);
    CHECK_EQUAL(queue.size(), 0);
    CHECK_EQUAL(queue.anchor().pulses[0], point.pulses[0]);
    CHECK_EQUAL(queue.newest().time_us, point.time_us);
  }
}

void outputs_found_again_count_as_they_are() {
  Bench bench(config_of(2));
  bench.enable_all(12000);
  bench.set_point(20000, 12000);
  bench.set_point(100000, 14000);
  for (int i = 0; i < 3; ++i) bench.run_frame();
  CHECK(bench.firmware.state() == BoardState::MOVE);
  bench.firmware.set_cause(Fault::OUTPUT_FAILED, true);
  CHECK(bench.firmware.state() == BoardState::BRAKE);
  const uint16_t found[2] = {12345, 0};
  bench.firmware.outputs_found(found);
  bench.run_frame();
  CHECK_EQUAL(bench.firmware.pulses()[0], 12345);
  CHECK_EQUAL(bench.firmware.live(), 1);
  CHECK_EQUAL(bench.firmware.owned(), 1);  // what lost its output has lost its owner
  CHECK(bench.firmware.state() == BoardState::HOLD);
  CHECK_EQUAL(bench.firmware.faults(), bit_of(Fault::OUTPUT_FAILED));
  const uint16_t astray[2] = {30000, 0};
  bench.firmware.outputs_found(astray);
  CHECK_EQUAL(bench.firmware.pulses()[0], 30000);  // kept, and reported,
  CHECK_EQUAL(bench.firmware.owned(), 0);          // but nobody may drive it from there
}

// Brake from a motion, once without and once with gravity: the pulses where the arm comes to rest.
void brake_to_rest(Bench& bench, uint16_t* start, uint16_t* rest) {
  bench.enable_all(12000);
  for (uint32_t point = 1; point < 12; ++point) bench.set_point(20000 * point, uint16_t(11700 + 300 * point));
  for (int i = 0; i < 6; ++i) bench.run_frame();
  for (int joint = 0; joint < 5; ++joint) start[joint] = bench.firmware.pulses()[joint];
  bench.request(MessageType::STOP);
  for (int i = 0; bench.firmware.state() == BoardState::BRAKE; ++i) {
    CHECK(i < 25);
    uint16_t before[5];
    for (int joint = 0; joint < 5; ++joint) before[joint] = bench.firmware.pulses()[joint];
    bench.run_frame();
    for (int joint = 0; joint < 5; ++joint) CHECK(abs(bench.firmware.pulses()[joint] - before[joint]) <= SPEED);
  }
  for (int joint = 0; joint < 5; ++joint) rest[joint] = bench.firmware.pulses()[joint];
}

void braking_adds_only_the_difference_of_gravity() {
  if (arm_config::CONFIG.gravity == nullptr || arm_config::CONFIG.joints != 5) return;
  uint16_t start[5], plain[5], compensated[5];
  Bench without(config_of(5)), with(config_of(5, arm_config::CONFIG.gravity));
  brake_to_rest(without, start, plain);
  brake_to_rest(with, start, compensated);
  int16_t change[5];
  gravity_difference(*arm_config::CONFIG.gravity, start, plain, change);
  for (int joint = 0; joint < 5; ++joint) CHECK_EQUAL(compensated[joint], plain[joint] + change[joint]);
  CHECK(change[1] != 0);  // the shoulder bears less or more after 0.1 s of motion
}

void without_its_whole_pose_it_brakes_without_gravity() {
  if (arm_config::CONFIG.gravity == nullptr || arm_config::CONFIG.joints != 5) return;
  uint16_t start[5], plain[5], rest[5];
  Bench without(config_of(5)), with(config_of(5, arm_config::CONFIG.gravity));
  brake_to_rest(without, start, plain);
  with.enable_all(12000);
  for (uint32_t point = 1; point < 12; ++point) with.set_point(20000 * point, uint16_t(11700 + 300 * point));
  for (int i = 0; i < 6; ++i) with.run_frame();
  with.frame(MessageType::DISABLE).u8(0x10).end();
  with.deliver();
  with.request(MessageType::STOP);
  for (int i = 0; i < 25; ++i) with.run_frame();
  for (int joint = 0; joint < 5; ++joint) rest[joint] = with.firmware.pulses()[joint];
  for (int joint = 0; joint < 4; ++joint) CHECK_EQUAL(rest[joint], plain[joint]);
  CHECK_EQUAL(rest[4], 0);
}

}  // namespace

int main() {
  void (*const tests[])() = {
      reader_finds_back_after_every_cut,
      reader_keeps_no_more_than_it_has_room_for,
      transmit_buffer_keeps_order_over_its_end,
      full_transmit_buffer_drops_telemetry_and_no_answer,
      queue_fills_and_empties_over_its_end,
      outputs_found_again_count_as_they_are,
      braking_adds_only_the_difference_of_gravity,
      without_its_whole_pose_it_brakes_without_gravity,
  };
  for (auto test : tests) test();
  printf("%d tests passed\n", int(sizeof tests / sizeof tests[0]));
  return 0;
}

// The numbers of the serial protocol, version 2.  docs/protocol.md says what they mean; a test compares them with the host's.
#pragma once

#include <stdint.h>

namespace picker {

constexpr uint8_t PROTOCOL_VERSION = 2;
constexpr uint8_t FIRMWARE_VERSION[3] = {0, 2, 0};

constexpr uint8_t DELIMITER = 0;
constexpr uint8_t STUFFED_MAX = 72;      // longest frame after stuffing, without its delimiter
constexpr uint8_t HEADER_SIZE = 4;       // version, type, sequence
constexpr uint8_t CRC_SIZE = 2;
constexpr uint8_t FRAME_OVERHEAD = HEADER_SIZE + CRC_SIZE + 2;  // and a byte of stuffing, and the delimiter
constexpr uint16_t PULSE_MAX = 0x7FFF;   // [1/8 us]
constexpr uint16_t PERIOD_MIN_MS = 2, PERIOD_MAX_MS = 1000, PERIOD_DEFAULT_MS = 20;

enum class MessageType : uint8_t {
  HELLO = 0x01,
  PING = 0x02,
  ENABLE = 0x03,
  ADOPT = 0x04,
  DISABLE = 0x05,
  SET_POINT = 0x06,
  STOP = 0x07,
  RELAX = 0x08,
  RESET = 0x09,
  TELEMETRY_PERIOD = 0x0A,
  HALT = 0x0B,
  INFO = 0x81,
  ACK = 0x82,
  NACK = 0x83,
  TELEMETRY = 0x84,
};

enum class BoardState : uint8_t {
  IDLE = 0,
  HOLD = 1,
  MOVE = 2,
  BRAKE = 3,
};

enum class Reason : uint8_t {
  NONE = 0,
  UNKNOWN_TYPE = 1,
  BAD_LENGTH = 2,
  BAD_VALUE = 3,
  OTHER_VERSION = 4,
  STALE = 5,
  FAULT = 6,
  NOT_ENABLED = 7,
  ALREADY_LIVE = 8,
  NOT_LIVE = 9,
  OUT_OF_LIMITS = 10,
  PAST = 11,
  NOT_LATER = 12,
  TOO_FAR = 13,
  QUEUE_FULL = 14,
  BUSY = 15,
  FAULT_PERSISTS = 16,
  GAP = 17,
};

enum class Fault : uint8_t {
  STOPPED = 1,
  HOST_LOST = 2,
  SUPPLY_LOW = 3,
  OUTPUT_FAILED = 4,
  RESTARTED = 5,
};

// Fault k is bit k - 1 of the fault word.
constexpr uint16_t bit_of(Fault fault) { return uint16_t(1u << (uint8_t(fault) - 1)); }

// A request was carried out (NONE), or why it was not.
struct Verdict {
  Reason reason;
  uint16_t detail;
};

constexpr Verdict CARRIED_OUT = {Reason::NONE, 0};

}  // namespace picker

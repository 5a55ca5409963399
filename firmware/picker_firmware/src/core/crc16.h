// CRC-16/CCITT-FALSE: polynomial 0x1021, start 0xFFFF, not reflected, no final XOR.
#pragma once

#include <stdint.h>

namespace picker {

constexpr uint16_t CRC_START = 0xFFFF;

// Four shifts for eight bits: without a table, and about 40 cycles on an 8-bit machine.
inline uint16_t crc16_update(uint16_t crc, uint8_t byte) {
  crc = uint16_t(uint16_t(crc << 8) | (crc >> 8));
  crc ^= byte;
  crc ^= uint8_t(uint8_t(crc) >> 4);
  crc ^= uint16_t(crc << 12);
  crc ^= uint16_t(uint16_t(uint8_t(crc)) << 5);
  return crc;
}

}  // namespace picker

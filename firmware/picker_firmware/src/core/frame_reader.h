// Bytes in, frames with a right checksum out; finds its way back after any garbage.
//
// Unstuffing and checksum run byte by byte: no frame is stored that is longer than any message for a board, and little
// is left to do when the delimiter comes.
#pragma once

#include <stdint.h>

#include "crc16.h"
#include "protocol.h"

namespace picker {

// The payload may be longer than what is kept of it: no message of that length is known.
struct Frame {
  uint8_t version;
  uint8_t type;
  uint16_t sequence;
  uint8_t length;  // of the payload
  const uint8_t* payload;
};

inline uint16_t read_u16(const uint8_t* at) { return uint16_t(at[0] | uint16_t(at[1]) << 8); }
inline uint32_t read_u32(const uint8_t* at) { return read_u16(at) | uint32_t(read_u16(at + 2)) << 16; }

class FrameReader {
 public:
  static constexpr uint8_t PAYLOAD_KEPT = 20;  // a set-point of eight joints

  constexpr FrameReader() {}

  // True where `byte` ends a good frame; frame() then holds until the next byte.
  bool take(uint8_t byte);
  Frame frame() const;
  uint16_t bad_frames() const { return bad_frames_; }

 private:
  bool end();
  void append(uint8_t byte);

  uint8_t body_[HEADER_SIZE + PAYLOAD_KEPT] = {};
  uint8_t last_[CRC_SIZE] = {};  // the last two bytes: the checksum, once the frame has ended
  uint16_t crc_ = 0;           // over everything before them
  uint8_t stuffed_ = 0;        // bytes since the last delimiter
  uint8_t length_ = 0;         // bytes unstuffed
  uint8_t left_ = 0;           // bytes left of the COBS block
  uint8_t ended_length_ = 0;   // what length_ was when the frame ended
  bool damaged_ = false;
  uint16_t bad_frames_ = 0;
};

}  // namespace picker

#include "frame_writer.h"

namespace picker {

FrameWriter::FrameWriter(TransmitBuffer& out, uint8_t version, uint8_t type, uint16_t sequence) : out_(out) {
  open_block();
  u8(version).u8(type).u16(sequence);
}

void FrameWriter::open_block() {
  block_at_ = out_.put(0);
  block_ = 1;
}

void FrameWriter::stuff(uint8_t byte) {
  if (byte != 0) {
    out_.put(byte);
    ++block_;
  } else {
    out_.patch(block_at_, block_);
    open_block();
  }
}

FrameWriter& FrameWriter::u8(uint8_t value) {
  crc_ = crc16_update(crc_, value);
  stuff(value);
  return *this;
}

FrameWriter& FrameWriter::u16(uint16_t value) { return u8(uint8_t(value)).u8(uint8_t(value >> 8)); }

FrameWriter& FrameWriter::u32(uint32_t value) { return u16(uint16_t(value)).u16(uint16_t(value >> 16)); }

void FrameWriter::end() {
  const uint16_t crc = crc_;
  stuff(uint8_t(crc));
  stuff(uint8_t(crc >> 8));
  out_.patch(block_at_, block_);
  out_.put(DELIMITER);
  out_.publish();
}

}  // namespace picker

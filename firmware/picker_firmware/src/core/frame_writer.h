// One frame, stuffed while it is written into the transmit buffer; it has been made sure before that it fits.
#pragma once

#include <stdint.h>

#include "crc16.h"
#include "protocol.h"
#include "transmit_buffer.h"

namespace picker {

class FrameWriter {
 public:
  FrameWriter(TransmitBuffer& out, uint8_t version, uint8_t type, uint16_t sequence);

  FrameWriter& u8(uint8_t value);
  FrameWriter& u16(uint16_t value);
  FrameWriter& u32(uint32_t value);
  void end();

 private:
  void stuff(uint8_t byte);
  void open_block();

  TransmitBuffer& out_;
  uint16_t crc_ = CRC_START;
  uint8_t block_at_;  // where the length of the COBS block belongs
  uint8_t block_;     // that length
};

}  // namespace picker

#include "frame_reader.h"

namespace picker {

bool FrameReader::take(uint8_t byte) {
  if (byte == DELIMITER) return end();
  if (stuffed_ > STUFFED_MAX) return false;  // the rest of a frame that was too long
  if (++stuffed_ > STUFFED_MAX) {
    ++bad_frames_;
  } else if (left_ != 0) {
    --left_;
    append(byte);
  } else {  // the length of the next block; a zero was taken out before it, unless it is the first
    if (stuffed_ > 1) append(0);
    if (byte == 0xFF) damaged_ = true;
    left_ = uint8_t(byte - 1);
  }
  return false;
}

void FrameReader::append(uint8_t byte) {
  if (length_ < sizeof body_) body_[length_] = byte;
  if (length_ == 0) crc_ = CRC_START;
  if (length_ >= CRC_SIZE) crc_ = crc16_update(crc_, last_[0]);
  last_[0] = last_[1];
  last_[1] = byte;
  ++length_;
}

bool FrameReader::end() {
  const bool in_question = stuffed_ != 0 && stuffed_ <= STUFFED_MAX;  // else a lone delimiter, or counted already
  const bool good = !damaged_ && left_ == 0 && length_ >= HEADER_SIZE + CRC_SIZE && read_u16(last_) == crc_;
  ended_length_ = length_;
  stuffed_ = length_ = left_ = 0;
  damaged_ = false;
  if (in_question && !good) ++bad_frames_;
  return in_question && good;
}

Frame FrameReader::frame() const {
  return {body_[0], body_[1], read_u16(body_ + 2), uint8_t(ended_length_ - HEADER_SIZE - CRC_SIZE), body_ + HEADER_SIZE};
}

}  // namespace picker

// A ring of bytes to send: the program writes whole frames, an interrupt takes single bytes.
#pragma once

#include <stdint.h>

// A power of two, at most 128: the longest telemetry (73 bytes) and the longest answer (27) must fit.
#ifndef PICKER_TRANSMIT_SIZE
#define PICKER_TRANSMIT_SIZE 128
#endif

namespace picker {

class TransmitBuffer {
 public:
  static constexpr uint8_t SIZE = PICKER_TRANSMIT_SIZE;
  constexpr TransmitBuffer() {}

  static_assert(SIZE <= 128 && (SIZE & (SIZE - 1)) == 0, "the indices are bytes");

  // --- the program's side: bytes are put, holes patched, and all of them published at once ---
  uint8_t free() const { return uint8_t(SIZE - 1) - uint8_t(uint8_t(head_ - tail_) & (SIZE - 1)); }
  uint8_t put(uint8_t byte) {
    const uint8_t at = written_;
    bytes_[at] = byte;
    written_ = uint8_t(at + 1) & (SIZE - 1);
    return at;
  }
  void patch(uint8_t at, uint8_t byte) { bytes_[at] = byte; }
  void publish() { head_ = written_; }

  // --- the interrupt's side ---
  bool empty() const { return head_ == tail_; }
  uint8_t pop() {
    const uint8_t at = tail_, byte = bytes_[at];
    tail_ = uint8_t(at + 1) & (SIZE - 1);
    return byte;
  }

 private:
  volatile uint8_t bytes_[SIZE] = {};  // volatile: written before head_ is
  volatile uint8_t head_ = 0, tail_ = 0;
  uint8_t written_ = 0;
};

}  // namespace picker

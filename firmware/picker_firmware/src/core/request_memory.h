// What the board remembers of the host's frames, so that every request is carried out once and answered once.
#pragma once

#include <stdint.h>

#include "protocol.h"

namespace picker {

class RequestMemory {
 public:
  constexpr RequestMemory() {}

  // How many frames ago `sequence` was the newest; counts gaps, and keeps the newest.
  uint16_t age_of(uint16_t sequence) {
    if (!heard_) forget(sequence);
    const uint16_t ahead = uint16_t(sequence - newest_);
    if (ahead != 0 && ahead < 0x8000) {
      missed_ = uint16_t(missed_ + ahead - 1);
      newest_ = sequence;
      request_age_ = ahead > NONE - request_age_ ? NONE : uint16_t(request_age_ + ahead);
    }
    return uint16_t(newest_ - sequence);
  }

  // A new host, or the first frame: nothing is remembered.
  void forget(uint16_t sequence) {
    newest_ = sequence;
    heard_ = true;
    request_age_ = NONE;
  }

  bool is_stale(uint16_t age) const { return age > request_age_; }
  bool is_repeated(uint16_t age) const { return age == request_age_; }
  Verdict verdict() const { return verdict_; }
  void remember(uint16_t age, Verdict verdict) {
    request_age_ = age;
    verdict_ = verdict;
  }
  uint16_t missed() const { return missed_; }

 private:
  static constexpr uint16_t NONE = 0xFFFF;

  uint16_t newest_ = 0;       // the highest sequence seen
  uint16_t request_age_ = 0;  // how many frames ago the last request was carried out
  uint16_t missed_ = 0;
  Verdict verdict_ = CARRIED_OUT;  // how it was answered
  bool heard_ = false;
};

}  // namespace picker

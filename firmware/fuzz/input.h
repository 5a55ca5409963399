// The fuzzer's bytes as a stream of choices; zeros once they are used up.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vector>

class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  bool empty() const { return at_ == end_; }
  uint8_t u8() { return empty() ? 0 : *at_++; }
  uint16_t u16() { return uint16_t(u8() | u8() << 8); }
  uint32_t u32() { return u16() | uint32_t(u16()) << 16; }
  uint32_t below(uint32_t bound) { return u16() % bound; }

  std::vector<uint8_t> bytes(size_t count) {
    std::vector<uint8_t> taken;
    while (taken.size() < count && !empty()) taken.push_back(u8());
    return taken;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

// Ends the run, as a finding of the fuzzer, where something does not hold.
#define REQUIRE(holds) \
  do {                 \
    if (!(holds)) {    \
      __builtin_trap(); \
    }                  \
  } while (false)

// Any bytes into the frame reader: it finds the frames that the reference finds, and counts as many damaged ones.
#include "../picker_firmware/src/core/frame_reader.h"
#include "input.h"
#include "reference.h"

namespace {

// The same frame, as far as the reader keeps it.
void require_equal(const picker::Frame& frame, const reference::Bytes& plain) {
  REQUIRE(frame.version == plain[0] && frame.type == plain[1]);
  REQUIRE(frame.sequence == uint16_t(plain[2] | plain[3] << 8));
  REQUIRE(frame.length == plain.size() - 4);
  for (size_t i = 0; i < frame.length && i < picker::FrameReader::PAYLOAD_KEPT; ++i) REQUIRE(frame.payload[i] == plain[4 + i]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  picker::FrameReader reader;
  reference::Bytes wire, plain;
  uint16_t damaged = 0;
  while (!input.empty()) {
    // Mostly the fuzzer's own bytes; and frames with a right checksum, which it would hardly find.
    reference::Bytes bytes;
    const uint8_t choice = input.u8();
    if (choice & 1) {
      bytes = reference::frame(input.u8(), input.u8(), input.u16(), input.bytes(choice >> 3));
      if (choice & 2) bytes[input.u8() % bytes.size()] ^= uint8_t(1 << (choice >> 5));
    } else {
      bytes = input.bytes(1 + (choice >> 1));
    }
    for (uint8_t byte : bytes) {
      const bool whole = reader.take(byte);
      if (byte != 0) {
        REQUIRE(!whole);
        wire.push_back(byte);
        if (wire.size() == 73) ++damaged;
        continue;
      }
      const bool good = reference::open(wire, &plain);
      REQUIRE(whole == good);
      if (good) require_equal(reader.frame(), plain);
      if (!good && !wire.empty() && wire.size() <= 72) ++damaged;
      REQUIRE(reader.bad_frames() == damaged || wire.size() > 72);
      wire.clear();
    }
  }
  REQUIRE(reader.bad_frames() == damaged);
  return 0;
}

// Framing as docs/protocol.md describes it, written once more: whole frames in vectors, nothing in common with the core.
#pragma once

#include <stdint.h>

#include <vector>

namespace reference {

using Bytes = std::vector<uint8_t>;

inline uint16_t crc16(const uint8_t* data, size_t size) {
  uint16_t crc = 0xFFFF;
  for (size_t i = 0; i < size; ++i) {
    crc = uint16_t(crc ^ data[i] << 8);
    for (int bit = 0; bit < 8; ++bit) crc = uint16_t(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
  }
  return crc;
}

inline Bytes stuffed(const Bytes& plain) {
  Bytes out, run;
  for (size_t i = 0; i <= plain.size(); ++i) {
    if (i < plain.size() && plain[i] != 0) {
      run.push_back(plain[i]);
      continue;
    }
    out.push_back(uint8_t(run.size() + 1));
    out.insert(out.end(), run.begin(), run.end());
    run.clear();
  }
  return out;
}

inline bool unstuff(const Bytes& wire, Bytes* plain) {
  plain->clear();
  for (size_t at = 0; at < wire.size();) {
    const size_t length = wire[at];
    if (length == 0xFF || at + length > wire.size()) return false;
    plain->insert(plain->end(), wire.begin() + long(at) + 1, wire.begin() + long(at + length));
    at += length;
    if (at < wire.size()) plain->push_back(0);
  }
  return true;
}

// version, type, sequence, payload -> the bytes on the wire, with the delimiter.
inline Bytes frame(uint8_t version, uint8_t type, uint16_t sequence, const Bytes& payload) {
  Bytes plain = {version, type, uint8_t(sequence), uint8_t(sequence >> 8)};
  plain.insert(plain.end(), payload.begin(), payload.end());
  const uint16_t crc = crc16(plain.data(), plain.size());
  plain.push_back(uint8_t(crc));
  plain.push_back(uint8_t(crc >> 8));
  Bytes wire = stuffed(plain);
  wire.push_back(0);
  return wire;
}

// What is between two delimiters -> version, type, sequence, payload; false where it is damaged.
inline bool open(const Bytes& wire, Bytes* plain) {
  if (wire.size() > 72 || !unstuff(wire, plain) || plain->size() < 6) return false;
  const size_t size = plain->size() - 2;
  const uint16_t crc = uint16_t((*plain)[size] | (*plain)[size + 1] << 8);
  plain->resize(size);
  return crc == crc16(plain->data(), size);
}

}  // namespace reference

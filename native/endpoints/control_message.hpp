// What the two ends of a pattern over datagrams tell each other beside the data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "../errors.hpp"
#include "../wire.hpp"

namespace halftrip {

// On the wire, all little-endian:
//
//   offset  bytes
//        0      8  magic number
//        8      1  version
//        9      1  kind
//       10      6  zero
//       16      8  batch
//       24      8  end
//       32      8  received
//       40      8  reordered
//       48      8  jitter
//
// Magic number and version are at the same place in every version, so that each knows the others.
// The top bit of the magic number is set: no datagram of data begins with it, as the number of a
// datagram is not negative.
struct ControlMessage {
  static constexpr std::uint64_t kMagic = 0xb7c3a9e15d2f8641;
  static constexpr std::uint8_t kVersion = 1;
  static constexpr std::size_t kSize = 56;
  // Magic number and version.
  static constexpr std::size_t kPrefix = 9;

  enum class Kind : std::uint8_t {
    report_request,  // from the initiator: how many datagrams up to `end` have arrived?
    report,          // the responder's reply, with the figures so far
    end,             // from the initiator: the batch is over
    end_ack,         // the responder's reply, with the figures of the whole batch
  };

  Kind kind;
  std::int64_t batch;          // the number of the batch's first datagram
  std::int64_t end;            // the number after that of the last datagram sent
  std::int64_t received = 0;   // how many of the batch that count have arrived, each once
  std::int64_t reordered = 0;  // how many of these arrived after one that was sent later
  std::int64_t jitter = -1;    // ns; -1: unknown

  // Whether a datagram that begins with `bytes` is a control message, of any version.
  static bool is_at(const std::byte* bytes, std::size_t size) noexcept {
    return size >= kPrefix && load_little_endian<std::uint64_t>(bytes) == kMagic;
  }

  std::array<std::byte, kSize> encode() const noexcept {
    std::array<std::byte, kSize> bytes{};
    store_little_endian(&bytes[0], kMagic);
    store_little_endian(&bytes[8], kVersion);
    store_little_endian(&bytes[9], static_cast<std::uint8_t>(kind));
    store_little_endian(&bytes[16], batch);
    store_little_endian(&bytes[24], end);
    store_little_endian(&bytes[32], received);
    store_little_endian(&bytes[40], reordered);
    store_little_endian(&bytes[48], jitter);
    return bytes;
  }

  // Decodes a whole datagram. Returns nothing if it is no control message, or a broken one. Throws
  // VersionMismatch if it is one of another version.
  static std::optional<ControlMessage> decode(std::span<const std::byte> bytes) {
    if (!is_at(bytes.data(), bytes.size())) return std::nullopt;
    const auto version = load_little_endian<std::uint8_t>(&bytes[8]);
    if (version != kVersion)
      throw VersionMismatch("the peer's datagrams are of version " + std::to_string(version) +
                            ", this end's of version " + std::to_string(kVersion) +
                            ": both need the same halftrip");
    const auto kind = load_little_endian<std::uint8_t>(&bytes[9]);
    if (bytes.size() != kSize || kind > static_cast<std::uint8_t>(Kind::end_ack))
      return std::nullopt;
    return ControlMessage{
        .kind = static_cast<Kind>(kind),
        .batch = load_little_endian<std::int64_t>(&bytes[16]),
        .end = load_little_endian<std::int64_t>(&bytes[24]),
        .received = load_little_endian<std::int64_t>(&bytes[32]),
        .reordered = load_little_endian<std::int64_t>(&bytes[40]),
        .jitter = load_little_endian<std::int64_t>(&bytes[48]),
    };
  }
};

}  // namespace halftrip

// What a transport gives a pattern.
//
// An endpoint is one rank's end of an open path to one peer. Sizes are agreed by both ends
// beforehand: the receiver asks for exactly as many bytes as the sender sends.
#pragma once

#include <concepts>
#include <cstddef>

namespace halftrip {

// send() returns when `out` may be written again; recv() when all of `size` bytes lie in `in`.
// Both throw Stopped, PeerClosed or std::system_error, and nothing in between.
template <class E>
concept BlockingEndpoint = requires(E& e, const std::byte* out, std::byte* in, std::size_t size) {
  { e.send(out, size) } -> std::same_as<void>;
  { e.recv(in, size) } -> std::same_as<void>;
};

}  // namespace halftrip

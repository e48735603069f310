// The Python module's endpoints between ranks of one host, and those over byte streams.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "../endpoints/shm.hpp"
#include "../endpoints/shm_window.hpp"
#include "../endpoints/stream.hpp"
#include "../endpoints/zerocopy.hpp"
#include "../patterns/probe.hpp"
#include "bindings.hpp"

namespace halftrip {

void* mapped(Bytes& segment, std::size_t needed) {
  if (segment.shape(0) < needed) throw std::invalid_argument("the segment is too small");
  if (reinterpret_cast<std::uintptr_t>(segment.data()) % kCacheLineSize != 0)
    throw std::invalid_argument("the segment is not aligned to a cache line");
  return segment.data();
}

namespace {

template <Wait wait, class Calls>
void define_stream(nb::module_& module, const char* name) {
  using Stream = ByteStream<wait, Calls>;
  define_endpoint<Stream>(module, name,
                          std::is_same_v<Calls, Socket>
                              ? "Of sockets alone: recv(2) and send(2), without SIGPIPE."
                              : "Of any descriptors: read(2) and write(2). A process that has not "
                                "ignored SIGPIPE may get it.")
      .def(
          "__init__",
          [](Stream* self, int in_fd, int out_fd, bool yields) {
            new (self) Stream(OneConnection(in_fd, out_fd), yields);
          },
          "in_fd"_a, "out_fd"_a, "yields"_a);
}

template <Wait wait>
void define_streams(nb::module_& module, const char* name) {
  using Streams = ByteStream<wait, Socket, SeveralConnections>;
  define_endpoint<Streams>(
      module, name,
      "Message k of each direction goes over socket k modulo their number, at both ends alike.")
      .def(
          "__init__",
          [](Streams* self, std::vector<int> sockets, bool yields) {
            if (sockets.empty()) throw std::invalid_argument("there is no connection");
            new (self) Streams(SeveralConnections(std::move(sockets)), yields);
          },
          "sockets"_a, "yields"_a);
}

template <Wait wait>
void define_zerocopy(nb::module_& module, const char* name) {
  using Stream = ByteStream<wait, ZerocopySocket>;
  define_endpoint<Stream>(module, name,
                          "MSG_ZEROCOPY. Messages are sent from `slots` buffers in turn; each is "
                          "used again when the kernel has notified that it no longer reads it.")
      .def(
          "__init__",
          [](Stream* self, Notifications& notifications, bool yields, std::size_t slots) {
            if (slots == 0) throw std::invalid_argument("there is no buffer");
            const int fd = notifications.fd();
            new (self) Stream(OneConnection(fd, fd), yields, ZerocopySocket(notifications, slots));
          },
          "notifications"_a, "yields"_a, "slots"_a, nb::keep_alive<1, 2>())
      .def("finish", &Stream::finish, Released(),
           "Returns when the kernel reads no buffer any longer.");
}

}  // namespace

void define_local_endpoints(nb::module_& module) {
  const auto probe = [](auto part) {
    return [part](CacheLines& lines, std::int64_t untimed, std::int64_t iterations,
                  Int64s timestamps, std::string_view clock) {
      (lines.*part)(Timing{untimed, iterations, ticks(timestamps), {}, clock_named(clock)});
    };
  };
  nb::class_<CacheLines>(
      module, "CacheLines",
      "Cache lines that two ranks share, in pages of their own: `count` of them, "
      "`stride` bytes apart. Timestamps have shape (count * (samples + 1),).")
      .def(
          "__init__",
          [](CacheLines* self, Bytes memory, std::size_t count, std::size_t stride) {
            if (count == 0 || stride % kCacheLineSize != 0)
              throw std::invalid_argument("lines begin cache lines, and there is one at least");
            auto* start =
                static_cast<std::byte*>(mapped(memory, (count - 1) * stride + kCacheLineSize));
            new (self) CacheLines(start, count, stride);
          },
          "memory"_a.noconvert(), "count"_a, "stride"_a, nb::keep_alive<1, 2>())
      .def("initiate", probe(&CacheLines::initiate), "untimed"_a, "iterations"_a,
           "timestamps"_a.noconvert(), "clock"_a, Released(),
           "Times round trips of each line, as the function `initiate` does.")
      .def("respond", probe(&CacheLines::respond), "untimed"_a, "iterations"_a,
           "timestamps"_a.noconvert(), "clock"_a, Released(), "The other end.");
  module.attr("cache_line") = kCacheLineSize;
  module.attr("shm_segment_size") = kSegmentStride;
  module.attr("shm_line") = ShmSlot::kBesideNumber;
  module.attr("shm_short") = ShmSlot::kMostBesideNumber;
  module.attr("shm_nontemporal") = kShortestNontemporal;
  module.attr("shm_smallest_chunk") = kSmallestChunk;
  module.attr("shm_largest_chunk") = kLargestChunk;
  module.attr("shm_slots") = kSlots;
  define_endpoint<Shm>(module, "Shm")
      .def(
          "__init__",
          [](Shm* self, Bytes segments, unsigned side, bool yields, bool replies_apart) {
            if (side > 1) throw std::invalid_argument("side is 0 or 1");
            auto* start = static_cast<std::byte*>(mapped(segments, kSegmentStride));
            new (self) Shm(start, segments.shape(0) / kSegmentStride, side, yields, replies_apart);
          },
          "segments"_a.noconvert(), "side"_a, "yields"_a, "replies_apart"_a = true,
          nb::keep_alive<1, 2>(),
          "`replies_apart`, alike at both ends: a reply goes back over the cache lines of its "
          "message, and not through the ring of its direction, as all others do.")
      .def("use", &Shm::use, "segment"_a,
           "Goes on in the segment of this number; both ends call it.");
  define_endpoint<ShmWindow>(module, "ShmWindow")
      .def(
          "__init__",
          [](ShmWindow* self, Shm& messages, Bytes window) {
            new (self) ShmWindow(messages, bytes(window));
          },
          "messages"_a, "window"_a.noconvert(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
  define_stream<Wait::block, AnyDescriptor>(module, "BlockingStream");
  define_stream<Wait::spin, AnyDescriptor>(module, "SpinningStream");
  define_stream<Wait::poll, AnyDescriptor>(module, "PollingStream");
  define_stream<Wait::block, Socket>(module, "BlockingSocket");
  define_stream<Wait::spin, Socket>(module, "SpinningSocket");
  define_stream<Wait::poll, Socket>(module, "PollingSocket");
  define_streams<Wait::block>(module, "BlockingSockets");
  define_streams<Wait::spin>(module, "SpinningSockets");
  define_streams<Wait::poll>(module, "PollingSockets");
  nb::class_<Notifications>(
      module, "Notifications",
      "Of sends of one socket that leave messages where they are; for all its endpoints.")
      .def(nb::init<int>(), "socket"_a);
  define_zerocopy<Wait::block>(module, "BlockingZerocopySocket");
  define_zerocopy<Wait::spin>(module, "SpinningZerocopySocket");
  define_zerocopy<Wait::poll>(module, "PollingZerocopySocket");
}

}  // namespace halftrip

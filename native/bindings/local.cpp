// The Python module's endpoints between ranks of one host, and those over byte streams.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "../endpoints/cache_line.hpp"
#include "../endpoints/shm.hpp"
#include "../endpoints/shm_window.hpp"
#include "../endpoints/stream.hpp"
#include "../endpoints/zerocopy.hpp"
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
  define_endpoint<CacheLine>(module, "CacheLine")
      .def(
          "__init__",
          [](CacheLine* self, Bytes segment) {
            new (self) CacheLine(mapped(segment, kCacheLineSize));
          },
          "segment"_a.noconvert(), nb::keep_alive<1, 2>());
  module.attr("shm_segment_size") = sizeof(ShmSegment);
  module.attr("shm_line") = ShmSlot::kBesideNumber;
  module.attr("shm_short") = ShmSlot::kMostBesideNumber;
  module.attr("shm_smallest_chunk") = kSmallestChunk;
  module.attr("shm_largest_chunk") = kLargestChunk;
  module.attr("shm_slots") = kSlots;
  module.attr("probed_lines") = sizeof(ShmSegment::probed) / sizeof(ShmSegment::ProbedLine);
  module.attr("probed_line_size") = sizeof(ShmSegment::ProbedLine);
  define_endpoint<Shm>(module, "Shm")
      .def(
          "__init__",
          [](Shm* self, Bytes segment, unsigned side, bool yields, bool replies_apart) {
            if (side > 1) throw std::invalid_argument("side is 0 or 1");
            void* start = mapped(segment, sizeof(ShmSegment));
            new (self) Shm(static_cast<ShmSegment*>(start), side, yields, replies_apart);
          },
          "segment"_a.noconvert(), "side"_a, "yields"_a, "replies_apart"_a = true,
          nb::keep_alive<1, 2>(),
          "`replies_apart`, alike at both ends: a reply goes back over the cache lines of its "
          "message, and not through the ring of its direction, as all others do.");
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

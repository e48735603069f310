// The Python module's datagrams: their endpoint, the patterns over it, and their policies.
#include <nanobind/stl/optional.h>

#include "../patterns/datagram_pingpong.hpp"
#include "../patterns/datagram_stream.hpp"
#include "bindings.hpp"

namespace halftrip {

namespace {

template <template <class> class Ping, template <class> class Flow, class Clock>
DatagramResult run_pattern(std::string_view pattern, DatagramSocket& socket, Buffers buffers,
                           const DatagramBatch& batch) {
  if (pattern == PingPong::name) return Ping<Clock>(socket, buffers, batch).run();
  if (pattern == Stream::name) return Flow<Clock>(socket, buffers, batch).run();
  throw std::invalid_argument("datagrams cannot do that pattern");
}

void check(const Ring& out, const Ring& in, const DatagramBatch& batch) {
  if (in.size() != out.size()) throw std::invalid_argument("out and in differ in size");
  // An end has only one of those that it does not use.
  if (in.slots() != out.slots() && in.slots() != 1 && out.slots() != 1)
    throw std::invalid_argument("out and in differ in number");
  if (out.size() == 0) throw std::invalid_argument("a datagram needs room for its number");
  if (batch.window < 1) throw std::invalid_argument("a window has at least one message");
  if (batch.untimed < 0)
    throw std::invalid_argument("the number of untimed iterations is negative");
  if (batch.is_verified() && batch.source_slots.size() != in.slots())
    throw std::invalid_argument("source_slots has one place for each buffer, or none");
}

template <template <class> class Ping, template <class> class Flow>
void define_end(nb::module_& module, const char* name) {
  module.def(
      name,
      [](DatagramSocket& socket, std::string_view pattern, Ring& out, Ring& in, std::int64_t window,
         double rate, std::int64_t untimed, Ticks max_timed_out_ns, Int64s times,
         Int64s source_slots, std::string_view clock, double hertz, bool jitter) {
        const DatagramBatch batch{
            .window = window,
            .untimed = untimed,
            .interval = rate > 0 ? static_cast<double>(out.size()) / rate * hertz : 0,
            .ns_per_tick = 1e9 / hertz,
            .max_timed_out_ns = max_timed_out_ns,
            .times = ticks(times),
            .source_slots = ticks(source_slots),
            .jitter = jitter,
        };
        check(out, in, batch);
        return with_clock(clock, [&]<class Clock>(Clock) {
          return run_pattern<Ping, Flow, Clock>(pattern, socket, {out, in, window}, batch);
        });
      },
      "socket"_a, "pattern"_a, "out"_a, "in_"_a, "window"_a, "rate"_a, "untimed"_a,
      "max_timed_out_ns"_a, "times"_a.noconvert(), "source_slots"_a.noconvert(), "clock"_a,
      "hertz"_a, "jitter"_a, Released());
}

void define_policies(nb::module_& module) {
  nb::class_<ReplyTimeout>(module, "ReplyTimeout")
      .def(nb::init<Ticks, Ticks>(), "limit"_a, "shortest"_a = ReplyTimeout::kShortest_ns)
      .def_prop_ro("limit", &ReplyTimeout::limit)
      .def_prop_ro("current", &ReplyTimeout::current)
      .def_prop_ro("longest_silence", &ReplyTimeout::longest_silence)
      .def("replied", &ReplyTimeout::replied, "ns"_a)
      .def("was_too_short", &ReplyTimeout::was_too_short)
      .def("missed", &ReplyTimeout::missed)
      .def("reset", &ReplyTimeout::reset);
  nb::class_<Pacer>(module, "Pacer")
      .def(nb::init<double, double, double>(), "interval"_a, "start"_a, "max_lag"_a)
      .def_prop_ro("next", &Pacer::next)
      .def("sent", &Pacer::sent, "now"_a)
      .def("forgive", &Pacer::forgive);
  nb::class_<Jitter>(module, "Jitter")
      .def(nb::init<>())
      .def("arrived", &Jitter::arrived, "sent"_a, "received"_a)
      .def_prop_ro("is_known", &Jitter::is_known)
      .def_prop_ro("ns", &Jitter::ns);
  nb::class_<DuplicateFilter>(module, "DuplicateFilter")
      .def(nb::init<std::int64_t, std::int64_t>(), "first"_a, "span"_a)
      .def_prop_ro("highest", &DuplicateFilter::highest)
      .def("add", &DuplicateFilter::add, "number"_a);
}

void define_control_message(nb::module_& module) {
  using Kind = ControlMessage::Kind;
  nb::class_<ControlMessage> type(module, "ControlMessage");
  type.def(
          "__init__",
          [](ControlMessage* self, int kind, std::int64_t batch, std::int64_t end,
             std::int64_t received, std::int64_t reordered, std::int64_t jitter) {
            if (kind < 0 || kind > static_cast<int>(Kind::end_ack))
              throw std::invalid_argument("there is no such kind of control message");
            new (self)
                ControlMessage{static_cast<Kind>(kind), batch, end, received, reordered, jitter};
          },
          "kind"_a, "batch"_a, "end"_a, "received"_a, "reordered"_a, "jitter"_a)
      .def_prop_ro("kind", [](const ControlMessage& self) { return static_cast<int>(self.kind); })
      .def_ro("batch", &ControlMessage::batch)
      .def_ro("end", &ControlMessage::end)
      .def_ro("received", &ControlMessage::received)
      .def_ro("reordered", &ControlMessage::reordered)
      .def_ro("jitter", &ControlMessage::jitter)
      .def("encode",
           [](const ControlMessage& self) {
             const auto bytes = self.encode();
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def_static(
          "decode",
          [](nb::bytes datagram) {
            return ControlMessage::decode(
                {static_cast<const std::byte*>(datagram.data()), datagram.size()});
          },
          "datagram"_a);
  type.attr("version") = static_cast<int>(ControlMessage::kVersion);
}

void define_datagrams(nb::module_& module) {
  define_policies(module);
  define_control_message(module);
  nb::class_<DatagramSocket> type(module, "DatagramSocket");
  type.def(nb::init<int, bool, bool, Ticks, Ticks>(), "fd"_a, "spins"_a, "yields"_a, "timeout_ns"_a,
           "shortest_ns"_a = ReplyTimeout::kShortest_ns)
      .def("restart", &DatagramSocket::restart, nb::arg("before") = 0)
      .def("end_wait", &DatagramSocket::end_wait)
      .def_ro("reply_timeout", &DatagramSocket::reply_timeout);
  type.attr("patterns") = nb::make_tuple(nb::str(PingPong::name.data(), PingPong::name.size()),
                                         nb::str(Stream::name.data(), Stream::name.size()));
  type.attr("tick_ns") = DatagramSocket::kTick_ns;
  type.attr("number_size") = DatagramHeader::kNumberSize;
  type.attr("timestamped_size") = DatagramHeader::kTimestampedSize;
  nb::class_<DatagramResult>(module, "DatagramResult")
      .def_ro("samples", &DatagramResult::samples)
      .def_ro("start", &DatagramResult::start)
      .def_ro("timed_out_ticks", &DatagramResult::timed_out_ticks)
      .def_ro("sent", &DatagramResult::sent)
      .def_ro("lost", &DatagramResult::lost)
      .def_ro("reordered", &DatagramResult::reordered)
      .def_ro("jitter", &DatagramResult::jitter);
  define_end<DatagramPing, DatagramSource>(module, "initiate_datagrams");
  define_end<DatagramPong, DatagramSink>(module, "respond_datagrams");
}

const Part part("datagrams", define_datagrams);

}  // namespace

}  // namespace halftrip

// The Python module's datagrams: their endpoint, the patterns over it, and their policies.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "../patterns/datagram_pingpong.hpp"
#include "../patterns/datagram_stream.hpp"
#include "bindings.hpp"

namespace halftrip {

namespace {

template <class Ping, class Flow>
DatagramResult run_pattern(std::string_view pattern, DatagramSocket& socket, Buffers buffers,
                           const DatagramBatch& batch) {
  if (pattern == PingPong::name) return Ping(socket, buffers, batch).run();
  if (pattern == Stream::name) return Flow(socket, buffers, batch).run();
  throw std::invalid_argument("datagrams cannot do that pattern");
}

void check(const Ring& out, const Ring& in, const DatagramBatch& batch) {
  if (in.size() != out.size()) throw std::invalid_argument("out and in differ in size");
  // An end has only one of those that it does not use.
  if (in.slots() != out.slots() && in.slots() != 1 && out.slots() != 1)
    throw std::invalid_argument("out and in differ in number");
  if (out.size() == 0) throw std::invalid_argument("a datagram needs room for its number");
  if (batch.window < 1) throw std::invalid_argument("a window has at least one message");
  if (batch.timing.untimed < 0)
    throw std::invalid_argument("the number of untimed iterations is negative");
  if (batch.timing.timestamps.empty()) throw std::invalid_argument("there is no timestamp");
  if (batch.is_verified() && batch.source_slots.size() != in.slots())
    throw std::invalid_argument("source_slots has one place for each buffer, or none");
}

template <class Ping, class Flow>
void define_end(nb::module_& module, const char* name, const char* doc) {
  module.def(
      name,
      [](DatagramSocket& socket, std::string_view pattern, Ring& out, Ring& in, std::int64_t window,
         double rate, std::int64_t untimed, Ticks max_timed_out_ns, Int64s timestamps,
         Int64s source_slots, std::string_view clock, double hertz, bool jitter) {
        const DatagramBatch batch{
            .timing = {untimed, 1, ticks(timestamps), {}, clock_named(clock)},
            .window = window,
            .interval = rate > 0 ? static_cast<double>(out.size()) / rate * hertz : 0,
            .ns_per_tick = 1e9 / hertz,
            .max_timed_out_ns = max_timed_out_ns,
            .source_slots = ticks(source_slots),
            .jitter = jitter,
        };
        check(out, in, batch);
        return run_pattern<Ping, Flow>(pattern, socket, {out, in, window}, batch);
      },
      "socket"_a, "pattern"_a, "out"_a, "in_"_a, "window"_a, "rate"_a, "untimed"_a,
      "max_timed_out_ns"_a, "timestamps"_a.noconvert(), "source_slots"_a.noconvert(), "clock"_a,
      "hertz"_a, "jitter"_a, Released(), doc);
}

void define_policies(nb::module_& module) {
  nb::class_<ReplyTimeout>(module, "ReplyTimeout",
                           "How long to wait for a reply; all times are ns.")
      .def(nb::init<Ticks, Ticks>(), "limit"_a, "shortest"_a = ReplyTimeout::kShortest_ns)
      .def_prop_ro("limit", &ReplyTimeout::limit)
      .def_prop_ro("current", &ReplyTimeout::current)
      .def_prop_ro("longest_silence", &ReplyTimeout::longest_silence,
                   "An upper bound of the time without a reply before `missed` raises.")
      .def("replied", &ReplyTimeout::replied, "ns"_a)
      .def("was_too_short", &ReplyTimeout::was_too_short)
      .def("missed", &ReplyTimeout::missed,
           "Raises NoAnswer after too many misses in a row, each after a wait of `limit`.")
      .def("reset", &ReplyTimeout::reset);
  nb::class_<Pacer>(module, "Pacer", "When the next datagram is due; all times are ticks.")
      .def(nb::init<double, double, double>(), "interval"_a, "start"_a, "max_lag"_a)
      .def_prop_ro("next", &Pacer::next)
      .def("sent", &Pacer::sent, "now"_a)
      .def("forgive", &Pacer::forgive);
  nb::class_<Jitter>(module, "Jitter", "The interarrival jitter of RFC 3550; all times are ns.")
      .def(nb::init<>())
      .def("arrived", &Jitter::arrived, "sent"_a, "received"_a)
      .def_prop_ro("is_known", &Jitter::is_known)
      .def_prop_ro("ns", &Jitter::ns);
  nb::class_<DuplicateFilter>(
      module, "DuplicateFilter",
      "Knows which of the latest numbers have arrived: at least of the `span` below the highest.")
      .def(nb::init<std::int64_t, std::int64_t>(), "first"_a, "span"_a)
      .def_prop_ro("highest", &DuplicateFilter::highest)
      .def("add", &DuplicateFilter::add, "number"_a, "Whether `number` is new.");
}

void define_control_message(nb::module_& module) {
  using Kind = ControlMessage::Kind;
  nb::class_<ControlMessage> type(
      module, "ControlMessage",
      "A message beside the data, between both ends; see native/endpoints/control_message.hpp.");
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
      .def_prop_ro(
          "kind", [](const ControlMessage& self) { return static_cast<int>(self.kind); },
          "0: report request, 1: report, 2: end, 3: acknowledged end.")
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
          "datagram"_a,
          "None if it is malformed or not a control message at all. Raises VersionMismatch if it "
          "is of another version.");
  type.attr("version") = static_cast<int>(ControlMessage::kVersion);
}

void define_datagrams(nb::module_& module) {
  define_policies(module);
  define_control_message(module);
  nb::class_<DatagramSocket> type(
      module, "DatagramSocket",
      "Waits for a reply for at most `timeout_ns`, and for at least `shortest_ns` if that is less. "
      "`tick_ns` is how long a call of the socket sleeps, by its options; a datagram's header has "
      "its number, `number_size` bytes, or that and the time when it was sent, "
      "`timestamped_size`.");
  type.def(nb::init<int, bool, bool, Ticks, Ticks>(), "fd"_a, "spins"_a, "yields"_a, "timeout_ns"_a,
           "shortest_ns"_a = ReplyTimeout::kShortest_ns)
      .def("restart", &DatagramSocket::restart, nb::arg("before") = 0,
           "Goes on with another configuration, which had `before` messages so far: the first of "
           "them was in the first buffer. The reply times of the previous one are forgotten.")
      .def("end_wait", &DatagramSocket::end_wait,
           "From another thread: ends the current wait, or else the next one, as if it had timed "
           "out.")
      .def_ro("reply_timeout", &DatagramSocket::reply_timeout);
  type.attr("patterns") = nb::make_tuple(nb::str(PingPong::name.data(), PingPong::name.size()),
                                         nb::str(Stream::name.data(), Stream::name.size()));
  type.attr("tick_ns") = DatagramSocket::kTick_ns;
  type.attr("number_size") = DatagramHeader::kNumberSize;
  type.attr("timestamped_size") = DatagramHeader::kTimestampedSize;
  nb::class_<DatagramResult>(
      module, "DatagramResult",
      "The result of a batch. `timestamps` is how many were taken; `unanswered` are the numbers of "
      "the samples between them, from 0, that had no reply, and are none. `timed_out_ticks`, the "
      "time spent on them, is ticks; `jitter` is ns, -1 if it is unknown; the rest are counts.")
      .def_ro("timestamps", &DatagramResult::timestamps)
      .def_ro("unanswered", &DatagramResult::unanswered)
      .def_prop_ro("samples", &DatagramResult::samples)
      .def_ro("timed_out_ticks", &DatagramResult::timed_out_ticks)
      .def_ro("sent", &DatagramResult::sent)
      .def_ro("lost", &DatagramResult::lost)
      .def_ro("reordered", &DatagramResult::reordered)
      .def_ro("jitter", &DatagramResult::jitter);
  define_end<DatagramPing, DatagramSource>(
      module, "initiate_datagrams",
      "Initiates `untimed` iterations first, then one between each two `timestamps`, ticks, shape "
      "(samples + 1,). A ping-pong ends early when its waits for lost replies add up to "
      "`max_timed_out_ns`; then fewer are taken. `rate` is bytes per second; 0: as fast as "
      "possible.\n\n`source_slots`, shape (slots,) or (0,), gets for each buffer of `in_` "
      "the number of the sender's buffer whose message it holds, counted from 1; 0 if that is "
      "unknown.\n\nWith `jitter`, datagrams of a stream with room for it carry the time when they "
      "were sent, which costs each end a clock read per datagram. Both ends pass the same value. "
      "Raises NoAnswer.");
  define_end<DatagramPong, DatagramSink>(module, "respond_datagrams",
                                         "The other end of the same iterations.");
}

const Part part("datagrams", define_datagrams);

}  // namespace

}  // namespace halftrip

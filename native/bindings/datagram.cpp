// The Python module's datagrams: their endpoint, and the patterns over it.
#include "../patterns/datagram_pingpong.hpp"
#include "../patterns/datagram_stream.hpp"
#include "bindings.hpp"

namespace halftrip {

namespace {

template <template <class> class Ping, template <class> class Flow, class Clock>
Tally run_pattern(std::string_view pattern, DatagramSocket& socket, Buffers buffers,
                  const DatagramBatch& batch) {
  if (pattern == PingPong::name) return Ping<Clock>(socket, buffers, batch).run();
  if (pattern == Stream::name) return Flow<Clock>(socket, buffers, batch).run();
  throw std::invalid_argument("datagrams cannot do that pattern");
}

template <template <class> class Ping, template <class> class Flow>
void define_end(nb::module_& module, const char* name) {
  module.def(
      name,
      [](DatagramSocket& socket, std::string_view pattern, Ring& out, Ring& in, std::int64_t window,
         double rate, std::int64_t lead, Ticks most_waited_ns, Int64s times, Int64s held,
         std::string_view clock, double hertz) {
        if (in.size() != out.size()) throw std::invalid_argument("out and in differ in size");
        if (in.slots() != out.slots()) throw std::invalid_argument("out and in differ in number");
        if (out.size() == 0) throw std::invalid_argument("a datagram has room for its number");
        if (held.shape(0) != 0 && held.shape(0) != in.slots())
          throw std::invalid_argument("held has one place for each buffer, or none");
        const double interval = rate > 0 ? static_cast<double>(out.size()) / rate * hertz : 0;
        const DatagramBatch batch{window,         lead,         interval,   1e9 / hertz,
                                  most_waited_ns, ticks(times), ticks(held)};
        return with_clock(clock, [&]<class Clock>(Clock) {
          return run_pattern<Ping, Flow, Clock>(pattern, socket, {out, in, window}, batch);
        });
      },
      "socket"_a, "pattern"_a, "out"_a, "in_"_a, "window"_a, "rate"_a, "lead"_a, "most_waited_ns"_a,
      "times"_a.noconvert(), "held"_a.noconvert(), "clock"_a, "hertz"_a, Released());
}

void define_policies(nb::module_& module) {
  nb::class_<Patience>(module, "Patience")
      .def(nb::init<Ticks, Ticks>(), "limit"_a, "shortest"_a = Patience::kShortest_ns)
      .def_prop_ro("limit", &Patience::limit)
      .def_prop_ro("length", &Patience::length)
      .def_prop_ro("longest_vain", &Patience::longest_vain)
      .def("answered", &Patience::answered, "ns"_a)
      .def("was_short", &Patience::was_short)
      .def("missed", &Patience::missed)
      .def("restart", &Patience::restart);
  nb::class_<Pacer>(module, "Pacer")
      .def(nb::init<double, double, double>(), "interval"_a, "start"_a, "most_behind"_a)
      .def_prop_ro("next", &Pacer::next)
      .def("let_go", &Pacer::let_go, "now"_a)
      .def("forgive", &Pacer::forgive);
  nb::class_<Jitter>(module, "Jitter")
      .def(nb::init<>())
      .def("arrived", &Jitter::arrived, "sent"_a, "received"_a)
      .def_prop_ro("is_known", &Jitter::is_known)
      .def_prop_ro("ns", &Jitter::ns);
  nb::class_<Seen>(module, "Seen")
      .def(nb::init<std::int64_t, std::int64_t>(), "first"_a, "most"_a)
      .def_prop_ro("highest", &Seen::highest)
      .def("add", &Seen::add, "number"_a);
}

void define_datagrams(nb::module_& module) {
  define_policies(module);
  nb::class_<DatagramSocket> type(module, "Datagrams");
  type.def(nb::init<int, bool, bool, Ticks, Ticks>(), "fd"_a, "spins"_a, "yields"_a, "timeout_ns"_a,
           "shortest_ns"_a = Patience::kShortest_ns)
      .def("restart", &DatagramSocket::restart)
      .def("give_up", &DatagramSocket::give_up)
      .def_ro("patience", &DatagramSocket::patience);
  type.attr("patterns") = nb::make_tuple(nb::str(PingPong::name.data(), PingPong::name.size()),
                                         nb::str(Stream::name.data(), Stream::name.size()));
  type.attr("tick_ns") = DatagramSocket::kTick_ns;
  type.attr("number_size") = Head::kNumber;
  type.attr("stamped_size") = Head::kStamped;
  nb::class_<Tally>(module, "Tally")
      .def_ro("samples", &Tally::samples)
      .def_ro("start", &Tally::start)
      .def_ro("waited", &Tally::waited)
      .def_ro("sent", &Tally::sent)
      .def_ro("lost", &Tally::lost)
      .def_ro("late", &Tally::late)
      .def_ro("jitter", &Tally::jitter);
  define_end<DatagramPing, DatagramSource>(module, "initiate_datagrams");
  define_end<DatagramPong, DatagramSink>(module, "respond_datagrams");
}

const Part part("datagrams", define_datagrams);

}  // namespace

}  // namespace halftrip

// The Python module's loops with delays.
#pragma once

#include "../patterns/delayed.hpp"
#include "bindings.hpp"

namespace halftrip {

using DelayedPatterns = Patterns<DelayedPingPong, DelayedStream>;

// The initiator's part of the patterns of endpoint E that can have a delay.
template <BlockingEndpoint E>
void define_delayed(nb::module_& module) {
  module.def(
      "initiate_delayed",
      [](E& endpoint, std::string_view pattern, Ring& out, Ring& in, std::int64_t window,
         std::int64_t untimed, std::int64_t iterations, Int64s timestamps, std::string_view clock,
         Ticks delay, Ticks read_cost) {
        if (in.size() != out.size()) throw std::invalid_argument("out and in differ in size");
        const Timing timing{untimed, iterations, ticks(timestamps), {}, clock_named(clock)};
        const Delay spin(timing.clock, delay, read_cost);
        Buffers buffers{out, in, window};
        DelayedPatterns::with<E>(pattern, [&]<class Pattern>(Pattern) {
          initiate_delayed<Pattern>(endpoint, buffers, timing, spin);
        });
        out = buffers.out;
        in = buffers.in;
      },
      "endpoint"_a, "pattern"_a, "out"_a, "in_"_a, "window"_a, "untimed"_a, "iterations"_a,
      "timestamps"_a.noconvert(), "clock"_a, "delay"_a, "read_cost"_a, Released(),
      "As `initiate`, but for a delay between the send and the receive of a ping-pong, and between "
      "each two sends of a stream, in which this rank spins on the clock; ValueError for other "
      "patterns. `delay` is ticks. Timestamps do not count by how much the delays were longer, nor "
      "the time of their clock reads: `read_cost`, ticks, for each delay. The peer calls "
      "`respond`.");
}

// Of the endpoints of local.cpp, mpi.cpp, dragon.cpp and libfabric.cpp. They are in source files of
// their own: the compiler inlines the endpoints' functions into the other loops as if there were no
// delays.
void define_delayed_local(nb::module_& module);
void define_delayed_mpi(nb::module_& module);
void define_delayed_dragon(nb::module_& module);
void define_delayed_libfabric(nb::module_& module);

}  // namespace halftrip

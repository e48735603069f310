// What the source files of the Python module have in common.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "../clock.hpp"
#include "../clock_exchange.hpp"
#include "../endpoint.hpp"
#include "../patterns/duplex.hpp"
#include "../patterns/onesided.hpp"
#include "../patterns/pingpong.hpp"
#include "../patterns/stream.hpp"
#include "../timing.hpp"

namespace halftrip {

namespace nb = nanobind;
using namespace nb::literals;

using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Slots = nb::ndarray<std::uint8_t, nb::ndim<2>, nb::device::cpu>;
using Int64s = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// Timed code runs without the interpreter's lock.
using Released = nb::call_guard<nb::gil_scoped_release>;

inline std::span<std::byte> bytes(Bytes& array) {
  return {reinterpret_cast<std::byte*>(array.data()), array.shape(0)};
}

inline std::span<const std::byte> bytes(const ConstBytes& array) {
  return {reinterpret_cast<const std::byte*>(array.data()), array.shape(0)};
}

inline std::span<Ticks> ticks(Int64s& array) { return {array.data(), array.shape(0)}; }

// The start of `segment`. Throws std::invalid_argument unless it is at least `needed` bytes long
// and aligned to a cache line.
void* mapped(Bytes& segment, std::size_t needed);

// Calls run(clock) with the clock of that name.
template <class Run>
auto with_clock(std::string_view name, Run run) {
  if (name == CounterClock::name && CounterClock::exists()) return run(CounterClock{});
  if (name == MonotonicClock::name) return run(MonotonicClock{});
  throw std::invalid_argument("no such clock on this machine");
}

// That clock for timing loops.
inline AnyClock clock_named(std::string_view name) {
  return with_clock(
      name, []<class Clock>(Clock) { return AnyClock(std::is_same_v<Clock, CounterClock>); });
}

template <class... Pattern>
struct Patterns {
  // The names of the patterns that endpoint E can do.
  template <class E>
  static nb::list names() {
    nb::list names;
    (add<E, Pattern>(names), ...);
    return names;
  }

  // Calls run(pattern) with the pattern of that name.
  template <class E, class Run>
  static void with(std::string_view name, Run run) {
    if (!(with_one<E, Pattern>(name, run) || ...))
      throw std::invalid_argument("this endpoint cannot do that pattern");
  }

 private:
  template <class E, class P>
  static void add(nb::list& names) {
    if constexpr (P::template possible<E>) names.append(nb::str(P::name.data(), P::name.size()));
  }

  template <class E, class P, class Run>
  static bool with_one(std::string_view name, Run& run) {
    if constexpr (P::template possible<E>) {
      if (name == P::name) {
        run(P{});
        return true;
      }
    }
    return false;
  }
};

using AllPatterns =
    Patterns<PingPong, Stream, Bidirectional, Exchange, PingPing, Put, Get, PutPingPong>;

inline void check_receive_times(const Timing& timing, bool pattern_has_them) {
  if (!pattern_has_them) throw std::invalid_argument("this pattern has no receive times");
  if (timing.iterations != 1)
    throw std::invalid_argument("receive times need samples of one iteration each");
  if (timing.receive_times.size() + 1 != timing.timestamps.size())
    throw std::invalid_argument("there is one receive time between each two timestamps");
}

inline void check_arrivals(const Timing& timing, bool has_them) {
  if (!has_them) throw std::invalid_argument("this end of the pattern cannot say what arrives");
  if (timing.iterations != 1 || timing.untimed < 1)
    throw std::invalid_argument("arrivals need an untimed iteration, and samples of one each");
}

inline Touch touch_named(std::string_view name) {
  if (name == "none") return Touch::none;
  if (name == "untimed") return Touch::untimed;
  if (name == "timed") return Touch::timed;
  throw std::invalid_argument("a peer touches its memory none, untimed or timed");
}

// One end of a pattern. With a `touch`, the responder's `in` is its exposed memory.
template <class Pattern, bool initiates, class E>
void take_part(E& endpoint, Buffers& buffers, const Timing& timing, Touch touch) {
  if (touch == Touch::none) {
    if constexpr (initiates)
      initiate<Pattern>(endpoint, buffers, timing);
    else
      respond<Pattern>(endpoint, buffers, timing);
  } else if constexpr (is_passive<Pattern>) {
    if constexpr (initiates)
      initiate_touched<Pattern>(endpoint, buffers, timing, touch);
    else
      respond_touched<Pattern>(endpoint, buffers.in, buffers.window, timing);
  } else {
    throw std::invalid_argument("only a one-sided pattern has memory to touch");
  }
}

constexpr const char* kInitiateDoc =
    "Initiates `untimed` iterations first, then `iterations` between each two timestamps. `window` "
    "is the number of messages in an iteration, in patterns that have windows.\n\n`receive_times`, "
    "shape (samples,), ticks, is filled with the time from the beginning of each sample until its "
    "last receive completed. Only a bidirectional pattern has them, and only with one iteration in "
    "a sample; ValueError otherwise.\n\nWith `touch`, which both ends pass alike, the responder of "
    "a put or get reads or rewrites every cache line of each window: \"timed\", as part of the "
    "iteration, or \"untimed\", while the clock stands still; ValueError for other patterns. "
    "Timestamps do not count the time in which it stands.";
constexpr const char* kRespondDoc =
    "The other end of the same iterations. It leaves the timestamps unchanged in patterns where "
    "its clock reads would add to the initiator's times. With `touch`, `in_` is the memory that it "
    "exposes: each buffer with all bytes that a message spans.\n\nWith `arrivals`, in a ping-pong "
    "of an endpoint that `has_arrivals`, the timestamps are taken when a message has arrived, "
    "before the reply: the first in the last untimed iteration, of which there has to be one, each "
    "later one in its sample, of one iteration; ValueError elsewhere.";

// What endpoint E can do: single messages if it has them, and every pattern that it can carry.
template <class E>
nb::class_<E> define_endpoint(nb::module_& module, const char* name, const char* doc = "") {
  nb::class_<E> type(module, name, doc);
  type.attr("patterns") = nb::tuple(AllPatterns::names<E>());
  type.attr("has_arrivals") = has_arrivals<PingPong, E>;
  if constexpr (BlockingEndpoint<E> && !is_bound_to_buffers<E>) {
    type.def(
        "send",
        [](E& endpoint, ConstBytes out) {
          check_message(endpoint, out.shape(0));
          endpoint.send(bytes(out).data(), out.shape(0));
        },
        "out"_a.noconvert(), Released(),
        "Sends one message; the peer receives it with an array of the same size.");
    type.def(
        "recv",
        [](E& endpoint, Bytes in) {
          check_message(endpoint, in.shape(0));
          endpoint.recv(bytes(in).data(), in.shape(0));
        },
        "in_"_a.noconvert(), Released(), "Receives one message of exactly the array's size.");
  }
  const auto part = [&]<bool initiates>(const char* side, std::bool_constant<initiates>,
                                        const char* about) {
    module.def(
        side,
        [](E& endpoint, std::string_view pattern, Ring& out, Ring& in, std::int64_t window,
           std::int64_t untimed, std::int64_t iterations, Int64s timestamps, std::string_view clock,
           std::optional<Int64s> receive_times, std::string_view touch, bool arrivals) {
          if (in.size() != out.size()) throw std::invalid_argument("out and in differ in size");
          const Timing timing{untimed,
                              iterations,
                              ticks(timestamps),
                              receive_times ? ticks(*receive_times) : std::span<Ticks>(),
                              clock_named(clock),
                              arrivals};
          Buffers buffers{out, in, window};
          AllPatterns::with<E>(pattern, [&]<class Pattern>(Pattern) {
            if (receive_times) check_receive_times(timing, has_receive_times<Pattern>);
            if (arrivals) check_arrivals(timing, !initiates && has_arrivals<Pattern, E>);
            take_part<Pattern, initiates>(endpoint, buffers, timing, touch_named(touch));
          });
          out = buffers.out;
          in = buffers.in;
        },
        "endpoint"_a, "pattern"_a, "out"_a, "in_"_a, "window"_a, "untimed"_a, "iterations"_a,
        "timestamps"_a.noconvert(), "clock"_a, "receive_times"_a.noconvert() = nb::none(),
        "touch"_a = "none", "arrivals"_a = false, Released(), about);
  };
  part("initiate", std::true_type{}, kInitiateDoc);
  part("respond", std::false_type{}, kRespondDoc);
  if constexpr (BlockingEndpoint<E> && !is_bound_to_buffers<E>) {
    module.def(
        "compare_clocks",
        [](E& endpoint, std::int64_t most, std::int64_t longest_ns) {
          const ClockExchange found = compare_clocks(endpoint, most, longest_ns);
          return std::tuple(found.sent, found.answered, found.received);
        },
        "endpoint"_a, "most"_a, "longest_ns"_a, Released(),
        "The shortest of up to `most` exchanges within about `longest_ns` after the first, ns of "
        "CLOCK_MONOTONIC_RAW: when its message was sent, answered (by the peer's clock) and the "
        "answer received. The peer calls `answer_clocks`.");
    module.def("answer_clocks", &answer_clocks<E>, "endpoint"_a, Released(),
               "Answers the exchanges of the peer's `compare_clocks`, until its last.");
  }
  return type;
}

void define_local_endpoints(nb::module_& module);
void define_start_watch(nb::module_& module);

// A part of the module that a build may leave out. Each is a static object of its source file, so
// that the list of sources alone decides which parts there are.
class Part {
 public:
  using Define = void (*)(nb::module_& module);

  Part(const char* name, Define define) : name_(name), define_(define), next_(first_) {
    first_ = this;
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  // Defines every part there is, and `parts`, their names.
  static void define_all(nb::module_& module);

 private:
  static inline constinit Part* first_ = nullptr;

  const char* name_;
  Define define_;
  Part* next_;
};

}  // namespace halftrip

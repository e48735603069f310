// The Python module: clocks, endpoints, and the kernels that time them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <tuple>

#include "clock.hpp"
#include "endpoints/line.hpp"
#include "endpoints/mpi.hpp"
#include "endpoints/shm.hpp"
#include "endpoints/stream.hpp"
#include "patterns/copy.hpp"
#include "patterns/pingpong.hpp"
#include "wait.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace halftrip;

namespace {

using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Stamps = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Released = nb::call_guard<nb::gil_scoped_release>;

std::byte* bytes(Bytes& array) { return reinterpret_cast<std::byte*>(array.data()); }

std::span<const std::byte> bytes(const ConstBytes& array) {
  return {reinterpret_cast<const std::byte*>(array.data()), array.shape(0)};
}

std::span<Ticks> ticks(Stamps& array) { return {array.data(), array.shape(0)}; }

// Calls timed(clock) with the clock of that name.
template <class Timed>
auto with_clock(std::string_view name, Timed timed) {
  if (name == CounterClock::name && CounterClock::exists()) return timed(CounterClock{});
  if (name == MonotonicClock::name) return timed(MonotonicClock{});
  throw std::invalid_argument("no such clock on this machine");
}

void check_room(std::span<const std::byte> out, const Bytes& in) {
  if (in.shape(0) != out.size()) throw std::invalid_argument("out and in differ in size");
}

// Where a mapping begins that is at least `needed` bytes long and aligned to a cache line.
void* mapped(Bytes& segment, std::size_t needed) {
  if (segment.shape(0) < needed) throw std::invalid_argument("the segment is too small");
  if (reinterpret_cast<std::uintptr_t>(segment.data()) % kCacheLine != 0)
    throw std::invalid_argument("the segment is not aligned to a cache line");
  return segment.data();
}

// What endpoint E can do: single messages, and every pattern.
template <BlockingEndpoint E>
nb::class_<E> define_endpoint(nb::module_& module, const char* name) {
  nb::class_<E> type(module, name);
  type.def(
      "send", [](E& endpoint, ConstBytes out) { endpoint.send(bytes(out).data(), out.shape(0)); },
      "out"_a.noconvert(), Released());
  type.def(
      "recv", [](E& endpoint, Bytes in) { endpoint.recv(bytes(in), in.shape(0)); },
      "in_"_a.noconvert(), Released());
  module.def(
      "ping",
      [](E& endpoint, ConstBytes out, Bytes in, std::int64_t lead, std::int64_t batch,
         Stamps stamps, std::string_view clock) {
        check_room(bytes(out), in);
        with_clock(clock, [&]<class Clock>(Clock) {
          ping<Clock>(endpoint, bytes(out), bytes(in), lead, batch, ticks(stamps));
        });
      },
      "endpoint"_a, "out"_a.noconvert(), "in_"_a.noconvert(), "lead"_a, "batch"_a,
      "stamps"_a.noconvert(), "clock"_a, Released());
  module.def(
      "pong",
      [](E& endpoint, ConstBytes out, Bytes in, std::int64_t exchanges) {
        check_room(bytes(out), in);
        pong(endpoint, bytes(out), bytes(in), exchanges);
      },
      "endpoint"_a, "out"_a.noconvert(), "in_"_a.noconvert(), "exchanges"_a, Released());
  return type;
}

template <Wait wait>
void define_stream(nb::module_& module, const char* name) {
  define_endpoint<Stream<wait>>(module, name)
      .def(nb::init<int, int, bool>(), "in_fd"_a, "out_fd"_a, "yields"_a);
}

template <class Handle>
void define_mpi(nb::module_& module, const char* name) {
  define_endpoint<Mpi<Handle>>(module, name)
      .def(
          "__init__",
          [](Mpi<Handle>* self, std::uintptr_t send, std::uintptr_t recv,
             std::uintptr_t communicator, std::uintptr_t byte, int peer) {
            // The addresses of mpi4py's own handles: read here, because their type is known here.
            new (self) Mpi<Handle>(send, recv, *reinterpret_cast<Handle*>(communicator),
                                   *reinterpret_cast<Handle*>(byte), peer);
          },
          "send"_a, "recv"_a, "communicator"_a, "byte"_a, "peer"_a);
}

void define_clock(nb::module_& module) {
  module.attr("counter_clock") = CounterClock::exists() ? CounterClock::name : std::string_view();
  module.def(
      "clock_pair",
      [](std::string_view clock, int tries) {
        return with_clock(clock, [&]<class Clock>(Clock) {
          const ClockPair pair = clock_pair<Clock>(tries);
          return std::tuple(pair.ticks, pair.raw_ns, pair.spread);
        });
      },
      "clock"_a, "tries"_a, Released());
  module.def(
      "clock_figures",
      [](std::string_view clock) {
        return with_clock(clock, []<class Clock>(Clock) {
          const ClockFigures figures = clock_figures<Clock>();
          return std::tuple(figures.cost, figures.resolution);
        });
      },
      "clock"_a, Released());
}

void define_bounds(nb::module_& module) {
  define_endpoint<Line>(module, "Line")
      .def(
          "__init__",
          [](Line* self, Bytes segment) { new (self) Line(mapped(segment, kCacheLine)); },
          "segment"_a.noconvert(), nb::keep_alive<1, 2>());
  module.def(
      "copy",
      [](Bytes to, ConstBytes from, std::int64_t batch, Stamps stamps, std::string_view clock) {
        check_room(bytes(from), to);
        with_clock(clock, [&]<class Clock>(Clock) {
          copy<Clock>(bytes(from), bytes(to), batch, ticks(stamps));
        });
      },
      "to"_a.noconvert(), "from_"_a.noconvert(), "batch"_a, "stamps"_a.noconvert(), "clock"_a,
      Released());
}

void define_endpoints(nb::module_& module) {
  module.attr("shm_segment_size") = sizeof(ShmSegment);
  module.attr("probed_lines") = sizeof(ShmSegment::probed) / sizeof(ShmSegment::ProbedLine);
  module.attr("probed_line_size") = sizeof(ShmSegment::ProbedLine);
  define_endpoint<Shm>(module, "Shm")
      .def(
          "__init__",
          [](Shm* self, Bytes segment, unsigned side, bool yields) {
            if (side > 1) throw std::invalid_argument("side is 0 or 1");
            void* start = mapped(segment, sizeof(ShmSegment));
            new (self) Shm(static_cast<ShmSegment*>(start), side, yields);
          },
          "segment"_a.noconvert(), "side"_a, "yields"_a, nb::keep_alive<1, 2>());
  define_stream<Wait::block>(module, "BlockingStream");
  define_stream<Wait::spin>(module, "SpinningStream");
  define_mpi<int>(module, "MpiInt");
  define_mpi<void*>(module, "MpiPointer");
}

}  // namespace

NB_MODULE(_native, module) {
  nb::exception<Stopped>(module, "Stopped");
  nb::exception<PeerClosed>(module, "PeerClosed");
  nb::exception<MpiError>(module, "MpiError");
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const std::system_error& error) {
      errno = error.code().value();
      PyErr_SetFromErrno(PyExc_OSError);
    }
  });
  module.def("request_stop", [](bool stop) { stop_requested.store(stop); }, "stop"_a = true);
  define_clock(module);
  define_bounds(module);
  define_endpoints(module);
}

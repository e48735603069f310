// The Python module: clocks, buffers, endpoints, and the kernels that time them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <tuple>

#include "bindings.hpp"
#include "endpoints/mpi.hpp"
#include "patterns/copy.hpp"
#include "sequence.hpp"
#include "wait.hpp"

namespace halftrip {

namespace {

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

void define_copy(nb::module_& module) {
  module.def(
      "copy",
      [](Bytes to, ConstBytes from, std::int64_t batch, Stamps stamps, std::string_view clock) {
        if (to.shape(0) != from.shape(0)) throw std::invalid_argument("to and from differ in size");
        with_clock(clock, [&]<class Clock>(Clock) {
          copy<Clock>(bytes(from), bytes(to).data(), batch, ticks(stamps));
        });
      },
      "to"_a.noconvert(), "from_"_a.noconvert(), "batch"_a, "stamps"_a.noconvert(), "clock"_a,
      Released());
}

void define_buffers(nb::module_& module) {
  nb::class_<Ring>(module, "Ring")
      .def(
          "__init__",
          [](Ring* self, Slots slots) {
            if (slots.shape(1) > 1 && slots.stride(1) != 1)
              throw std::invalid_argument("a buffer's bytes do not lie side by side");
            const bool several = slots.shape(0) > 1;
            new (self)
                Ring(reinterpret_cast<std::byte*>(slots.data()), slots.shape(0), slots.shape(1),
                     several ? static_cast<std::size_t>(slots.stride(0)) : slots.shape(1));
          },
          "slots"_a.noconvert(), nb::keep_alive<1, 2>())
      .def_prop_ro("position", &Ring::position);
  module.def(
      "fill", [](Bytes array, std::uint64_t seed) { fill(bytes(array), seed); },
      "array"_a.noconvert(), "seed"_a, Released());
  module.def(
      "first_difference",
      [](ConstBytes array, std::uint64_t seed) -> std::optional<std::tuple<std::size_t, int>> {
        const Difference difference = first_difference(bytes(array), seed);
        if (difference.at == array.shape(0)) return std::nullopt;
        return std::tuple(difference.at, static_cast<int>(difference.expected));
      },
      "array"_a.noconvert(), "seed"_a);
}

}  // namespace

}  // namespace halftrip

NB_MODULE(_native, module) {
  using namespace halftrip;
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
  define_buffers(module);
  define_copy(module);
  define_local_endpoints(module);
  define_datagrams(module);
  define_mpi_endpoints(module);
}

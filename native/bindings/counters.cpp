// The Python module's counters of the processor and the kernel.
#include "../counters.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings.hpp"

namespace halftrip {

namespace {

void define_counters(nb::module_& module) {
  nb::class_<Counter>(module, "Counter",
                      "Counts for the thread that constructs it; `kind` and `config` are `type` "
                      "and `config` of perf_event_open(2). Counts in user mode, or `everywhere`: "
                      "in the kernel, too. `read` returns the count so far, and for how many ns it "
                      "has been enabled, and has run. Both raise OSError.")
      .def(nb::init<std::uint32_t, std::uint64_t, bool>(), "kind"_a, "config"_a, "everywhere"_a)
      .def("read", [](const Counter& self) {
        const auto [count, enabled, running] = self.read();
        return std::tuple(count, enabled, running);
      });
}

const Part part("counters", define_counters);

}  // namespace

}  // namespace halftrip

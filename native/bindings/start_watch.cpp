// The watch over the start of MPI.
#include "../start_watch.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"

namespace halftrip {

void define_start_watch(nb::module_& module) {
  nb::class_<StartWatch>(module, "StartWatch")
      .def(
          "__init__",
          [](StartWatch* self, std::string rank_variable, std::size_t ranks,
             std::map<int, std::string> signals, std::string reason, int status,
             std::vector<std::string> segments) {
            new (self) StartWatch({std::move(rank_variable), ranks, std::move(signals),
                                   std::move(reason), status, std::move(segments)});
          },
          "rank_variable"_a, "ranks"_a, "signals"_a, "reason"_a, "status"_a, "segments"_a)
      .def("stop", &StartWatch::stop, Released());
}

}  // namespace halftrip

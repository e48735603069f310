// The watch over the start of MPI.
#include "../start_watch.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"

namespace halftrip {

void define_start_watch(nb::module_& module) {
  nb::class_<StartWatch>(
      module, "StartWatch",
      "Ends this process with `status`, and a line on standard error, where a rank of this host "
      "ends while a call holds the interpreter's lock, or its parent does, or where there are "
      "fewer than `ranks` 3 s after the start (0: unknown); with 128 plus its number, and its "
      "text, where one of `signals` arrives. `rank_variable` is the variable that has a rank's "
      "number; `reason` is said instead of who has ended, if it is not empty; files in /dev/shm "
      "that this process maps and whose names begin as one of `segments` are removed. Raises "
      "OSError. It watches until `stop`.")
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

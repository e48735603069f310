// The loops with delays over the endpoints of mpi.cpp.
#include "../endpoints/mpi.hpp"
#include "delayed.hpp"

namespace halftrip {

void define_delayed_mpi(nb::module_& module) {
  define_delayed<Mpi<int>>(module);
  define_delayed<Mpi<void*>>(module);
}

}  // namespace halftrip

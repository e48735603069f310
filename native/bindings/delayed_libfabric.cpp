// The loops with delays over the endpoint of libfabric.cpp.
#include "../endpoints/libfabric.hpp"
#include "delayed.hpp"

namespace halftrip {

void define_delayed_libfabric(nb::module_& module) { define_delayed<LibfabricMessages>(module); }

}  // namespace halftrip

// The loops with delays over the endpoint of dragon.cpp.
#include "../endpoints/dragon.hpp"
#include "delayed.hpp"

namespace halftrip {

void define_delayed_dragon(nb::module_& module) { define_delayed<DragonChannel>(module); }

}  // namespace halftrip

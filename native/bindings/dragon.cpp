// The Python module's endpoint over Dragon channels.
#include "../endpoints/dragon.hpp"

#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "delayed.hpp"

namespace halftrip {

namespace {

const Part part("dragon", [](nb::module_& module) {
  nb::list names;
  for (const char* name : DragonCalls::kNames) names.append(name);
  module.attr("dragon_functions") = nb::tuple(names);
  define_endpoint<DragonChannel>(
      module, "DragonChannel",
      "`functions` are the addresses of libdragon's functions that `dragon_functions` names. "
      "Handles and pool are passed by address and stay the caller's. With `transfers`, each "
      "message is in new memory, which the receiver gets; else `out` has a copy in Dragon's "
      "memory. Raises DragonError.")
      .def(
          "__init__",
          [](DragonChannel* self, const std::vector<std::uintptr_t>& functions,
             std::uintptr_t send_handle, std::uintptr_t receive_handle, std::uintptr_t pool,
             Ring& out, bool transfers) {
            const auto pointer = [](std::uintptr_t address) {
              return reinterpret_cast<const void*>(address);
            };
            const DragonPath path{pointer(send_handle), pointer(receive_handle), pointer(pool)};
            new (self) DragonChannel(DragonCalls(functions), path, out, transfers);
          },
          "functions"_a, "send_handle"_a, "receive_handle"_a, "pool"_a, "out"_a, "transfers"_a,
          nb::keep_alive<1, 6>())
      .def("load", &DragonChannel::load, Released(),
           "Copies the buffers' present content into Dragon's memory, from where it is sent.");
  define_delayed_dragon(module);
});

}  // namespace

}  // namespace halftrip

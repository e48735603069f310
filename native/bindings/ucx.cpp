// The Python module's endpoints over UCX.
#include "../endpoints/ucx.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "../endpoints/ucx_window.hpp"
#include "bindings.hpp"
#include "staged.hpp"

namespace halftrip {

namespace {

nb::bytes as_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// The blocking and the nonblocking endpoint over one of UCX's interfaces.
template <class Interface>
void define_interface(nb::module_& module, const std::string& name) {
  define_endpoint<Ucx<Interface>>(module, name.c_str())
      .def(nb::init<UcxWorker&>(), "worker"_a, nb::keep_alive<1, 2>())
      .def_ro_static("feature", &Interface::kFeature);
  define_messages<Ucx<Interface>>(module);
  define_endpoint<UcxNonblocking<Interface>>(
      module, (name + "Nonblocking").c_str(),
      "Iterations have at most `max_window` messages each way.")
      .def(nb::init<UcxWorker&, std::size_t>(), "worker"_a, "max_window"_a, nb::keep_alive<1, 2>());
}

const Part part("ucx", [](nb::module_& module) {
  nb::list names;
  for (const char* name : ucp::Calls::kNames) names.append(name);
  module.attr("ucx_functions") = nb::tuple(names);
  module.attr("ucx_rma") = ucp::kRma | ucp::kTag;
  nb::class_<UcxWorker>(
      module, "UcxWorker",
      "A context and a worker of UCX's, for a path. `functions` are the addresses of the functions "
      "that `ucx_functions` names, `minor` the version of the API, `features` those of an endpoint "
      "or `ucx_rma`, and `settings` are those of UCX by name, without UCX_. Raises LibraryError.")
      .def(
          "__init__",
          [](UcxWorker* self, const std::vector<std::uintptr_t>& functions, unsigned minor,
             std::uint64_t features, const UcxWorker::Settings& settings, bool sleeps,
             bool yields) {
            new (self) UcxWorker(ucp::Calls(functions), minor, features, settings, sleeps, yields);
          },
          "functions"_a, "minor"_a, "features"_a, "settings"_a, "sleeps"_a, "yields"_a)
      .def_prop_ro("address", [](const UcxWorker& self) { return as_bytes(self.address()); })
      .def(
          "connect", [](UcxWorker& self, const nb::bytes& address) { self.connect(view(address)); },
          "address"_a, "Takes the address of the peer's worker. Raises LibraryError.")
      .def_prop_ro("connection", &UcxWorker::connection, "What UCX prints of the connection.")
      .def_prop_ro("resources", &UcxWorker::resources, "What UCX prints of what it could use.")
      .def_prop_ro("memory_types", &UcxWorker::memory_types,
                   "A bit for each kind of memory that UCX takes: 1 the host's, 2 CUDA's.")
      .def("settle", &UcxWorker::settle, Released(),
           "Waits, for a moment at most, until what was sent has left.")
      .def("close", &UcxWorker::close, "Its endpoints and memory are of no use then.");
  define_interface<UcxTagged>(module, "UcxTag");
  define_interface<UcxActive>(module, "UcxAm");
  define_interface<UcxStreamed>(module, "UcxStream");
  nb::class_<UcxMemory>(module, "UcxMemory",
                        "Memory of `size` bytes that the peer of a worker can reach by its `key`. "
                        "Raises LibraryError.")
      .def(nb::init<UcxWorker&, std::size_t>(), "worker"_a, "size"_a, nb::keep_alive<1, 2>())
      .def_prop_ro("address", &UcxMemory::address)
      .def_prop_ro("key", [](const UcxMemory& self) { return as_bytes(self.key()); })
      .def("close", &UcxMemory::close, "Frees it.");
  define_endpoint<UcxWindow>(
      module, "UcxWindow",
      "Reaches into the peer's memory, by its key: its buffers are in `room` bytes at `address`.")
      .def(
          "__init__",
          [](UcxWindow* self, UcxWorker& worker, const nb::bytes& key, std::uint64_t address,
             std::size_t room) { new (self) UcxWindow(worker, view(key), address, room); },
          "worker"_a, "key"_a, "address"_a, "room"_a, nb::keep_alive<1, 2>());
});

}  // namespace

}  // namespace halftrip

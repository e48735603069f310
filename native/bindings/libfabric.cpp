// The Python module's endpoints over libfabric.
#include "../endpoints/libfabric.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../endpoints/libfabric_window.hpp"
#include "bindings.hpp"
#include "delayed.hpp"
#include "staged.hpp"

namespace halftrip {

namespace {

nb::bytes bytes_of(const std::vector<std::byte>& found) {
  return nb::bytes(found.data(), found.size());
}

const Part part("libfabric", [](nb::module_& module) {
  nb::class_<LibfabricOffer>(module, "LibfabricOffer",
                             "What a provider offers: see native/libfabric.hpp. Sizes in bytes.")
      .def_ro("provider", &LibfabricOffer::provider)
      .def_ro("domain", &LibfabricOffer::domain)
      .def_ro("protocol", &LibfabricOffer::protocol)
      .def_ro("version", &LibfabricOffer::version)
      .def_ro("rma", &LibfabricOffer::rma)
      .def_ro("inject", &LibfabricOffer::inject)
      .def_ro("most", &LibfabricOffer::most)
      .def_ro("sends", &LibfabricOffer::sends)
      .def_ro("receives", &LibfabricOffer::receives);
  nb::class_<LibfabricHints>(module, "LibfabricHints",
                             "Which endpoints are asked for: between ranks of the same host or of "
                             "different ones, and with `rma` those whose memory can be reached. "
                             "An empty `provider` or `domain` is any.")
      .def(
          "__init__",
          [](LibfabricHints* self, std::string provider, std::string domain, bool same_host,
             bool rma) {
            new (self) LibfabricHints{std::move(provider), std::move(domain), same_host, rma};
          },
          "provider"_a, "domain"_a, "same_host"_a, "rma"_a);
  nb::class_<Libfabric>(module, "Libfabric",
                        "The library in `file`, which the dynamic linker finds if it is no path. "
                        "Raises LibraryError.")
      .def(nb::init<const std::string&>(), "file"_a)
      .def_prop_ro("version", &Libfabric::version, "Major << 16 | minor.")
      .def_prop_ro("file", &Libfabric::file)
      .def_prop_ro("settings", &Libfabric::settings,
                   "The environment variables of its settings, with their values, empty where they "
                   "are not set, and what it says of them.")
      .def("offers", &Libfabric::offers, "hints"_a, Released(),
           "What fits the hints, the library's first choice first. Raises LibraryError.");
  nb::class_<LibfabricPath>(
      module, "LibfabricPath",
      "One end of a path over the first that fits the hints, for one thread. With `blocks`, waits "
      "sleep; else they poll, and with `yields` give the core away between polls. Raises "
      "LibraryError.")
      .def(nb::init<const Libfabric&, const LibfabricHints&, bool, bool>(), "library"_a, "hints"_a,
           "blocks"_a, "yields"_a, nb::keep_alive<1, 2>(), Released())
      .def_prop_ro("taken", &LibfabricPath::taken)
      .def_prop_ro(
          "address", [](const LibfabricPath& path) { return bytes_of(path.address()); },
          "What the peer's `connect` takes.")
      .def(
          "connect",
          [](LibfabricPath& path, nb::bytes address) {
            path.connect({static_cast<const std::byte*>(address.data()), address.size()});
          },
          "address"_a)
      .def(
          "expose",
          [](LibfabricPath& path, std::uintptr_t pointer, std::size_t size) {
            const auto [key, base] = path.expose(reinterpret_cast<std::byte*>(pointer), size);
            return std::tuple(key, base);
          },
          "pointer"_a, "size"_a,
          "Lets the peer reach `size` bytes at the address `pointer`: the key, and the address by "
          "which they begin for the peer.")
      .def("hide", &LibfabricPath::hide, "key"_a, "Ends the access to what has that key.")
      .def("close", &LibfabricPath::close, Released(),
           "Gives everything back; a second time does nothing.");
  define_endpoint<LibfabricMessages>(module, "LibfabricMessages")
      .def(nb::init<LibfabricPath&>(), "path"_a, nb::keep_alive<1, 2>());
  define_messages<LibfabricMessages>(module);
  define_delayed_libfabric(module);
  define_endpoint<LibfabricNonblocking>(module, "LibfabricNonblocking",
                                        "Iterations have at most `max_window` messages each way.")
      .def(nb::init<LibfabricPath&, std::size_t>(), "path"_a, "max_window"_a,
           nb::keep_alive<1, 2>());
  define_endpoint<LibfabricWindow>(
      module, "LibfabricWindow",
      "The peer's memory of `size` bytes, which begins at `address` for `key`.")
      .def(nb::init<LibfabricPath&, std::size_t, std::uint64_t, std::uint64_t, std::size_t>(),
           "path"_a, "max_window"_a, "address"_a, "key"_a, "size"_a, nb::keep_alive<1, 2>());
});

}  // namespace

}  // namespace halftrip

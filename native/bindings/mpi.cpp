// The Python module's MPI endpoints.
#include "../endpoints/mpi.hpp"

#include <nanobind/stl/vector.h>

#include <limits>
#include <string>

#include "../endpoints/mpi_requests.hpp"
#include "../endpoints/mpi_window.hpp"
#include "bindings.hpp"
#include "delayed.hpp"
#include "staged.hpp"

namespace halftrip {

namespace {

// mpi4py gives the addresses of its handles. They are read here, where their type is known.
template <class Handle>
Handle handle_at(std::uintptr_t address) {
  return *reinterpret_cast<Handle*>(address);
}

// The types for one kind of handle; `kind` is the end of their names.
template <class Handle>
void define_mpi(nb::module_& module, const std::string& kind) {
  using Path = MpiPath<Handle>;
  const auto name = [&](const char* type) { return type + kind; };
  nb::class_<Path>(
      module, name("MpiPath").c_str(),
      "The types of MPI exist for each kind of handle: int or pointer. Handles are "
      "passed by address; `functions` of its endpoints are the addresses of MPI's "
      "functions, in the order that native/endpoints/mpi*.hpp says. A message of "
      "`typed_size` bytes is one element of `datatype`, which spans `typed_extent` "
      "bytes of memory; all others, and all where `typed_size` is 0, are plain bytes, of "
      "which the functions count at most so many.")
      .def(
          "__init__",
          [](Path* self, std::uintptr_t communicator, std::uintptr_t byte, std::uintptr_t datatype,
             std::size_t typed_size, std::size_t typed_extent, int peer, int tag,
             std::size_t most) {
            new (self) Path{handle_at<Handle>(communicator),
                            handle_at<Handle>(byte),
                            handle_at<Handle>(datatype),
                            typed_size,
                            typed_extent,
                            most,
                            peer,
                            tag};
          },
          "communicator"_a, "byte"_a, "datatype"_a, "typed_size"_a, "typed_extent"_a, "peer"_a,
          "tag"_a, "most"_a = std::size_t{std::numeric_limits<int>::max()});
  define_endpoint<Mpi<Handle>>(module, name("Mpi").c_str())
      .def(nb::init<Path, const MpiAddresses&>(), "path"_a, "functions"_a);
  define_messages<Mpi<Handle>>(module);
  define_endpoint<MpiNonblocking<Handle>>(module, name("MpiNonblocking").c_str(),
                                          "Iterations have at most `max_window` messages each way.")
      .def(nb::init<Path, const MpiAddresses&, std::size_t>(), "path"_a, "functions"_a,
           "max_window"_a);
  define_endpoint<MpiPersistent<Handle>>(
      module, name("MpiPersistent").c_str(),
      "Iterations have at most `max_window` messages each way, in these buffers. Raises MpiError "
      "if a request cannot be made, after freeing the requests before it.")
      .def(nb::init<Path, const MpiAddresses&, Ring, Ring, std::size_t>(), "path"_a, "functions"_a,
           "out"_a, "in_"_a, "max_window"_a, nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>());
  define_endpoint<MpiWindow<Handle>>(
      module, name("MpiWindow").c_str(),
      "The peer's memory in `window` has `size` bytes; its buffers begin at `base`.")
      .def(
          "__init__",
          [](MpiWindow<Handle>* self, Path path, const MpiAddresses& functions,
             std::uintptr_t window, int target, std::size_t base, std::size_t size) {
            new (self)
                MpiWindow<Handle>(path, functions, handle_at<Handle>(window), target, base, size);
          },
          "path"_a, "functions"_a, "window"_a, "target"_a, "base"_a, "size"_a);
}

const Part part("mpi", [](nb::module_& module) {
  define_mpi<int>(module, "Int");
  define_mpi<void*>(module, "Pointer");
  define_delayed_mpi(module);
});

}  // namespace

}  // namespace halftrip

// The Python module's staged endpoints, and the streams of a device that they copy with.
#include "staged.hpp"

#include <nanobind/stl/vector.h>

#include "../endpoints/shm.hpp"
#include "../endpoints/stream.hpp"

namespace halftrip {

void define_staged(nb::module_& module) {
  nb::class_<CudaStream>(module, "CudaStream",
                         "A stream of a CUDA device, whose context has to be current in the thread "
                         "that uses it. `functions` are the addresses of the driver's functions, "
                         "in the order that native/cuda.hpp says; `batch` is that of "
                         "cuMemcpyBatchAsync, where copy engines shall copy between devices, or 0.")
      .def(nb::init<const std::vector<std::uintptr_t>&, std::uintptr_t, std::uintptr_t>(),
           "functions"_a, "batch"_a, "stream"_a);
  nb::class_<Messages>(module, "Messages", "An endpoint that staged messages are sent with.");
  define_messages<Shm>(module);
  define_messages<ByteStream<Wait::block, AnyDescriptor>>(module);
  define_messages<ByteStream<Wait::spin, AnyDescriptor>>(module);
  define_messages<ByteStream<Wait::poll, AnyDescriptor>>(module);
  define_messages<ByteStream<Wait::block, Socket>>(module);
  define_messages<ByteStream<Wait::spin, Socket>>(module);
  define_messages<ByteStream<Wait::poll, Socket>>(module);
  define_messages<ByteStream<Wait::block, Socket, SeveralConnections>>(module);
  define_messages<ByteStream<Wait::spin, Socket, SeveralConnections>>(module);
  define_messages<ByteStream<Wait::poll, Socket, SeveralConnections>>(module);
  define_endpoint<Staged>(
      module, "Staged",
      "Messages in a device's memory, which `stream` copies to and from the host's memory at the "
      "address `stage`: two parts of `part` bytes. Without a stream they are in the host's memory. "
      "They are sent in pieces of `chunk` bytes; 0: whole.")
      .def(
          "__init__",
          [](Staged* self, Messages& messages, CudaStream* stream, std::uintptr_t stage,
             std::size_t part, std::size_t chunk) {
            new (self) Staged(messages, stream, reinterpret_cast<std::byte*>(stage), part, chunk);
          },
          "messages"_a, "stream"_a.none(), "stage"_a, "part"_a, "chunk"_a, nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>());
}

}  // namespace halftrip

// The Python module's endpoints over CUDA devices.
#include <nanobind/stl/vector.h>

#include <cstddef>

#include "../endpoints/cuda_ipc.hpp"
#include "../endpoints/nccl.hpp"
#include "../patterns/device_copy.hpp"
#include "bindings.hpp"

namespace halftrip {

namespace {

// An endpoint has a copy of its link, which counts on by itself: a link serves one.
void define_ipc(nb::module_& module) {
  module.attr("cuda_ipc_segment_size") = sizeof(CudaIpcSegment);
  nb::class_<CudaIpcLink>(
      module, "CudaIpcLink",
      "One end of what two processes say to each other of memory that both have opened: for one "
      "endpoint, which goes on from there. Both map `segment`, `cuda_ipc_segment_size` bytes, "
      "zeros at first; the device knows it by the address `device_segment`. `side` is 0 or 1.")
      .def(
          "__init__",
          [](CudaIpcLink* self, CudaStream& stream, Bytes segment, std::uintptr_t device_segment,
             unsigned side, bool yields) {
            if (side > 1) throw std::invalid_argument("side is 0 or 1");
            void* start = mapped(segment, sizeof(CudaIpcSegment));
            const std::size_t word = side * sizeof(CudaIpcEnd) + offsetof(CudaIpcEnd, arrived);
            new (self) CudaIpcLink(stream, static_cast<CudaIpcSegment*>(start), side,
                                   device_segment + word, yields);
          },
          "stream"_a, "segment"_a.noconvert(), "device_segment"_a, "side"_a, "yields"_a,
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
  define_endpoint<CudaIpc>(module, "CudaIpc", "Copies into the peer's receive buffers, `target`.")
      .def(nb::init<const CudaIpcLink&, const Ring&>(), "link"_a, "target"_a,
           nb::keep_alive<1, 2>());
  define_endpoint<CudaIpcNonblocking>(module, "CudaIpcNonblocking",
                                      "Iterations have at most `max_window` messages each way.")
      .def(nb::init<const CudaIpcLink&, const Ring&, std::size_t>(), "link"_a, "target"_a,
           "max_window"_a, nb::keep_alive<1, 2>());
  define_endpoint<CudaIpcWindow>(
      module, "CudaIpcWindow",
      "The peer's memory is at the address `window` here, and has `size` bytes.")
      .def(
          "__init__",
          [](CudaIpcWindow* self, const CudaIpcLink& link, std::uintptr_t window,
             std::size_t size) {
            new (self) CudaIpcWindow(link, reinterpret_cast<std::byte*>(window), size);
          },
          "link"_a, "window"_a, "size"_a, nb::keep_alive<1, 2>());
}

void define_nccl(nb::module_& module) {
  nb::list names;
  for (const char* name : NcclCalls::kNames) names.append(name);
  module.attr("nccl_functions") = nb::tuple(names);
  nb::class_<NcclLink>(
      module, "NcclLink",
      "Messages to one other rank, for one endpoint. `functions` are the addresses of NCCL's "
      "functions that `nccl_functions` names. `comm` is a communicator in which the other end is "
      "rank `peer`; `ack` the address of a byte of the device's memory, for acknowledgements.")
      .def(
          "__init__",
          [](NcclLink* self, const std::vector<std::uintptr_t>& functions, CudaStream& stream,
             std::uintptr_t comm, int peer, std::uintptr_t ack) {
            new (self) NcclLink(NcclCalls(functions), stream, comm, peer, ack);
          },
          "functions"_a, "stream"_a, "comm"_a, "peer"_a, "ack"_a, nb::keep_alive<1, 3>());
  define_endpoint<Nccl>(module, "Nccl")
      .def(nb::init<const NcclLink&>(), "link"_a, nb::keep_alive<1, 2>());
  define_endpoint<NcclNonblocking>(module, "NcclNonblocking")
      .def(nb::init<const NcclLink&>(), "link"_a, nb::keep_alive<1, 2>());
}

template <class... Each>
void time_on_device(std::int64_t count, Int64s& timestamps, std::string_view clock, Each&... each) {
  with_clock(clock, [&]<class Clock>(Clock) {
    begin_and_finish<Clock>(count, ticks(timestamps), each...);
  });
}

void define_bounds(nb::module_& module) {
  module.def(
      "device_copy",
      [](CudaStream& stream, std::uintptr_t to, std::uintptr_t from, std::size_t size,
         std::int64_t count, Int64s timestamps, std::string_view clock, CudaStream* back,
         std::uintptr_t back_to, std::uintptr_t back_from) {
        const auto copy = [&](CudaStream& on, std::uintptr_t target, std::uintptr_t source) {
          return DeviceCopy{on, reinterpret_cast<void*>(target),
                            reinterpret_cast<const void*>(source), size};
        };
        DeviceCopy there = copy(stream, to, from);
        if (back == nullptr) return time_on_device(count, timestamps, clock, there);
        DeviceCopy here = copy(*back, back_to, back_from);
        time_on_device(count, timestamps, clock, there, here);
      },
      "stream"_a, "to"_a, "from_"_a, "size"_a, "count"_a, "timestamps"_a.noconvert(), "clock"_a,
      "back"_a = nb::none(), "back_to"_a = 0, "back_from"_a = 0, Released(),
      "Copies `size` bytes `count` times between each two timestamps, and waits for each; with "
      "`back`, as many go from `back_from` to `back_to` at the same time. Raises DeviceError.");
  module.def(
      "device_kernel",
      [](CudaStream& stream, std::uintptr_t launch, std::uintptr_t function, std::int64_t count,
         Int64s timestamps, std::string_view clock) {
        EmptyKernel kernel{stream, reinterpret_cast<EmptyKernel::Launch>(launch),
                           reinterpret_cast<void*>(function)};
        time_on_device(count, timestamps, clock, kernel);
      },
      "stream"_a, "launch"_a, "function"_a, "count"_a, "timestamps"_a.noconvert(), "clock"_a,
      Released(),
      "Launches an empty kernel `count` times between each two timestamps, and waits for each. "
      "`launch` is the address of cuLaunchKernel. Raises DeviceError.");
}

const Part part("cuda", [](nb::module_& module) {
  define_bounds(module);
  define_ipc(module);
  define_nccl(module);
});

}  // namespace

}  // namespace halftrip

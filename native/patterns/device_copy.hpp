// What a device's copies and waits take, by the host's clock: the bounds on every path to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "../clock.hpp"
#include "../cuda.hpp"

namespace halftrip {

// A copy on a stream; of no bytes: the stream is idle when it is waited for.
struct DeviceCopy {
  CudaStream& stream;
  void* to;
  const void* from;
  std::size_t size;

  void begin() { stream.copy(to, from, size); }
  void finish() { stream.synchronize(); }
};

// `count` times between two timestamps, begin() of all, then finish() of all.
template <class Clock, class... Each>
void begin_and_finish(std::int64_t count, std::span<Ticks> timestamps, Each&... each) {
  for (Ticks& timestamp : timestamps) {
    if (&timestamp != timestamps.data()) {
      for (std::int64_t i = 0; i < count; ++i) {
        (each.begin(), ...);
        (each.finish(), ...);
      }
    }
    timestamp = Clock::now();
  }
}

// An empty kernel, of one thread; `launch` is cuLaunchKernel.
struct EmptyKernel {
  using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void*, void**, void**);

  CudaStream& stream;
  Launch launch;
  void* function;

  void begin() {
    stream.check("cuLaunchKernel",
                 launch(function, 1, 1, 1, 1, 1, 1, 0, stream.handle(), nullptr, nullptr));
  }
  void finish() { stream.synchronize(); }
};

}  // namespace halftrip

// The Python module: clocks, buffers, endpoints, and the kernels that time them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "../errors.hpp"
#include "../patterns/copy.hpp"
#include "../sequence.hpp"
#include "../wait.hpp"
#include "bindings.hpp"
#include "delayed.hpp"
#include "staged.hpp"

namespace halftrip {

namespace {

void define_clock(nb::module_& module) {
  module.attr("clock_reads") = kClockReads;
  module.attr("clock_reads_with_receive_times") = kClockReadsWithReceiveTimes;
  module.attr("clock_reads_with_arrivals") = kClockReadsWithArrivals;
  module.attr("counter_clock") = CounterClock::exists() ? CounterClock::name : std::string_view();
  module.def(
      "clock_pair",
      [](std::string_view clock, int tries) {
        return with_clock(clock, [&]<class Clock>(Clock) {
          const ClockPair pair = clock_pair<Clock>(tries);
          return std::tuple(pair.ticks, pair.raw_ns, pair.spread);
        });
      },
      "clock"_a, "tries"_a, Released(),
      "One moment in ticks and in ns of CLOCK_MONOTONIC_RAW, and its uncertainty in ticks: the "
      "best of `tries` readings.");
  module.def(
      "clock_figures",
      [](std::string_view clock) {
        return with_clock(clock, []<class Clock>(Clock) {
          const ClockFigures figures = clock_figures<Clock>();
          return std::tuple(figures.cost, figures.resolution);
        });
      },
      "clock"_a, Released(),
      "The cost of a reading, and the smallest step between two readings, both in ticks.");
}

void define_waiting(nb::module_& module) {
  module.def(
      "request_stop", [](bool stop) { stop_requested.store(stop); }, "stop"_a = true,
      "Makes every wait of every kernel in this process raise Stopped, until called with False.");
  module.def("calibrate_poll_pause", &calibrate_poll_pause, Released(),
             "How many pause instructions of this core make about 35 ns, from 1 to 16. Measures "
             "and sets nothing; takes up to half a millisecond. To be called after pinning.");
  module.def(
      "poll_pause", [] { return poll_pause.load(); },
      "How many pause instructions lie between two polls of shared memory; 3 until it is set.");
  module.def(
      "set_poll_pause",
      [](int pause) {
        if (pause < 1 || pause > kMostPollPause)
          throw std::invalid_argument("a poll pause is from 1 to " +
                                      std::to_string(kMostPollPause));
        poll_pause.store(pause);
      },
      "pause"_a,
      "Sets what `poll_pause` returns, for every kernel of this process. Raises ValueError unless "
      "it is from 1 to 16.");
}

void define_copy(nb::module_& module) {
  module.def(
      "copy",
      [](Bytes to, ConstBytes from, std::int64_t copies, Int64s timestamps, std::string_view clock,
         bool by_kernel) {
        if (to.shape(0) != from.shape(0)) throw std::invalid_argument("to and from differ in size");
        with_clock(clock, [&]<class Clock>(Clock) {
          if (by_kernel)
            copy<Clock>(ProcessCopy{}, bytes(from), bytes(to).data(), copies, ticks(timestamps));
          else
            copy<Clock>(MemoryCopy{}, bytes(from), bytes(to).data(), copies, ticks(timestamps));
        });
      },
      "to"_a.noconvert(), "from_"_a.noconvert(), "copies"_a, "timestamps"_a.noconvert(), "clock"_a,
      "by_kernel"_a = false, Released(),
      "Copies `copies` times between each two timestamps: by memcpy, or `by_kernel` with "
      "process_vm_readv. Raises OSError.");
}

// Where the buffers of an array of shape (slots, bytes) are. Throws std::invalid_argument where the
// bytes of a buffer are apart.
std::byte* first_buffer(Slots& slots) {
  if (slots.shape(1) > 1 && slots.stride(1) != 1)
    throw std::invalid_argument("a buffer's bytes do not lie side by side");
  return reinterpret_cast<std::byte*>(slots.data());
}

// Calls each(buffer, layout, seed) for the buffers of those numbers until one call returns false.
template <class Each>
void each_message(Slots& slots, Layout layout, Int64s& numbers, Int64s& seeds, Each each) {
  if (numbers.shape(0) != seeds.shape(0))
    throw std::invalid_argument("numbers and seeds differ in length");
  const std::size_t words = (layout.size + 7) / 8;
  if (layout.step < 8 ||
      (words > 0 && (words - 1) * layout.step + layout.size - 8 * (words - 1) > slots.shape(1)))
    throw std::invalid_argument("the message does not fit into its buffer");
  std::byte* first = first_buffer(slots);
  for (std::size_t i = 0; i < numbers.shape(0); ++i) {
    const std::int64_t number = numbers.data()[i];
    if (number < 0 || static_cast<std::size_t>(number) >= slots.shape(0))
      throw std::invalid_argument("there is no buffer of that number");
    if (!each(first + number * slots.stride(0), layout,
              static_cast<std::uint64_t>(seeds.data()[i])))
      return;
  }
}

void define_buffers(nb::module_& module) {
  nb::class_<Ring>(
      module, "Ring",
      "One or more buffers that are used in turn, shape (slots, bytes). Raises ValueError unless "
      "the bytes of each are contiguous and the buffers are in ascending order of addresses.")
      .def(
          "__init__",
          [](Ring* self, Slots slots) {
            std::byte* first = first_buffer(slots);
            if (slots.shape(0) == 0) throw std::invalid_argument("a ring has at least one buffer");
            const bool several = slots.shape(0) > 1;
            if (several && slots.stride(0) < 0)
              throw std::invalid_argument("the buffers do not lie in the order of their numbers");
            new (self) Ring(first, slots.shape(0), slots.shape(1),
                            several ? static_cast<std::size_t>(slots.stride(0)) : slots.shape(1));
          },
          "slots"_a.noconvert(), nb::keep_alive<1, 2>())
      .def(
          "__init__",
          [](Ring* self, std::uintptr_t first, std::size_t slots, std::size_t size,
             std::size_t stride) {
            if (slots == 0) throw std::invalid_argument("a ring has at least one buffer");
            if (slots > 1 && stride < size) throw std::invalid_argument("the buffers overlap");
            new (self) Ring(reinterpret_cast<std::byte*>(first), slots, size, stride);
          },
          "first"_a, "slots"_a, "size"_a, "stride"_a,
          "In any memory, which stays the caller's: `slots` buffers of `size` bytes, the first at "
          "the address `first`, from one to the next `stride` bytes.")
      .def_prop_ro("position", &Ring::position, "The number of the next buffer.");
  module.def(
      "fill",
      [](Slots slots, std::size_t size, std::size_t step, Int64s numbers, Int64s seeds) {
        each_message(slots, {size, step}, numbers, seeds,
                     [](std::byte* buffer, Layout layout, auto seed) {
                       fill(buffer, layout, seed);
                       return true;
                     });
      },
      "slots"_a.noconvert(), "size"_a, "step"_a, "numbers"_a.noconvert(), "seeds"_a.noconvert(),
      Released(),
      "Writes a message for each of `seeds` into the buffers `numbers` of `slots`, shape (slots, "
      "bytes): `size` bytes, in words of 8 bytes that are `step` bytes apart.");
  module.def(
      "first_difference",
      [](Slots slots, std::size_t size, std::size_t step, Int64s numbers, Int64s seeds,
         std::size_t header) -> std::optional<std::tuple<std::size_t, int, int>> {
        std::optional<Difference> found;
        each_message(slots, {size, step}, numbers, seeds,
                     [&](std::byte* buffer, Layout layout, auto seed) {
                       found = first_difference(buffer, layout, seed, header);
                       return !found;
                     });
        if (!found) return std::nullopt;
        return std::tuple(found->at, static_cast<int>(found->expected),
                          static_cast<int>(found->found));
      },
      "slots"_a.noconvert(), "size"_a, "step"_a, "numbers"_a.noconvert(), "seeds"_a.noconvert(),
      "header"_a, Released(),
      "The first byte that differs from the messages of `fill`: its offset in its message, the "
      "expected value, and the found one; None if all are equal. The first `header` bytes of each "
      "message are not compared.");
}

}  // namespace

void Part::define_all(nb::module_& module) {
  // The order of static objects of several files is the linker's.
  std::vector<const Part*> parts;
  for (const Part* part = first_; part != nullptr; part = part->next_) parts.push_back(part);
  std::ranges::sort(parts, {}, [](const Part* part) { return std::string_view(part->name_); });
  nb::list names;
  for (const Part* part : parts) {
    part->define_(module);
    names.append(nb::str(part->name_));
  }
  module.attr("parts") = nb::tuple(names);
}

}  // namespace halftrip

NB_MODULE(_native, module) {
  module.doc() =
      "The native part: clocks, endpoints, and the kernels that time them.\n\nArrays are never "
      "copied or converted. `timestamps` are the caller's, shape (samples + 1,), in ticks of the "
      "clock named; `counter_clock` is empty where the processor's counter cannot be used. Kernels "
      "release the interpreter's lock, and raise Stopped, PeerClosed, MpiError, DragonError, "
      "LibraryError or OSError; ValueError where an endpoint cannot carry the buffers.\n\n`parts` "
      "are the optional "
      "parts of this build, see the options of CMakeLists.txt. The module lacks the names of a "
      "missing part, but never the exceptions.\n\n`clock_reads` is how often a sample of "
      "`initiate` or `respond` reads the clock, `clock_reads_with_receive_times` and "
      "`clock_reads_with_arrivals` with these. `cache_line` is the size of a cache line. Two Shm "
      "share any number of segments of `shm_segment_size` bytes, of which they use one at a time. "
      "From "
      "these sizes on, bytes, Shm sends a message in another way: `shm_line`, longer than what "
      "shares the cache line of its number, `shm_short`, than what is copied line by line, "
      "`shm_nontemporal`, by non-temporal stores unless it is a reply, and "
      "`shm_smallest_chunk` to `shm_largest_chunk`, of which `shm_slots` slots take one each.";
  // A process leaves without collecting garbage: what is left then is no leak.
  nanobind::set_leak_warnings(false);
  using namespace halftrip;
  nb::exception<Stopped>(module, "Stopped");
  nb::exception<PeerClosed>(module, "PeerClosed");
  const nb::exception<NoAnswer> no_answer(module, "NoAnswer");
  nb::exception<VersionMismatch>(module, "VersionMismatch", no_answer);
  nb::exception<MpiError>(module, "MpiError");
  nb::exception<DragonError>(module, "DragonError");
  nb::exception<DeviceError>(module, "DeviceError");
  nb::exception<LibraryError>(module, "LibraryError");
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const std::system_error& error) {
      errno = error.code().value();
      PyErr_SetFromErrno(PyExc_OSError);
    }
  });
  define_waiting(module);
  define_clock(module);
  define_buffers(module);
  define_copy(module);
  define_local_endpoints(module);
  define_delayed_local(module);
  define_staged(module);
  define_start_watch(module);
  Part::define_all(module);
}

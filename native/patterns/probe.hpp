// The round trips of cache lines in several pages, one after the other, in one call: two ranks that
// call for each line come together after some microseconds, which takes longer than the round
// trips.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "../endpoints/cache_line.hpp"
#include "../timing.hpp"

namespace halftrip {

class CacheLines {
 public:
  // `count` lines, one at the beginning of each `stride` bytes of memory that both ranks map.
  CacheLines(std::byte* memory, std::size_t count, std::size_t stride) {
    lines_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) lines_.emplace_back(memory + i * stride);
  }

  // As `timed`, for one line after the other: each has an equal part of the timestamps.
  void initiate(const Timing& timing) {
    const std::size_t each = part(timing);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      CacheLine& line = lines_[i];
      Timing of_line = timing;
      of_line.timestamps = timing.timestamps.subspan(i * each, each);
      timed(of_line, [&] {
        line.send();
        line.recv();
      });
    }
  }

  // The other end of the same iterations; the timestamps stay as they are.
  void respond(const Timing& timing) {
    Timing of_line = timing;
    of_line.timestamps = timing.timestamps.first(part(timing));
    for (CacheLine& line : lines_) {
      auto iteration = [&] {
        line.recv();
        line.send();
      };
      repeat(iteration_count(of_line), iteration);
    }
  }

 private:
  std::size_t part(const Timing& timing) const {
    if (timing.timestamps.empty() || timing.timestamps.size() % lines_.size() != 0)
      throw std::invalid_argument("each line has as many timestamps");
    return timing.timestamps.size() / lines_.size();
  }

  std::vector<CacheLine> lines_;
};

}  // namespace halftrip

// Two threads send messages through Shm for a while: single ones, bursts, and both ways at once, in
// one segment and another.
// ThreadSanitizer reports every access that the protocol does not order.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "../../native/endpoints/shm.hpp"

using namespace halftrip;

namespace {

constexpr std::size_t kSegments = 3;
constexpr std::size_t kSizes[] = {0, 1, 8, 56, 57, 504, 505, 2048, 4097, 40'000, 700'000};

std::byte expected(std::size_t message, std::size_t offset) {
  return static_cast<std::byte>(message * 31 + offset * 7);
}

bool is_message(const std::byte* bytes, std::size_t size, std::size_t message) {
  for (std::size_t at = 0; at < size; ++at) {
    if (bytes[at] == expected(message, at)) continue;
    std::printf("message %zu differs at %zu\n", message, at);
    return false;
  }
  return true;
}

// Both send a burst of messages at once. Those of side 0 have even numbers.
void exchange(Shm& end, unsigned side, std::size_t first, std::size_t size, std::size_t burst,
              Order order) {
  std::vector<std::byte> out(burst * size + 1), in(burst * size + 1);
  for (std::size_t i = 0; i < burst; ++i)
    for (std::size_t at = 0; at < size; ++at)
      out[i * size + at] = expected(first + 2 * i + side, at);
  Ring sending(out.data(), burst, size, size), receiving(in.data(), burst, size, size);
  end.exchange(sending, receiving, static_cast<std::int64_t>(burst), order, [] {});
  for (std::size_t i = 0; i < burst; ++i)
    if (!is_message(in.data() + i * size, size, first + 2 * i + 1 - side)) std::exit(1);
}

void take_part(Shm& end, unsigned side, int steps) {
  std::minstd_rand random(7);  // both sides draw the same
  std::vector<std::byte> buffer(700'000);
  std::size_t message = 0;
  for (int step = 0; step < steps; ++step) {
    end.use(random() % kSegments);
    const unsigned sender = random() % 2;
    const int burst = 1 + static_cast<int>(random() % 20);
    if (random() % 3 == 0) {
      const std::size_t size = kSizes[1 + random() % (std::size(kSizes) - 1)];
      const Order order = random() % 2 ? Order::in_turn : Order::sends_first;
      const auto count = static_cast<std::size_t>(size > 100'000 ? 1 + burst / 10 : burst);
      exchange(end, side, message, size, count, order);
      message += 2 * count;
      continue;
    }
    for (int i = 0; i < burst; ++i) {
      const std::size_t size = kSizes[random() % (random() % 8 ? 7 : std::size(kSizes))];
      ++message;
      if (sender == side) {
        for (std::size_t at = 0; at < size; ++at) buffer[at] = expected(message, at);
        end.send(buffer.data(), size);
      } else {
        end.recv(buffer.data(), size);
        if (!is_message(buffer.data(), size, message)) std::exit(1);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 300;
  const std::unique_ptr<std::byte, decltype(&std::free)> segments(
      static_cast<std::byte*>(std::aligned_alloc(kPageSize, kSegments * kSegmentStride)),
      std::free);
  std::memset(segments.get(), 0, kSegments * kSegmentStride);
  Shm first(segments.get(), kSegments, 0, true), second(segments.get(), kSegments, 1, true);
  std::thread other(take_part, std::ref(second), 1, steps);
  take_part(first, 0, steps);
  other.join();
  std::puts("every byte arrived");
}

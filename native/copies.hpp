// Copies that memcpy does worse.
#pragma once

#include <cstddef>
#include <cstring>

// ThreadSanitizer does not see non-temporal stores.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define HALFTRIP_NONTEMPORAL 1
#include <emmintrin.h>
#else
#define HALFTRIP_NONTEMPORAL 0
#endif

#include "shared_word.hpp"

namespace halftrip {

// The first and the last `width` bytes, which overlap where size < 2 * width.
template <std::size_t width>
void copy_ends(std::byte* to, const std::byte* from, std::size_t size) {
  std::byte head[width], tail[width];
  std::memcpy(head, from, width);
  std::memcpy(tail, from + size - width, width);
  std::memcpy(to, head, width);
  std::memcpy(to + size - width, tail, width);
}

// Less than 64 bytes. memcpy's call and dispatch take a tenth of such a message's latency.
[[gnu::always_inline]] inline void copy_small(std::byte* to, const std::byte* from,
                                              std::size_t size) {
  if (size >= 32)
    copy_ends<32>(to, from, size);
  else if (size >= 16)
    copy_ends<16>(to, from, size);
  else if (size >= 8)
    copy_ends<8>(to, from, size);
  else if (size >= 4)
    copy_ends<4>(to, from, size);
  else if (size >= 2)
    copy_ends<2>(to, from, size);
  else if (size == 1)
    *to = *from;
}

// By non-temporal stores, where the processor has them: they write whole cache lines to memory,
// without fetching what was in them. `to` begins a line. A line that another core has read comes
// back from there before a plain store can change it, and a core has few of these under way.
// Non-temporal stores may be seen after later ones: the fence at the end orders them.
[[gnu::noinline]] inline void copy_nontemporal(std::byte* to, const std::byte* from,
                                               std::size_t size) {
  std::size_t done = 0;
#if HALFTRIP_NONTEMPORAL
  for (; done + kCacheLineSize <= size; done += kCacheLineSize) {
    __m128i line[kCacheLineSize / sizeof(__m128i)];
    std::memcpy(line, from + done, kCacheLineSize);
    auto* there = reinterpret_cast<__m128i*>(to + done);
    for (std::size_t i = 0; i < kCacheLineSize / sizeof(__m128i); ++i)
      _mm_stream_si128(there + i, line[i]);
  }
#endif
  std::memcpy(to + done, from + done, size - done);
#if HALFTRIP_NONTEMPORAL
  _mm_sfence();
#endif
}

}  // namespace halftrip

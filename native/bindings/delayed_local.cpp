// The loops with delays over the endpoints of local.cpp.
#include "../endpoints/shm.hpp"
#include "../endpoints/stream.hpp"
#include "../endpoints/zerocopy.hpp"
#include "delayed.hpp"

namespace halftrip {

namespace {

template <Wait wait>
void define_streams(nb::module_& module) {
  define_delayed<ByteStream<wait, AnyDescriptor>>(module);
  define_delayed<ByteStream<wait, Socket>>(module);
  define_delayed<ByteStream<wait, Socket, SeveralConnections>>(module);
  define_delayed<ByteStream<wait, ZerocopySocket>>(module);
}

}  // namespace

void define_delayed_local(nb::module_& module) {
  define_delayed<Shm>(module);
  define_streams<Wait::block>(module);
  define_streams<Wait::spin>(module);
  define_streams<Wait::poll>(module);
}

}  // namespace halftrip

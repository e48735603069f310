// The Python module's endpoints that staged messages are sent with.
#pragma once

#include <nanobind/stl/unique_ptr.h>

#include <memory>

#include "../endpoints/staged.hpp"
#include "bindings.hpp"

namespace halftrip {

// messages(endpoint), which Staged takes.
template <class E>
void define_messages(nb::module_& module) {
  module.def(
      "messages",
      [](E& endpoint) -> std::unique_ptr<Messages> {
        return std::make_unique<MessagesOf<E>>(endpoint);
      },
      "endpoint"_a, nb::keep_alive<0, 1>());
}

void define_staged(nb::module_& module);

}  // namespace halftrip

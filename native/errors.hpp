// What timed code throws, beside std::system_error. The Python module has an exception for each.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace halftrip {

struct Stopped : std::exception {
  const char* what() const noexcept override { return "told to stop"; }
};

struct PeerClosed : std::exception {
  const char* what() const noexcept override { return "the peer closed its end"; }
};

// The peer did not reply within the time allowed, however often it was asked.
struct NoAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The peer did answer, but in the format of another version.
struct VersionMismatch : NoAnswer {
  using NoAnswer::NoAnswer;
};

// A call that returned something other than MPI_SUCCESS.
struct MpiError : std::runtime_error {
  explicit MpiError(int code) : std::runtime_error(std::to_string(code)) {}
};

// A call of libdragon that failed; the text is its own.
struct DragonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A call of another library that was found at run time, such as UCX, that failed; the text is its
// own.
struct LibraryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A call of CUDA's driver, or of a library for its devices, that failed; the text is its own.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace halftrip

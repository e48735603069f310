// Ends this process during a call that holds Python's lock and may never return, as MPI_Init does
// while a rank is missing.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace halftrip {

// What a watch looks for and does. Ranks of this host are the children of this process's parent
// that have `rank_variable` in their environment; there are `ranks` of them, with this process, or,
// where that is 0, nobody knows how many. `signals` are numbers and what is said of each.
// `reason` is said instead of who has ended, if it is not empty. `segments` are the beginnings of
// the names that MPI gives to its files in /dev/shm.
struct StartWatchOptions {
  std::string rank_variable;
  std::size_t ranks;
  std::map<int, std::string> signals;
  std::string reason;
  int status;
  std::vector<std::string> segments;
};

class StartWatch {
 public:
  explicit StartWatch(StartWatchOptions options)
      : options_(std::move(options)), parent_(getppid()), began_(Clock::now()) {
    // A script that is the rank has one child.
    if (rank_of(parent_)) options_.ranks = 0;
    if (pipe2(pipe_, O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
    signal_pipe.store(pipe_[1]);
    struct sigaction action = {};
    action.sa_handler = [](int number) {
      const int error = errno;
      const auto byte = static_cast<unsigned char>(number);
      [[maybe_unused]] const auto written = ::write(signal_pipe.load(), &byte, 1);
      errno = error;
    };
    for (const auto& [number, text] : options_.signals)
      sigaction(number, &action, &former_[number]);
    thread_ = std::thread([this] { watch(); });
  }

  ~StartWatch() { stop(); }

  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

  // The signals have their former handlers again.
  void stop() {
    if (!thread_.joinable()) return;
    for (const auto& [number, action] : former_) sigaction(number, &action, nullptr);
    const unsigned char end = 0;
    [[maybe_unused]] const auto written = ::write(pipe_[1], &end, 1);
    thread_.join();
    close(pipe_[0]);
    close(pipe_[1]);
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Missing {
    std::string text;
    Clock::time_point since;
  };

  static constexpr int kLookMs = 200;
  // A launcher that ends all ranks by itself, or a rank that says why it left, comes first.
  static constexpr std::chrono::seconds kGrace{1};
  // A launcher starts all ranks of a host at once, and one may have left before this watch began.
  static constexpr std::chrono::seconds kArrival{3};
  static inline std::atomic<int> signal_pipe{-1};

  void watch() {
    for (;;) {
      pollfd readable{pipe_[0], POLLIN, 0};
      if (poll(&readable, 1, kLookMs) > 0) {
        unsigned char number = 0;
        if (::read(pipe_[0], &number, 1) == 1 && number == 0) return;
        const auto found = options_.signals.find(number);
        if (found == options_.signals.end()) continue;
        // A launcher sends signals to all ranks when one has ended.
        look();
        end(128 + number, missing_ ? what_is_wrong() : found->second);
      }
      if (getppid() != parent_) end(options_.status, "the launcher died before MPI had started");
      look();
      count();
      if (missing_ && Clock::now() - missing_->since > kGrace)
        end(options_.status, what_is_wrong());
    }
  }

  // Notices ranks of this host that are there for the first time, or no longer.
  void look() {
    const std::vector<pid_t> children = children_of_parent();
    // Not every kernel lists them.
    if (std::ranges::find(children, getpid()) == children.end()) options_.ranks = 0;
    for (const pid_t pid : children)
      if (!ranks_.contains(pid) && pid != getpid())
        if (const auto rank = rank_of(pid)) ranks_[pid] = *rank;
    std::erase_if(ranks_, [&](const auto& each) {
      const auto& [pid, rank] = each;
      if (!is_dead(pid)) return false;
      if (!missing_)
        missing_ = Missing{"rank " + std::to_string(rank) + " (process " + std::to_string(pid) +
                               ") ended before MPI had started",
                           Clock::now()};
      return true;
    });
  }

  // Notices that ranks have left before this watch could see them.
  void count() {
    if (missing_ || ranks_.size() + 1 >= options_.ranks || Clock::now() - began_ < kArrival) return;
    const auto left = ranks_.size() + 1;
    missing_ = Missing{"of " + std::to_string(options_.ranks) + " ranks on this host only " +
                           std::to_string(left) + (left == 1 ? " is" : " are") +
                           " left; the others ended before MPI had started",
                       Clock::now()};
  }

  std::vector<pid_t> children_of_parent() const {
    std::vector<pid_t> found;
    std::error_code error;
    const auto tasks = std::filesystem::path("/proc") / std::to_string(parent_) / "task";
    for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
      const std::string children = content(task.path() / "children");
      const char *at = children.data(), *const end = at + children.size();
      for (pid_t pid; std::from_chars(at, end, pid).ec == std::errc();) {
        found.push_back(pid);
        at = std::find(at, end, ' ');
        if (at != end) ++at;
      }
    }
    return found;
  }

  // The number of a process's rank, by its environment.
  std::optional<int> rank_of(pid_t pid) const {
    const std::string environment = content(file_of(pid, "environ"));
    std::string_view rest = environment;
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find('\0'));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      if (!word.starts_with(options_.rank_variable + "=")) continue;
      const std::string_view value = word.substr(options_.rank_variable.size() + 1);
      int rank = 0;
      if (std::from_chars(value.data(), value.data() + value.size(), rank).ec == std::errc())
        return rank;
    }
    return std::nullopt;
  }

  // Whether it has ended, perhaps without its parent having noticed. Its state follows its name,
  // which is in brackets.
  static bool is_dead(pid_t pid) {
    if (kill(pid, 0) != 0 && errno == ESRCH) return true;
    const std::string status = content(file_of(pid, "stat"));
    const auto at = status.rfind(") ");
    return at != std::string::npos && (status[at + 2] == 'Z' || status[at + 2] == 'X');
  }

  static std::string file_of(pid_t pid, const char* name) {
    return "/proc/" + std::to_string(pid) + "/" + name;
  }

  // What is in a file, empty if it cannot be read. By system calls: a process with several C++
  // libraries may have streams that are half of one and half of another.
  static std::string content(const std::string& path) {
    std::string found;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return found;
    char part[4096];
    for (ssize_t count; (count = ::read(file, part, sizeof part)) > 0;)
      found.append(part, static_cast<std::size_t>(count));
    close(file);
    return found;
  }

  // One rank speaks for all.
  std::string what_is_wrong() const {
    if (!is_first()) return "";
    return options_.reason.empty() ? missing_->text : options_.reason;
  }

  // Whether no other rank that is left on this host has a lower number.
  bool is_first() const {
    const auto own = rank_of(getpid());
    return std::ranges::none_of(ranks_, [&](const auto& each) { return each.second < own; });
  }

  [[noreturn]] void end(int status, const std::string& text) const {
    if (!text.empty()) {
      const std::string line = "halftrip: " + text + "\n";
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
    }
    remove_segments();
    _exit(status);
  }

  // Removes the names of this process's shared memory: MPI does so only when it is finalised.
  void remove_segments() const {
    constexpr std::string_view kDirectory = "/dev/shm/";
    const std::string maps = content("/proc/self/maps");
    for (std::size_t begin = 0; begin < maps.size();) {
      const std::size_t end = std::min(maps.find('\n', begin), maps.size());
      const std::string line = maps.substr(begin, end - begin);
      begin = end + 1;
      const auto at = line.find(kDirectory);
      if (at == std::string::npos) continue;
      const std::string_view name = std::string_view(line).substr(at + kDirectory.size());
      if (std::ranges::any_of(options_.segments,
                              [&](const std::string& each) { return name.starts_with(each); }))
        unlink(line.c_str() + at);
    }
  }

  StartWatchOptions options_;
  pid_t parent_;
  Clock::time_point began_;
  int pipe_[2] = {-1, -1};
  std::map<int, struct sigaction> former_;
  std::map<pid_t, int> ranks_;
  std::optional<Missing> missing_;
  std::thread thread_;
};

}  // namespace halftrip

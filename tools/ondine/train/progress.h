// Progress bar on a terminal, plain lines elsewhere; nothing at all when it is quiet.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ondine::cli {

class Progress {
 public:
  explicit Progress(bool quiet = false);

  // Draws the bar, at most ten times a second. Does nothing unless the output is a terminal.
  void update(const std::string& title, std::uint64_t done, std::uint64_t total,
              const std::string& status);
  // Prints a permanent line.
  void line(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  void clear();

  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point last_{};
};

}  // namespace ondine::cli

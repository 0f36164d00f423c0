#include "ondine/train/progress.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "ondine/system.h"

namespace ondine::cli {
namespace {

constexpr std::uint64_t bar_width = 28;
// Past std::cout, which escapes control characters; the two share their buffer.
void erase_line() { std::fputs("\r\x1b[K", stdout); }

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(!quiet && is_terminal(Stream::out)) {}

void Progress::update(const std::string& title, std::uint64_t done, std::uint64_t total,
                      const std::string& status) {
  if (!terminal_ || total == 0) return;
  const auto now = Clock::now();
  if (drawn_ && done < total && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  const std::uint64_t filled = std::min(bar_width, done * bar_width / total);
  erase_line();
  std::cout << title << " [" << std::string(filled, '#') << std::string(bar_width - filled, '.')
            << "] " << done * 100 / total << "% " << status << std::flush;
}

void Progress::line(const std::string& text) {
  if (quiet_) return;
  clear();
  std::cout << text << std::endl;
}

void Progress::clear() {
  if (drawn_) erase_line();
  drawn_ = false;
}

}  // namespace ondine::cli

// Standard input, output and error of the program.
#pragma once

#include <memory>
#include <streambuf>

namespace ondine::cli {

// The exit status of a program that failed.
inline constexpr int failed = 1;

// While alive, what goes through std::cout and std::cerr is escaped as by ondine::printable, but
// for the ends of lines and tabs: names may come from a file that acts on terminals. Control
// sequences of the program itself go to stdout.
class StandardStreams {
 public:
  StandardStreams();
  ~StandardStreams();
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;

  // Writes what is left. The exit code of the program whose command returned `code`: output that
  // could not be written makes a failure of a success, with a message.
  int finish(int code);

 private:
  class Escaping;
  std::unique_ptr<Escaping> out_;
  std::unique_ptr<Escaping> err_;
};

}  // namespace ondine::cli

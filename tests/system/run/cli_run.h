// Running the command line from a test.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ondine/tensor.h>

namespace cli_test {

struct Result {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// A folder of its own with a small classification task: net.onnx (x [N, 4] -> logits [N, 3]),
// x_train.npy, y_train.npy, x_test.npy, y_test.npy.
class Workshop {
 public:
  Workshop();
  ~Workshop();
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  // Runs `ondine ARGUMENTS` in the folder; the shell splits the arguments. It stands for % in
  // `wrapper`, a command of the shell.
  Result run(const std::string& arguments, const std::string& wrapper = "%") const;
  // Runs `ondine ARGUMENTS` likewise; an exit code other than 0 fails the test.
  Result succeed(const std::string& arguments) const;
  // Fails with exit code 1 and a message on stderr that contains `text`.
  void refuse(const std::string& arguments, const std::string& text) const;
  // Exit code 2 for an option that is unknown, malformed or without effect; the message has the
  // text.
  void misuse(const std::string& arguments, const std::string& text) const;

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  std::string read(const std::string& name) const;
  void write(const std::string& name, const std::string& bytes) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace cli_test

// Progress that a terminal shows while a command works.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include <ondine/data.h>

#include "tests/support/paths.h"
#include "tests/system/run/cli_run.h"

using Catch::Contains;
using cli_test::Workshop;
using namespace ondine;

namespace {

const std::string erase = "\r\x1b[K";

// The output of `ondine ARGUMENTS` on a terminal of its own.
std::string shown(const Workshop& shop, const std::string& arguments) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE(::grantpt(terminal) == 0);
  REQUIRE(::unlockpt(terminal) == 0);
  const std::string name = ::ptsname(terminal);
  const std::string command = "cd '" + (shop / "").string() + "' && exec '" +
                              test::command_line_program() + "' " + arguments;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setsid();
    const int output = ::open(name.c_str(), O_RDWR);
    ::dup2(output, STDOUT_FILENO);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(1);
  }
  std::string text;
  char buffer[4096];
  int status = 0;
  bool ended = false;
  ::fcntl(terminal, F_SETFL, O_NONBLOCK);
  while (true) {
    const ssize_t count = ::read(terminal, buffer, sizeof buffer);
    if (count > 0) {
      text.append(buffer, static_cast<std::size_t>(count));
    } else if (ended) {
      break;
    } else {
      ended = ::waitpid(child, &status, WNOHANG) == child;
      ::usleep(2000);
    }
  }
  ::close(terminal);
  INFO(arguments << "\n" << text);
  REQUIRE(status == 0);
  return text;
}

}  // namespace

TEST_CASE("a terminal shows a bar that goes before the next line is printed") {
  const Workshop shop;
  for (const char* name : {"cases/a", "cases/b"}) {
    std::filesystem::create_directories(shop / (std::string(name) + "/test_data_set_0"));
    std::filesystem::copy_file(shop / "net.onnx", shop / (std::string(name) + "/model.onnx"));
    save_value(shop / (std::string(name) + "/test_data_set_0/input_0.pb"),
               {"x", Tensor(DType::float32, {1, 4})});
    save_value(shop / (std::string(name) + "/test_data_set_0/output_0.pb"),
               {"logits", Tensor(DType::float32, {1, 3})});
  }
  const std::string text = shown(shop, "verify cases");
  CHECK_THAT(text, Catch::StartsWith(erase + "verify [" + std::string(28, '.') + "] 0% a"));
  CHECK_THAT(text, Catch::EndsWith(erase + "2 passed, 0 failed, 0 skipped\r\n"));
  // Without a terminal there is no bar.
  CHECK(shop.succeed("verify cases").out == "2 passed, 0 failed, 0 skipped\n");
}

TEST_CASE("the bar of a training run fills up with its rows and shows the mean loss") {
  const Workshop shop;
  shop.succeed("prepare net.onnx -o train.onnx --loss softmax-cross-entropy --label y");
  const std::string train = "train train.onnx --data data --epochs 1 --batch-size ";
  const std::string all = shown(shop, train + "150");
  CHECK_THAT(all, Contains(erase + "epoch 1/1 [" + std::string(14, '#') + std::string(14, '.') +
                           "] 50% loss "));
  CHECK_THAT(all, Contains(erase + "epoch 1/1 [" + std::string(28, '#') + "] 100% loss ") &&
                      Contains(erase + "epoch 1/1"));
  // Steps within a tenth of a second after the first are not drawn, but the last one is.
  const std::string many = shown(shop, train + "1");
  std::size_t bars = 0;
  for (auto at = many.find('['); at != many.npos; at = many.find('[', at + 1)) ++bars;
  CHECK(bars < 200);
  CHECK_THAT(many, Contains("] 0% ") && Contains("] 100% "));
  CHECK(shown(shop, train + "150 --quiet").empty());
}

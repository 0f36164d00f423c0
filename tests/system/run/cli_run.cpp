#include "tests/system/run/cli_run.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include <ondine/build.h>
#include <ondine/data.h>

#include "tests/support/paths.h"

namespace cli_test {
namespace {

namespace fs = std::filesystem;
using namespace ondine;

constexpr std::int64_t inputs = 4;
constexpr std::int64_t hidden = 8;
constexpr std::int64_t classes = 3;

Tensor drawn(const Shape& shape, std::mt19937& random) {
  Tensor tensor(DType::float32, shape);
  for (float& value : tensor.mutable_values<float>()) {
    value = static_cast<float>(random() % 2000) / 2000.0F - 0.5F;
  }
  return tensor;
}

void write_model(const fs::path& file) {
  std::mt19937 random(1);
  ModelBuilder builder("net");
  builder.input("x", DType::float32, {"N", inputs});
  const auto w1 = builder.initializer("fc1.w", drawn({inputs, hidden}, random));
  const auto b1 = builder.initializer("fc1.b", Tensor(DType::float32, {hidden}));
  const auto w2 = builder.initializer("fc2.w", drawn({hidden, classes}, random));
  const auto b2 = builder.initializer("fc2.b", Tensor(DType::float32, {classes}));
  const auto h = builder.node("Relu", {builder.node("Gemm", {"x", w1, b1})});
  builder.node("Gemm", {h, w2, b2}, {}, "logits");
  builder.output("logits", DType::float32, {"N", classes});
  builder.save(file);
}

// Class c lies around a corner of its own.
void write_data(const fs::path& folder, const std::string& split, std::int64_t rows) {
  std::mt19937 random(static_cast<unsigned>(rows));
  Tensor x = drawn({rows, inputs}, random);
  Tensor y(DType::int64, {rows});
  for (std::int64_t i = 0; i < rows; ++i) {
    y.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = i % classes;
    x.mutable_values<float>()[static_cast<std::size_t>(i * inputs + i % classes)] += 1.5F;
  }
  save_array(folder / ("x_" + split + ".npy"), x);
  save_array(folder / ("y_" + split + ".npy"), y);
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

Workshop::Workshop() {
  static std::atomic<int> number{0};
  folder_ = fs::temp_directory_path() /
            ("ondine_cli_" + std::to_string(getpid()) + "_" + std::to_string(number++));
  fs::create_directories(folder_ / "data");
  write_model(folder_ / "net.onnx");
  write_data(folder_ / "data", "train", 300);
  write_data(folder_ / "data", "test", 90);
}

Workshop::~Workshop() { fs::remove_all(folder_); }

Result Workshop::run(const std::string& arguments, const std::string& wrapper) const {
  std::string command = wrapper;
  command.replace(command.find('%'), 1, "'" + test::command_line_program() + "' " + arguments);
  command = "cd '" + folder_.string() + "' && { " + command + " ; } >stdout.txt 2>stderr.txt";
  const int status = std::system(command.c_str());
  Result result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.out = read("stdout.txt");
  result.err = read("stderr.txt");
  return result;
}

Result Workshop::succeed(const std::string& arguments) const {
  Result result = run(arguments);
  INFO(arguments << "\n" << result.out << result.err);
  REQUIRE(result.exit_code == 0);
  return result;
}

void Workshop::refuse(const std::string& arguments, const std::string& text) const {
  const Result result = run(arguments);
  INFO(arguments << "\n" << result.out << result.err);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.err, Catch::Contains(text));
  CHECK_THAT(result.err, Catch::StartsWith("ondine: "));
}

void Workshop::misuse(const std::string& arguments, const std::string& text) const {
  const Result result = run(arguments);
  INFO(arguments << "\n" << result.out << result.err);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.err, Catch::Contains(text));
  CHECK_THAT(result.err, Catch::EndsWith("Run with --help for more information.\n"));
}

std::string Workshop::read(const std::string& name) const { return read_file(folder_ / name); }

void Workshop::write(const std::string& name, const std::string& bytes) const {
  std::ofstream(folder_ / name, std::ios::binary) << bytes;
}

}  // namespace cli_test

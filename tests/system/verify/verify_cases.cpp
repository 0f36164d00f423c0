#include "tests/system/verify/verify_cases.h"

#include <catch2/catch.hpp>

#include <ondine/data.h>

#include "tests/support/models.h"

namespace cli_test {

using Catch::Contains;
using namespace ondine;  // NOLINT
namespace fs = std::filesystem;

namespace {

// One step of gradient descent on y = x w + b by hand, in double.
struct LineStep {
  double w[2] = {0.5, -1};
  double b = 0.25;
  double loss = 0;

  void step(const Tensor& x, const Tensor& t, double rate) {
    const auto in = x.values<float>();
    const auto target = t.values<float>();
    double dw[2] = {0, 0};
    double db = 0;
    loss = 0;
    const auto rows = static_cast<double>(target.size());
    for (std::size_t i = 0; i < target.size(); ++i) {
      const double x0 = static_cast<double>(in[2 * i]);
      const double x1 = static_cast<double>(in[2 * i + 1]);
      const double error = x0 * w[0] + x1 * w[1] + b - static_cast<double>(target[i]);
      loss += error * error / rows;
      dw[0] += 2 * error * x0 / rows;
      dw[1] += 2 * error * x1 / rows;
      db += 2 * error / rows;
    }
    w[0] -= rate * dw[0];
    w[1] -= rate * dw[1];
    b -= rate * db;
  }
  Tensor weights() const {
    return Tensor::of<float>({2, 1}, {static_cast<float>(w[0]), static_cast<float>(w[1])});
  }
  Tensor bias() const { return Tensor::of<float>({1}, {static_cast<float>(b)}); }
};

}  // namespace

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void expect_failure(const Workshop& shop, const std::string& folder, const std::string& text) {
  const Result result = shop.run("verify " + folder);
  INFO(folder << "\n" << result.out << result.err);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.out, Contains("0 passed, 1 failed, 0 skipped") && Contains(text));
}

void expect_success(const Workshop& shop, const std::string& folder) {
  const Result result = shop.run("verify " + folder);
  INFO(folder << "\n" << result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.out, Contains("1 passed, 0 failed, 0 skipped"));
}

graph::ModelDef identity(DType dtype, const Shape& shape) {
  graph::ModelDef model = test::linear_regression(0);
  model.training.clear();
  model.graph.initializers.clear();
  std::vector<graph::DimDef> dims;
  for (std::size_t i = 0; i < shape.rank(); ++i) dims.emplace_back(shape[i]);
  model.graph.inputs = {test::tensor_value("x", dtype, dims)};
  model.graph.outputs = {test::tensor_value("y", dtype, dims)};
  model.graph.nodes = {test::node("Identity", {"x"}, {"y"})};
  return model;
}

void write_copy(const Workshop& shop, const std::string& folder, const Tensor& x,
                const Tensor& want) {
  fs::create_directories(shop / (folder + "/test_data_set_0"));
  shop.write(folder + "/model.onnx", text_of(test::encode(identity(x.dtype(), x.shape()))));
  save_value(shop / (folder + "/test_data_set_0/input_0.pb"), {"x", x});
  save_value(shop / (folder + "/test_data_set_0/output_0.pb"), {"y", want});
}

const Tensor& line_x() {
  static const Tensor x = Tensor::of<float>({3, 2}, {1, 2, -1, 0.5F, 0.25F, -2});
  return x;
}

const Tensor& line_t() {
  static const Tensor t = Tensor::of<float>({3, 1}, {0.5F, -1, 2});
  return t;
}

void write_line(const Workshop& shop, const std::string& folder) {
  const fs::path set = shop / (folder + "/train_data_set_0");
  shop.write("line.onnx", text_of(test::encode(test::linear_regression(0.1F))));
  for (const char* name : {"step_0", "step_1", "expected_initial", "expected_state", "infer"}) {
    fs::create_directories(set / name);
  }
  fs::copy_file(shop / "line.onnx", shop / (folder + "/model.onnx"));
  LineStep line;
  save_value(set / "expected_initial/0.pb", {"w", line.weights()});
  save_value(set / "expected_initial/1.pb", {"b", line.bias()});
  for (const char* name : {"step_0", "step_1"}) {
    line.step(line_x(), line_t(), static_cast<double>(0.1F));
    save_value(set / name / "input_0.pb", {"x", line_x()});
    save_value(set / name / "input_1.pb", {"t", line_t()});
    save_value(set / name / "output_0.pb", {"loss", Tensor::scalar(static_cast<float>(line.loss))});
  }
  save_value(set / "expected_state/0.pb", {"w", line.weights()});
  save_value(set / "expected_state/1.pb", {"b", line.bias()});
  save_value(set / "infer/input_0.pb", {"x", Tensor::of<float>({1, 2}, {1, 1})});
  const auto y = static_cast<float>(line.w[0] + line.w[1] + line.b);
  save_value(set / "infer/output_0.pb", {"y", Tensor::of<float>({1, 1}, {y})});
}

}  // namespace cli_test

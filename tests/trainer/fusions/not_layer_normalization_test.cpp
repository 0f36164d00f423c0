// Graphs that look like a layer normalization but are none keep their own results.
#include <array>
#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/model.h>

#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;
constexpr std::size_t n = 4;
constexpr double epsilon = 1e-3;
using Matrix = std::array<std::array<double, n>, n>;

// d = x - mean(m, last axis); y = d / sqrt(mean(d d, axis) + epsilon), x and z [4, 4].
Model load(const char* averaged, std::int64_t axis) {
  ModelBuilder b("network", 13);
  b.input("x", DType::float32, {4, 4});
  b.input("z", DType::float32, {4, 4});
  b.initializer("epsilon", Tensor::scalar(static_cast<float>(epsilon)));
  const std::string mean = b.node("ReduceMean", {averaged}, {{"axes", Int64s{-1}}});
  const std::string d = b.node("Sub", {"x", mean});
  const std::string square = b.node("Mul", {d, d});
  const std::string variance = b.node("ReduceMean", {square}, {{"axes", Int64s{axis}}});
  const std::string root = b.node("Sqrt", {b.node("Add", {variance, "epsilon"})});
  b.output(b.node("Div", {d, root}, {}, "y"), DType::float32, {4, 4});
  return Model::load(b.bytes());
}

Matrix matrix(const Tensor& tensor) {
  Matrix result{};
  for (std::size_t i = 0; i < n * n; ++i) {
    result[i / n][i % n] = double{tensor.values<float>()[i]};
  }
  return result;
}

Matrix transposed(const Matrix& m) {
  Matrix result{};
  for (std::size_t i = 0; i < n * n; ++i) result[i % n][i / n] = m[i / n][i % n];
  return result;
}

double row_mean(const Matrix& m, std::size_t row) {
  double sum = 0;
  for (const double value : m[row]) sum += value;
  return sum / n;
}

Matrix expected(const Matrix& x, const Matrix& averaged, bool variance_by_rows) {
  Matrix d{};
  Matrix squares{};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      d[i][j] = x[i][j] - row_mean(averaged, i);
      squares[i][j] = d[i][j] * d[i][j];
    }
  }
  const Matrix columns = transposed(squares);
  Matrix y{};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double variance = variance_by_rows ? row_mean(squares, i) : row_mean(columns, j);
      y[i][j] = d[i][j] / std::sqrt(variance + epsilon);
    }
  }
  return y;
}

void check(const char* averaged, std::int64_t axis) {
  const Tensor x = random_floats({4, 4}, 1);
  const Tensor z = random_floats({4, 4}, 2);
  const Model model = load(averaged, axis);
  const NamedValues feeds{{"x", x}, {"z", z}};
  const std::vector<std::string> fetches{"y"};
  const auto results = model.infer(feeds, fetches);
  const Tensor& y = results[0].second.tensor();
  const bool of_itself = std::string_view(averaged) == "x";
  const Matrix want = expected(matrix(x), matrix(of_itself ? x : z), axis == -1);
  for (std::size_t i = 0; i < n * n; ++i) {
    CHECK(y.values<float>()[i] == Approx(want[i / n][i % n]).epsilon(1e-4).margin(1e-5));
  }
}

}  // namespace

TEST_CASE("a layer normalization equals its parts") { check("x", -1); }

TEST_CASE("deviations from the mean of another value are no layer normalization") {
  check("z", -1);
}

TEST_CASE("a variance over other axes than the mean is no layer normalization") { check("x", 0); }

}  // namespace ondine::test

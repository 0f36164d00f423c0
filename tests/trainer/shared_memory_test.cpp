// Memory that models hold once: frozen weights, which products read as they are stored, and the
// arena, which all plans share.
#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

#include <ondine/build.h>
#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr std::int64_t rows = 512;
constexpr std::int64_t cols = 192;
constexpr std::uint64_t weight_bytes = rows * cols * sizeof(float);

std::vector<ModelBuilder::Dim> dims(const Shape& shape) { return {shape.begin(), shape.end()}; }

float at(const Tensor& tensor, std::int64_t i) {
  return static_cast<const float*>(tensor.data())[i];
}

// y[m, n] = sum over k of x[m, k] w(k, n).
template <class Weight>
void check_product(const Tensor& y, const Tensor& x, std::int64_t k, std::int64_t n, Weight w) {
  const std::int64_t m = x.size() / k;
  REQUIRE(y.size() == m * n);
  double worst = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += double{at(x, i * k + l)} * double{w(l, j)};
      worst = std::max(worst, std::abs(sum - double{at(y, i * n + j)}));
    }
  }
  CHECK(worst < 1e-3);
}

std::uint64_t constant_bytes(const Model& model, const NamedValues& feeds) {
  return model.plan(feeds, std::nullopt).constant_bytes;
}

}  // namespace

TEST_CASE("a product with a transposed frozen weight reads the weight as it is stored") {
  const Tensor w = random_floats({rows, cols}, 1);
  const std::int64_t m = GENERATE(1, 3, 4, 5, 70);
  const bool batched = GENERATE(false, true);
  ModelBuilder b("network");
  const Shape shape = batched ? Shape{2, m, cols} : Shape{2 * m, cols};
  const std::string x = b.input("x", DType::float32, dims(shape));
  const std::string turned = b.node("Transpose", {b.initializer("w", w)});
  b.output(b.node("MatMul", {x, turned}), DType::float32,
           dims(batched ? Shape{2, m, rows} : Shape{2 * m, rows}));
  const Model model = Model::load(b.bytes());
  const NamedValues feeds{{"x", random_floats(shape, 2)}};
  CHECK(constant_bytes(model, feeds) == weight_bytes);
  const auto results = model.infer(feeds);
  check_product(results[0].second.tensor(), feeds[0].second.tensor(), cols, rows,
                [&](std::int64_t k, std::int64_t n) { return at(w, n * cols + k); });
}

TEST_CASE("a Gemm of a transposed frozen weight flips its flag, on either side") {
  const Tensor w = random_floats({rows, cols}, 1);
  const bool left = GENERATE(false, true);
  const std::int64_t flag = GENERATE(0, 1);
  ModelBuilder b("network");
  const std::string turned =
      b.node("Transpose", {b.initializer("w", w)}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  // Element of the matrix that the product takes: w^T, or w if the flag transposes it back.
  const auto element = [&](std::int64_t r, std::int64_t c) {
    return double{flag == 1 ? at(w, r * cols + c) : at(w, c * cols + r)};
  };
  const std::int64_t k = left == (flag == 1) ? cols : rows;
  const std::int64_t n = rows + cols - k;
  const Shape shape = left ? Shape{k, 6} : Shape{6, k};
  const std::string x = b.input("x", DType::float32, dims(shape));
  const std::vector<std::string> operands =
      left ? std::vector<std::string>{turned, x} : std::vector<std::string>{x, turned};
  b.output(b.node("Gemm", operands, {{left ? "transA" : "transB", flag}}), DType::float32,
           dims(left ? Shape{n, 6} : Shape{6, n}));
  const Model model = Model::load(b.bytes());
  const NamedValues feeds{{"x", random_floats(shape, 2)}};
  CHECK(constant_bytes(model, feeds) == weight_bytes);
  const auto results = model.infer(feeds);
  const Tensor& y = results[0].second.tensor();
  const Tensor& fed = feeds[0].second.tensor();
  double worst = 0;
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        sum += left ? element(j, l) * double{at(fed, l * 6 + i)}
                    : double{at(fed, i * k + l)} * element(l, j);
      }
      worst = std::max(worst, std::abs(sum - double{at(y, left ? j * 6 + i : i * n + j)}));
    }
  }
  CHECK(worst < 1e-3);
}

TEST_CASE("a transposition of other axes, or that others read, is still folded") {
  ModelBuilder b("network");
  const Tensor w = random_floats({8, 64, 192}, 1);
  const std::string weight = b.initializer("w", w);
  const std::string x = b.input("x", DType::float32, {192, 5, 64});
  const std::string turned =
      b.node("Transpose", {weight}, {{"perm", std::vector<std::int64_t>{2, 1, 0}}});
  b.output(b.node("MatMul", {x, turned}), DType::float32, {192, 5, 8});
  const Model model = Model::load(b.bytes());
  const NamedValues feeds{{"x", random_floats({192, 5, 64}, 2)}};
  const auto results = model.infer(feeds);
  double worst = 0;
  for (std::int64_t i = 0; i < 192 * 5 * 8; ++i) {
    double sum = 0;
    for (std::int64_t l = 0; l < 64; ++l) {
      sum += double{at(feeds[0].second.tensor(), i / 8 * 64 + l)} *
             double{at(w, (i % 8 * 64 + l) * 192 + i / 40)};
    }
    worst = std::max(worst, std::abs(sum - double{at(results[0].second.tensor(), i)}));
  }
  CHECK(worst < 1e-3);
  CHECK(constant_bytes(model, feeds) == w.bytes());
}

TEST_CASE("a view of a frozen weight shares its elements") {
  const Tensor w = random_floats({rows, cols}, 1);
  ModelBuilder b("network");
  const std::string shape = b.initializer("shape", Tensor::of<std::int64_t>({2}, {cols, rows}));
  const std::string x = b.input("x", DType::float32, {4, cols});
  const std::string viewed = b.node("Reshape", {b.initializer("w", w), shape});
  b.output(b.node("MatMul", {x, viewed}), DType::float32, {4, rows});
  const Model model = Model::load(b.bytes());
  const NamedValues feeds{{"x", random_floats({4, cols}, 2)}};
  CHECK(constant_bytes(model, feeds) == weight_bytes);
  const auto results = model.infer(feeds);
  check_product(results[0].second.tensor(), feeds[0].second.tensor(), cols, rows,
                [&](std::int64_t k, std::int64_t n) { return at(w, k * rows + n); });
}

TEST_CASE("plans for many shapes take the memory of the largest") {
  const auto load = [](std::optional<std::uint64_t> bytes) {
    LoadOptions options;
    if (bytes) options.limits.arena_bytes = *bytes;
    return Model::load(encode(dropout_classifier()), options);
  };
  const auto feeds = [](std::int64_t n) {
    return NamedValues{{"x", random_floats({n, 8}, 1)}, {"label", Tensor(DType::int64, {n})}};
  };
  constexpr std::int64_t longest = 3000;
  const Model any = load({});
  const std::uint64_t largest = any.plan(feeds(longest), 0).arena_bytes;
  // All lengths, training and inference, below the limit of one.
  Model model = load(largest + largest / 10);
  std::vector<double> losses;
  for (const std::int64_t n : {1000L, 2000L, 3000L, 1500L, 2900L, 3000L, 7L}) {
    losses.push_back(model.train_step(feeds(n)).scalar("loss"));
    model.infer(NamedValues{{"x", random_floats({n, 8}, 1)}});
  }
  Model alone = load({});
  std::size_t i = 0;
  for (const std::int64_t n : {1000L, 2000L, 3000L, 1500L, 2900L, 3000L, 7L}) {
    CHECK(alone.train_step(feeds(n)).scalar("loss") == losses[i++]);
  }
}

TEST_CASE("calls that run at the same time have arenas of their own") {
  const Model model = Model::load(encode(dropout_classifier()));
  std::vector<Tensor> wanted;
  for (std::int64_t n = 1; n <= 40; ++n) {
    const auto results = model.infer(NamedValues{{"x", random_floats({n, 8}, 1)}});
    wanted.push_back(results[0].second.tensor());
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::int64_t n = 1 + (i * (t + 1)) % 40;
        const auto results = model.infer(NamedValues{{"x", random_floats({n, 8}, 1)}});
        const Tensor& found = results[0].second.tensor();
        if (!found.identical(wanted[static_cast<std::size_t>(n - 1)])) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

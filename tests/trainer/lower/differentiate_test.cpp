// Written derivatives equal central differences in double.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/trainer/lower/lowered_steps.h"

using namespace ondine;
using namespace ondine::test;

namespace {

// y = tanh(x w) x^T-like products: smooth, with a Hessian that is not 0. All double.
Model network() {
  ModelBuilder b("network", 17);
  const std::string x = b.input("x", DType::float64, {"N", 3});
  const std::string w = b.initializer("w", random_tensor({3, 4}, 3));
  const std::string hidden = b.node("Tanh", {b.node("MatMul", {x, w})}, {}, "hidden");
  b.node("Mul", {hidden, hidden}, {}, "y");
  b.output("y", DType::float64, {"N", 4});
  return Model::load(b.bytes());
}

Tensor fetch(const Model& model, const NamedValues& feeds, const std::string& name) {
  return model.infer(feeds, std::vector<std::string>{name})[0].second.tensor();
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values<double>().size(); ++i) {
    sum += a.values<double>()[i] * b.values<double>()[i];
  }
  return sum;
}

Tensor moved(const Tensor& at, const Tensor& direction, double step) {
  Tensor result = at.clone();
  for (std::size_t i = 0; i < at.values<double>().size(); ++i) {
    result.mutable_values<double>()[i] += step * direction.values<double>()[i];
  }
  return result;
}

Model derivative(DerivativeKind kind, std::vector<std::string> by) {
  DifferentiateOptions options;
  options.of = "y";
  options.by = std::move(by);
  options.kind = kind;
  const auto bytes = differentiate(network(), options);
  CHECK(imported_domains(bytes) == std::vector<std::string>{""});
  return Model::load(bytes);
}

constexpr double step = 1e-5;

const Tensor x = random_tensor({5, 3}, 1);
const Tensor w = random_tensor({3, 4}, 3);
const Tensor along_x = random_tensor({5, 3}, 4);
const Tensor along_w = random_tensor({3, 4}, 5);

// d/dt of output `name` at x + t along_x, w + t along_w, by central differences.
Tensor numeric(const Model& model, const std::string& name, NamedValues more = {}) {
  const auto at = [&](double t) {
    NamedValues feeds{{"x", moved(x, along_x, t)}, {"w", moved(w, along_w, t)}};
    feeds.insert(feeds.end(), more.begin(), more.end());
    return fetch(model, feeds, name);
  };
  Tensor up = at(step);
  const Tensor down = at(-step);
  for (std::size_t i = 0; i < up.values<double>().size(); ++i) {
    up.mutable_values<double>()[i] =
        (up.values<double>()[i] - down.values<double>()[i]) / (2 * step);
  }
  return up;
}

}  // namespace

TEST_CASE("a written gradient is that of the sum of the outputs") {
  const Model model = derivative(DerivativeKind::gradient, {"x", "w"});
  const NamedValues feeds{{"x", x}, {"w", w}};
  const Tensor slope = numeric(model, "y");
  double want = 0;
  for (const double one : slope.values<double>()) want += one;
  const double got = dot(fetch(model, feeds, "gradient.x"), along_x) +
                     dot(fetch(model, feeds, "gradient.w"), along_w);
  CHECK(got == Approx(want).epsilon(1e-7));
  // The initializer's value is the default.
  check_close(fetch(model, {{"x", x}}, "gradient.w"), fetch(model, feeds, "gradient.w"));
}

TEST_CASE("products with the Jacobian from both sides agree with differences") {
  const Model forward = derivative(DerivativeKind::jacobian_vector, {"x", "w"});
  const NamedValues tangents{{"tangent.x", along_x}, {"tangent.w", along_w}};
  NamedValues feeds{{"x", x}, {"w", w}};
  feeds.insert(feeds.end(), tangents.begin(), tangents.end());
  const Tensor slope = fetch(forward, feeds, "tangent.y");
  check_close(slope, numeric(forward, "y", tangents), {1e-7, 1e-8});

  const Model backward = derivative(DerivativeKind::vector_jacobian, {"x", "w"});
  const Tensor seed = random_tensor({5, 4}, 6);
  const NamedValues seeded{{"x", x}, {"w", w}, {"seed.y", seed}};
  const double got = dot(fetch(backward, seeded, "gradient.x"), along_x) +
                     dot(fetch(backward, seeded, "gradient.w"), along_w);
  CHECK(got == Approx(dot(seed, slope)).epsilon(1e-9));
}

TEST_CASE("a product with the Hessian is the slope of the gradient") {
  const Model hessian = derivative(DerivativeKind::hessian_vector, {"x", "w"});
  const Model gradient = derivative(DerivativeKind::gradient, {"x", "w"});
  const NamedValues feeds{{"x", x}, {"w", w}, {"tangent.x", along_x}, {"tangent.w", along_w}};
  for (const char* name : {"x", "w"}) {
    check_close(fetch(hessian, feeds, std::string("hessian.") + name),
                numeric(gradient, std::string("gradient.") + name), {1e-6, 1e-7});
  }
}

TEST_CASE("derivatives by inner tensors stop there") {
  const Model model = derivative(DerivativeKind::gradient, {"hidden"});
  const Tensor hidden = [&] {
    ModelBuilder b("hidden", 17);
    b.node("Tanh",
           {b.node("MatMul", {b.input("x", DType::float64, {5, 3}), b.initializer("w", w)})}, {},
           "hidden");
    b.output("hidden", DType::float64, {5, 4});
    return fetch(Model::load(b.bytes()), {{"x", x}}, "hidden");
  }();
  check_close(fetch(model, {{"x", x}}, "gradient.hidden"), moved(hidden, hidden, 1));
}

TEST_CASE("what cannot be differentiated is named") {
  const Model model = network();
  CHECK_THROWS_WITH(differentiate(model, {.of = "z", .by = {"x"}}),
                    Catch::Contains("\"z\"") || Catch::Contains("'z'"));
  CHECK_THROWS_WITH(differentiate(model, {.of = "y", .by = {"nothing"}}),
                    Catch::Contains("nothing"));
  CHECK_THROWS_WITH(differentiate(model, {.of = "y", .by = {}}), Catch::Contains("by one or more"));
}

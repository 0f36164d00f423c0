#include <cmath>
#include <numeric>

#include "tests/kernels/common/numbers.h"
#include "tests/kernels/text/texts.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Row = std::vector<double>;

OpCase ml(const std::string& op, const Tensor& x, graph::Attributes attributes,
          std::size_t outputs = 1) {
  return {.op = op,
          .inputs = {x},
          .attributes = std::move(attributes),
          .outputs = outputs,
          .domain = "ai.onnx.ml",
          .version = 1};
}

const std::vector<DType> dtypes{DType::float32, DType::float64, DType::int64, DType::int32};

// The inverse of the normal distribution function by halving.
double probit(double p) {
  double low = -10, high = 10;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
  }
  return low;
}

Row transformed(const std::string& name, Row scores) {
  if (name == "LOGISTIC") {
    for (double& s : scores) s = 1 / (1 + std::exp(-s));
  } else if (name == "PROBIT") {
    for (double& s : scores) s = probit(s);
  } else if (name != "NONE") {
    double sum = 0;
    Row out;
    const double top = *std::max_element(scores.begin(), scores.end());
    for (const double s : scores) {
      const bool counted = name == "SOFTMAX" || s != 0;
      if (counted) sum += std::exp(s - top);
      out.push_back(counted ? std::exp(s - top) : 0);
    }
    for (double& s : out) s /= sum;
    return out;
  }
  return scores;
}

const std::vector<std::string> transforms{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};

}  // namespace

TEST_CASE("LinearRegressor computes targets with every transformation") {
  // Scores lie between 0 and 1, where all transformations are defined.
  const Floats w{0.1F, 0.05F, -0.02F, 0.125F}, b{0.25F, 0.0625F};
  const std::vector<double> x{1, 2, 3, 1, 0, 2};
  for (const std::string& transform : transforms) {
    std::vector<double> want;
    for (std::size_t r = 0; r < 3; ++r) {
      Row scores;
      for (std::size_t k = 0; k < 2; ++k) {
        scores.push_back(b[k] + x[2 * r] * w[2 * k] + x[2 * r + 1] * w[2 * k + 1]);
      }
      for (const double s : transformed(transform, scores)) want.push_back(s);
    }
    const graph::Attributes attributes{{"coefficients", w},
                                       {"intercepts", b},
                                       {"targets", std::int64_t{2}},
                                       {"post_transform", transform}};
    for (const DType dtype : dtypes) {
      INFO(transform << " " << to_string(dtype));
      check_close(run_op_tensor(ml("LinearRegressor", numbers({3, 2}, x, dtype), attributes)),
                  numbers({3, 2}, want, DType::float32), {1e-5, 1e-6});
    }
    CHECK(
        run_op_tensor(ml("LinearRegressor", Tensor(DType::float32, {0, 2}), attributes)).shape() ==
        Shape{0, 2});
  }
}

TEST_CASE("LinearRegressor has a derivative") {
  for (const std::string transform : {"NONE", "SOFTMAX", "LOGISTIC"}) {
    check_gradient(ml("LinearRegressor", random_tensor({3, 2}, 1),
                      {{"coefficients", Floats{1, -2, 0.5F, 3}},
                       {"targets", std::int64_t{2}},
                       {"post_transform", transform}}),
                   {.order = 1, .closeness = {2e-2, 2e-3}, .step = 1e-2});
  }
}

TEST_CASE("Linear models refuse what does not fit") {
  const Tensor x = iota({2, 3});
  check_refused(ml("LinearRegressor", Tensor(DType::float32, {0, 0}),
                   {{"coefficients", Floats{}}, {"targets", std::int64_t{1} << 40}}),
                ErrorCode::limit, "targets");
  check_refused(ml("LinearRegressor", x, {{"coefficients", Floats{1, 2}}}),
                ErrorCode::invalid_model, "2 elements for 1 targets and 3 features");
  check_refused(
      ml("LinearRegressor", x, {{"coefficients", Floats{1, 2, 3}}, {"intercepts", Floats{1, 2}}}),
      ErrorCode::invalid_model, "'intercepts' has 2");
  check_refused(ml("LinearRegressor", x,
                   {{"coefficients", Floats{1, 2, 3}}, {"post_transform", std::string("EXP")}}),
                ErrorCode::invalid_model, "'EXP'");
  check_refused(ml("LinearRegressor", iota({1, 1, 3}), {{"coefficients", Floats{1, 2, 3}}}),
                ErrorCode::mismatch, "[N, F] or [F]");
  check_refused(ml("LinearClassifier", x, {{"coefficients", Floats{1, 2, 3}}}),
                ErrorCode::invalid_model, "exactly one of 'classlabels_ints'");
  check_refused(ml("LinearClassifier", x,
                   {{"coefficients", Floats{1, 2, 3}}, {"classlabels_ints", Int64s{1, 2, 3}}}),
                ErrorCode::invalid_model, "'coefficients' has 3 elements, needed: 9");
}

TEST_CASE("LinearClassifier gives labels and scores") {
  const Floats w{1, -1, 0.5F, 2, -0.25F, 0.125F}, b{0.1F, -0.2F, 0.3F};
  const std::vector<double> x{1, 2, 3, -1};
  std::vector<double> scores;
  Int64s labels;
  for (std::size_t r = 0; r < 2; ++r) {
    Row row;
    for (std::size_t k = 0; k < 3; ++k) {
      row.push_back(b[k] + x[2 * r] * w[2 * k] + x[2 * r + 1] * w[2 * k + 1]);
    }
    labels.push_back(10 * (std::max_element(row.begin(), row.end()) - row.begin()));
    for (const double s : transformed("SOFTMAX", row)) scores.push_back(s);
  }
  for (const DType dtype : dtypes) {
    const auto got = run_op(ml("LinearClassifier", numbers({2, 2}, x, dtype),
                               {{"coefficients", w},
                                {"intercepts", b},
                                {"classlabels_ints", Int64s{0, 10, 20}},
                                {"post_transform", std::string("SOFTMAX")}},
                               2));
    CHECK(got[0].tensor().identical(int64s(labels)));
    check_close(got[1].tensor(), numbers({2, 3}, scores, DType::float32));
  }
}

TEST_CASE("LinearClassifier with one row of coefficients scores the second of two labels") {
  const auto got = run_op(ml(
      "LinearClassifier", numbers({3, 1}, {0.5, -0.25, 0}),
      {{"coefficients", Floats{1}}, {"classlabels_strings", std::vector<std::string>{"no", "yes"}}},
      2));
  CHECK(got[0].tensor().identical(texts({"yes", "no", "no"})));
  check_close(got[1].tensor(), numbers({3, 2}, {-0.5, 0.5, 0.25, -0.25, 0, 0}, DType::float32));
}

namespace {

double kernel_value(const std::string& kind, const Row& x, const Row& v) {
  double dot = 0, distance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    dot += x[i] * v[i];
    distance += (x[i] - v[i]) * (x[i] - v[i]);
  }
  if (kind == "POLY") return std::pow(0.5 * dot + 2, 3);
  if (kind == "RBF") return std::exp(-0.5 * distance);
  if (kind == "SIGMOID") return std::tanh(0.5 * dot + 2);
  return dot;
}

const std::vector<std::string> kernel_names{"LINEAR", "POLY", "RBF", "SIGMOID"};
const Floats params{0.5F, 2, 3};

}  // namespace

TEST_CASE("SVMRegressor sums kernels of the support vectors") {
  const std::vector<Row> xs{{1, 2}, {-1, 3}}, vs{{0, 1}, {2, -1}, {1, 1}};
  const Floats c{1, -0.5F, 0.25F};
  for (const std::string& kernel : kernel_names) {
    std::vector<double> want;
    for (const Row& x : xs) {
      want.push_back(0.125);
      for (std::size_t j = 0; j < 3; ++j) want.back() += c[j] * kernel_value(kernel, x, vs[j]);
    }
    const graph::Attributes attributes{{"kernel_type", kernel},
                                       {"kernel_params", params},
                                       {"coefficients", c},
                                       {"support_vectors", Floats{0, 1, 2, -1, 1, 1}},
                                       {"n_supports", std::int64_t{3}},
                                       {"rho", Floats{0.125F}}};
    for (const DType dtype : dtypes) {
      INFO(kernel << " " << to_string(dtype));
      check_close(
          run_op_tensor(ml("SVMRegressor", numbers({2, 2}, {1, 2, -1, 3}, dtype), attributes)),
          numbers({2, 1}, want, DType::float32));
    }
    graph::Attributes one = attributes;
    one.emplace_back("one_class", std::int64_t{1});
    check_close(
        run_op_tensor(ml("SVMRegressor", numbers({2, 2}, {1, 2, -1, 3}), one)),
        numbers({2, 1}, {want[0] > 0 ? 1.0 : -1.0, want[1] > 0 ? 1.0 : -1.0}, DType::float32));
  }
  check_close(run_op_tensor(ml("SVMRegressor", numbers({1, 2}, {1, 2}),
                               {{"coefficients", Floats{3, 4}}, {"rho", Floats{1}}})),
              numbers({1, 1}, {12}, DType::float32));
  check_refused(ml("SVMRegressor", iota({1, 2}), {{"coefficients", Floats{3, 4}}}),
                ErrorCode::invalid_model, "'rho'");
  check_refused(ml("SVMRegressor", iota({1, 2}),
                   {{"coefficients", Floats{3}},
                    {"rho", Floats{1}},
                    {"n_supports", std::int64_t{1}},
                    {"support_vectors", Floats{1}}}),
                ErrorCode::invalid_model, "'support_vectors' has 1 elements, needed: 2");
  // A product that is 0 in 32 bits.
  constexpr std::int64_t many = 1 << 16;
  check_refused(ml("SVMRegressor", Tensor(DType::float32, {1, many}),
                   {{"coefficients", Floats(many)},
                    {"rho", Floats{1}},
                    {"n_supports", many},
                    {"support_vectors", Floats{}}}),
                ErrorCode::invalid_model, "'support_vectors' has 0 elements, needed: 4294967296");
}

namespace {

const Int64s vector_counts{2, 1, 2};
const Floats vectors{0.2F, 0.7F, -0.3F, 0.5F, -0.6F};
const Floats svm_coefficients{1, -1.5F, 0.3F, 0.4F, 0.5F, -0.6F, 0.7F, 0.2F, -0.8F, 0.9F};
const Floats rho{0.1F, -0.2F, 0.3F};

graph::Attributes svm_attributes(const std::string& kernel) {
  return {{"kernel_type", kernel},
          {"kernel_params", params},
          {"coefficients", svm_coefficients},
          {"support_vectors", vectors},
          {"vectors_per_class", vector_counts},
          {"rho", rho},
          {"classlabels_ints", Int64s{5, 6, 7}}};
}

// The margins of the pairs (0, 1), (0, 2), (1, 2).
Row margins(const std::string& kernel, double x) {
  Row out;
  const std::vector<std::size_t> starts{0, 2, 3, 5};
  std::size_t pair = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = i + 1; j < 3; ++j, ++pair) {
      double sum = rho[pair];
      for (std::size_t v = starts[i]; v < starts[i + 1]; ++v) {
        sum += svm_coefficients[(j - 1) * 5 + v] * kernel_value(kernel, {x}, {vectors[v]});
      }
      for (std::size_t v = starts[j]; v < starts[j + 1]; ++v) {
        sum += svm_coefficients[i * 5 + v] * kernel_value(kernel, {x}, {vectors[v]});
      }
      out.push_back(sum);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("SVMClassifier votes for pairs of classes") {
  const Row xs{0.5, -0.25, 0, 0.9, -2};
  for (const std::string& kernel : kernel_names) {
    INFO(kernel);
    std::vector<double> scores;
    Int64s labels;
    for (const double x : xs) {
      const Row m = margins(kernel, x);
      std::vector<int> votes(3);
      ++votes[m[0] > 0 ? 0 : 1];
      ++votes[m[1] > 0 ? 0 : 2];
      ++votes[m[2] > 0 ? 1 : 2];
      labels.push_back(5 + (std::max_element(votes.begin(), votes.end()) - votes.begin()));
      scores.insert(scores.end(), m.begin(), m.end());
    }
    const auto got = run_op(ml("SVMClassifier", numbers({5, 1}, xs), svm_attributes(kernel), 2));
    CHECK(got[0].tensor().identical(int64s(labels)));
    check_close(got[1].tensor(), numbers({5, 3}, scores, DType::float32), {1e-5, 1e-6});
  }
}

TEST_CASE("SVMClassifier couples the probabilities of pairs") {
  auto attributes = svm_attributes("RBF");
  const Floats a{-1, -0.5F, -0.7F}, b{0.1F, 0.2F, 0.3F};
  attributes.emplace_back("prob_a", a);
  attributes.emplace_back("prob_b", b);
  const Row xs{0.5, -0.25, 3};
  const Tensor p = run_op(ml("SVMClassifier", numbers({3, 1}, xs), attributes, 2))[1].tensor();
  for (std::size_t r = 0; r < 3; ++r) {
    const Row m = margins("RBF", xs[r]);
    const auto pair = [&](std::size_t k) { return 1 / (1 + std::exp(a[k] * m[k] + b[k])); };
    const double q[3][3] = {
        {0, pair(0), pair(1)}, {1 - pair(0), 0, pair(2)}, {1 - pair(1), 1 - pair(2), 0}};
    const auto cost = [&](double p0, double p1) {
      const double probabilities[3] = {p0, p1, 1 - p0 - p1};
      double sum = 0;
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
          const double d = q[j][i] * probabilities[i] - q[i][j] * probabilities[j];
          if (i != j) sum += d * d;
        }
      }
      return sum;
    };
    // The least cost on a grid: the iteration stops within 0.005 / 3.
    double best = 1e9, best0 = 0, best1 = 0;
    for (double p0 = 0; p0 <= 1; p0 += 0.002) {
      for (double p1 = 0; p0 + p1 <= 1; p1 += 0.002) {
        if (cost(p0, p1) < best) best = cost(p0, p1), best0 = p0, best1 = p1;
      }
    }
    const auto got = p.values<float>().subspan(3 * r, 3);
    CHECK(got[0] == Approx(best0).margin(0.01));
    CHECK(got[1] == Approx(best1).margin(0.01));
    CHECK(got[0] + got[1] + got[2] == Approx(1).margin(1e-5));
  }
}

TEST_CASE("SVMClassifier of two classes and without support vectors") {
  const graph::Attributes two{{"coefficients", Floats{1, -1.5F}},
                              {"support_vectors", Floats{0.2F, 0.7F}},
                              {"vectors_per_class", Int64s{1, 1}},
                              {"rho", Floats{0.1F}},
                              {"classlabels_strings", std::vector<std::string>{"a", "b"}}};
  auto got = run_op(ml("SVMClassifier", numbers({2, 1}, {0.5, -0.25}), two, 2));
  CHECK(got[0].tensor().identical(texts({"b", "a"})));
  check_close(got[1].tensor(), numbers({2, 2}, {0.325, -0.325, -0.3125, 0.3125}, DType::float32));
  got = run_op(ml("SVMClassifier", numbers({2, 1}, {0.5, -0.25}),
                  {{"coefficients", Floats{1, -1.5F, 0.2F}},
                   {"rho", Floats{0.1F, 0.2F, 0.3F}},
                   {"classlabels_ints", Int64s{10, 20, 30}}},
                  2));
  CHECK(got[0].tensor().identical(int64s({10, 20})));
  check_close(got[1].tensor(),
              numbers({2, 3}, {0.6, -0.65, 0.2, -0.15, 0.475, 0.05}, DType::float32));
}

TEST_CASE("SVMClassifier refuses attributes of other sizes") {
  const auto refused = [](const std::string& name, graph::Attribute::Data data,
                          const std::string& part) {
    auto attributes = svm_attributes("RBF");
    std::erase_if(attributes, [&](const auto& a) { return a.name == name; });
    attributes.emplace_back(name, std::move(data));
    check_refused(ml("SVMClassifier", iota({1, 1}), attributes, 2), ErrorCode::invalid_model, part);
  };
  refused("coefficients", Floats{1}, "'coefficients' has 1 elements, needed: 10");
  refused("support_vectors", Floats{1}, "'support_vectors' has 1 elements, needed: 5");
  refused("rho", Floats{1}, "'rho' has 1 elements, needed: 3");
  refused("vectors_per_class", Int64s{1, 2}, "'vectors_per_class' has 2");
  refused("vectors_per_class", Int64s{-1, 2, 3}, "has -1");
  refused("prob_a", Floats{1}, "'prob_a' has 1");
  refused("kernel_params", Floats{1}, "'kernel_params' has 1");
  refused("kernel_type", std::string("GAUSS"), "'GAUSS'");
}

TEST_CASE("SVMClassifier refuses so many classes that the number of their pairs has 33 bits") {
  constexpr std::size_t classes = (1 << 16) + 1;
  Int64s labels(classes);
  std::iota(labels.begin(), labels.end(), 0);
  Int64s counts(classes);
  counts[0] = 1;
  check_refused(ml("SVMClassifier", iota({1, 1}),
                   {{"classlabels_ints", labels},
                    {"vectors_per_class", counts},
                    {"support_vectors", Floats{1}},
                    {"coefficients", Floats(classes - 1)},
                    {"rho", Floats(1 << 15)}},  // what is left of the number in 32 bits
                   2),
                ErrorCode::invalid_model, "'rho' has 32768 elements, needed: 2147516416");
}

// Rotations of pairs, as rotary position embeddings are.
#include <catch2/catch.hpp>

#include "tests/kernels/common/numbers.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

struct Form {
  bool interleaved = false;
  bool inverse = false;
  bool per_pair = false;
  std::int64_t rotary_dim = 0;
};

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const bool interleaved : {false, true}) {
    for (const bool inverse : {false, true}) {
      for (const bool per_pair : {false, true}) {
        for (const std::int64_t rotary_dim : {0, 4}) {
          all.push_back({interleaved, inverse, per_pair, rotary_dim});
        }
      }
    }
  }
  return all;
}

OpCase rotation(const Form& form, std::vector<Value> inputs) {
  return {.op = "RotatePairs",
          .inputs = std::move(inputs),
          .attributes = {{"interleaved", std::int64_t{form.interleaved}},
                         {"inverse", std::int64_t{form.inverse}},
                         {"per_pair", std::int64_t{form.per_pair}},
                         {"rotary_dim", form.rotary_dim}},
          .domain = "ai.ondine"};
}

// Element by element; x is [samples, heads, steps, width], the tables [steps, numbers].
Tensor rotated(const Form& form, const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const std::int64_t width = x.shape().back();
  const std::int64_t turned = form.rotary_dim > 0 ? form.rotary_dim : width;
  const std::int64_t numbers = cos.shape().back();
  const std::int64_t steps = cos.shape()[0];
  const auto in = as_doubles(x), c = as_doubles(cos), s = as_doubles(sin);
  std::vector<double> out = in;
  for (std::int64_t row = 0; row < x.size() / width; ++row) {
    const auto table = [&](const std::vector<double>& of, std::int64_t pair, std::int64_t element) {
      const std::int64_t at = form.per_pair ? pair : element;
      return of[static_cast<std::size_t>(row % steps * numbers + at)];
    };
    for (std::int64_t pair = 0; pair < turned / 2; ++pair) {
      const std::int64_t a = form.interleaved ? 2 * pair : pair;
      const std::int64_t b = form.interleaved ? 2 * pair + 1 : pair + turned / 2;
      const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(row * width + i); };
      const double sign = form.inverse ? -1 : 1;
      const double sin_of_a = table(s, pair, form.inverse ? b : a);
      const double sin_of_b = table(s, pair, form.inverse ? a : b);
      out[at(a)] = in[at(a)] * table(c, pair, a) - sign * in[at(b)] * sin_of_a;
      out[at(b)] = in[at(b)] * table(c, pair, b) + sign * in[at(a)] * sin_of_b;
    }
  }
  return Tensor::of<double>(x.shape(), out);
}

std::int64_t numbers_of(const Form& form, std::int64_t width) {
  const std::int64_t turned = form.rotary_dim > 0 ? form.rotary_dim : width;
  return form.per_pair ? turned / 2 : turned;
}

}  // namespace

TEST_CASE("RotatePairs rotates each pair by the numbers of its position in every float format") {
  for (const Form& form : forms()) {
    CAPTURE(form.interleaved, form.inverse, form.per_pair, form.rotary_dim);
    // Rows of more than one block of 256 pairs, and a number of rows that chunks do not divide.
    for (const std::int64_t width : {6, 1030}) {
      const std::int64_t numbers = numbers_of(form, width);
      for (const DType dtype : float_dtypes) {
        const Tensor x = as_dtype(random_tensor({2, 3, 7, width}, 1), dtype);
        const Tensor cos = as_dtype(random_tensor({7, numbers}, 2), dtype);
        const Tensor sin = as_dtype(random_tensor({7, numbers}, 3), dtype);
        Closeness closeness = closeness_of(dtype);
        closeness.atol = std::max(closeness.atol, closeness.rtol);
        check_close(run_op_tensor(rotation(form, {x, cos, sin})),
                    as_dtype(rotated(form, x, cos, sin), dtype), closeness);
      }
    }
  }
}

TEST_CASE("RotatePairs has the derivative of its formula, also by its tables") {
  for (const Form& form : forms()) {
    CAPTURE(form.interleaved, form.inverse, form.per_pair, form.rotary_dim);
    const std::int64_t numbers = numbers_of(form, 6);
    check_gradient(rotation(form, {random_tensor({2, 3, 6}, 1), random_tensor({3, numbers}, 2),
                                   random_tensor({2, 1, numbers}, 3)}),
                   {.variants = false});
  }
}

TEST_CASE("tables of RotatePairs are shared by all rows that they broadcast to") {
  const Tensor x = random_tensor({2, 3, 4, 6}, 1);
  const Tensor cos = random_tensor({2, 1, 4, 6}, 2);
  const Tensor sin = random_tensor({6}, 3);
  const auto run = [](const Tensor& rows, const Tensor& c, const Tensor& s) {
    return run_op_tensor(rotation({}, {rows, c, s}));
  };
  const auto ones = Tensor::of<double>({2, 3, 4, 1}, std::vector<double>(24, 1));
  const auto whole = [&](const Tensor& table) { return run_op_tensor({"Mul", {ones, table}}); };
  CHECK(run(x, cos, sin).identical(run(x, whole(cos), whole(sin))));
}

TEST_CASE("RotatePairs refuses tables that do not fit the rows") {
  const Tensor x = random_tensor({2, 3, 6}, 1);
  const Tensor fits = random_tensor({3, 6}, 2);
  const auto refused = [&](const Form& form, const Tensor& cos, const Tensor& sin) {
    CHECK_THROWS_AS(run_op(rotation(form, {x, cos, sin})), Error);
  };
  CHECK_THROWS_WITH(run_op(rotation({}, {x, random_tensor({3, 4}, 2), fits})),
                    Catch::Contains("cos [3, 4] does not fit rows [2, 3, 6]"));
  refused({}, fits, random_tensor({2, 6}, 3));
  refused({}, fits, random_tensor({1, 2, 3, 6}, 3));
  refused({}, fits, as_dtype(fits, DType::float32));
  refused({.per_pair = true}, fits, fits);
  refused({.rotary_dim = 3}, fits, fits);
  refused({.rotary_dim = 8}, fits, fits);
  refused({.rotary_dim = -2}, fits, fits);
}

}  // namespace ondine::test

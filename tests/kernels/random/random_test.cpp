#include <algorithm>

#include "graph/evaluate/graph_runner.h"
#include "tests/kernels/common/numbers.h"

using namespace ondine;
using namespace ondine::test;
using namespace ondine::graph;  // NOLINT

namespace {

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments(const Tensor& tensor) {
  const auto values = as_doubles(tensor);
  Moments m;
  for (const double x : values) m.mean += x / static_cast<double>(values.size());
  for (const double x : values) {
    m.deviation += (x - m.mean) * (x - m.mean) / static_cast<double>(values.size());
  }
  m.deviation = std::sqrt(m.deviation);
  return m;
}

// Runs an operator at a step with a number of threads.
std::vector<Value> run_at(const OpCase& op_case, std::uint64_t seed, std::uint64_t step,
                          int threads) {
  Graph g;
  Builder builder(g, catalogue());
  std::vector<Val> inputs;
  std::vector<Value> fed;
  for (const Value& value : op_case.inputs) {
    g.inputs.push_back(g.add_temporary("x", type_of(value)));
    inputs.push_back(builder.value(g.inputs.back()));
    fed.push_back(value);
  }
  for (const Val output : builder.nodes(op_case.op, inputs, op_case.attributes, op_case.outputs,
                                        op_case.domain, op_case.version)) {
    g.outputs.push_back(output.id());
  }
  ThreadPool pool(threads);
  CallState call;
  call.pool = &pool;
  call.seed = seed;
  call.step = step;
  return GraphRunner(g).run(call, fed);
}

Tensor training() { return Tensor::scalar(true); }

}  // namespace

TEST_CASE("Random numbers have the moments that are asked for") {
  const std::vector<std::int64_t> shape{200, 301};
  for (const DType dtype : float_dtypes) {
    INFO(to_string(dtype));
    const Attribute type{"dtype", static_cast<std::int64_t>(dtype)};
    const Tensor normal =
        run_op_tensor({.op = "RandomNormal",
                       .inputs = {},
                       .attributes = {{"shape", shape}, type, {"mean", 3.0F}, {"scale", 2.0F}}});
    CHECK(normal.dtype() == dtype);
    CHECK(moments(normal).mean == Approx(3).margin(0.04));
    CHECK(moments(normal).deviation == Approx(2).margin(0.04));
    const Tensor uniform = run_op_tensor({.op = "RandomUniformLike",
                                          .inputs = {Tensor(DType::int8, {200, 301})},
                                          .attributes = {type, {"low", -1.0F}, {"high", 5.0F}}});
    CHECK(moments(uniform).mean == Approx(2).margin(0.04));
    CHECK(moments(uniform).deviation == Approx(6 / std::sqrt(12.0)).margin(0.03));
    const auto values = as_doubles(uniform);
    CHECK(*std::min_element(values.begin(), values.end()) >= -1);
    CHECK(*std::max_element(values.begin(), values.end()) <= 5);
  }
  CHECK_THROWS_AS(run_op({.op = "RandomNormal", .inputs = {}}), Error);
  CHECK_THROWS_AS(run_op({.op = "RandomNormalLike", .inputs = {Tensor(DType::int32, {2})}}), Error);
  CHECK_THROWS_AS(run_op({.op = "RandomUniform",
                          .inputs = {},
                          .attributes = {{"shape", std::vector<std::int64_t>{-2}}}}),
                  Error);
}

TEST_CASE("Random operators give the same bits for any number of threads") {
  const Tensor x = random_floats({3, 30001}, 1, 0, 1);
  const std::vector<OpCase> op_cases{
      {.op = "RandomNormalLike", .inputs = {x}},
      {.op = "RandomUniformLike", .inputs = {x}},
      {.op = "Bernoulli", .inputs = {x}},
      {.op = "Multinomial", .inputs = {x}, .attributes = {{"sample_size", std::int64_t{9}}}},
      {.op = "Dropout", .inputs = {x, Tensor::scalar(0.5F), training()}, .outputs = 2}};
  for (const OpCase& op_case : op_cases) {
    INFO(op_case.op);
    const auto one = run_at(op_case, 7, 3, 1);
    const auto three = run_at(op_case, 7, 3, 3);
    for (std::size_t i = 0; i < one.size(); ++i) {
      CHECK(one[i].tensor().identical(three[i].tensor()));
    }
    CHECK_FALSE(one[0].tensor().identical(run_at(op_case, 7, 4, 1)[0].tensor()));
    CHECK_FALSE(one[0].tensor().identical(run_at(op_case, 8, 3, 1)[0].tensor()));
    OpCase seeded = op_case;
    if (op_case.op == "Dropout") {
      seeded.attributes.emplace_back("seed", std::int64_t{5});
    } else {
      seeded.attributes.emplace_back("seed", 5.0F);
    }
    const auto first = run_at(seeded, 7, 3, 1);
    CHECK(first[0].tensor().identical(run_at(seeded, 8, 3, 1)[0].tensor()));
    CHECK_FALSE(first[0].tensor().identical(run_at(seeded, 7, 4, 1)[0].tensor()));
  }
}

TEST_CASE("Bernoulli draws ones with the given probabilities in every dtype") {
  Tensor p(DType::float64, {3, 20000});
  for (std::size_t i = 0; i < 60000; ++i) {
    p.mutable_values<double>()[i] = i < 20000 ? 0 : i < 40000 ? 0.3 : 1;
  }
  std::vector<DType> dtypes = integer_dtypes;
  dtypes.insert(dtypes.end(), float_dtypes.begin(), float_dtypes.end());
  dtypes.push_back(DType::boolean);
  for (const DType dtype : dtypes) {
    const auto drawn =
        as_doubles(run_op_tensor({.op = "Bernoulli",
                                  .inputs = {p},
                                  .attributes = {{"dtype", static_cast<std::int64_t>(dtype)}}}));
    const auto ones = [&](std::size_t first) {
      return std::count(drawn.begin() + static_cast<std::ptrdiff_t>(first),
                        drawn.begin() + static_cast<std::ptrdiff_t>(first + 20000), 1.0);
    };
    CHECK(ones(0) == 0);
    CHECK(std::abs(ones(20000) - 6000) < 300);
    CHECK(ones(40000) == 20000);
    CHECK(std::count(drawn.begin(), drawn.end(), 0.0) + ones(20000) + 20000 == 60000);
  }
  CHECK(run_op_tensor({.op = "Bernoulli", .inputs = {as_dtype(p, DType::float16)}}).dtype() ==
        DType::float16);
}

TEST_CASE("Multinomial draws classes by their weights") {
  const Tensor x = numbers({2, 3}, {std::log(0.2), std::log(0.5), std::log(0.3), 5, 5, -1e30});
  for (const DType dtype : {DType::int32, DType::int64}) {
    const Tensor drawn =
        run_op_tensor({.op = "Multinomial",
                       .inputs = {x},
                       .attributes = {{"sample_size", std::int64_t{20000}},
                                      {"dtype", static_cast<std::int64_t>(dtype)}}});
    CHECK(drawn.shape() == Shape{2, 20000});
    const auto values = as_doubles(drawn);
    const auto share = [&](std::ptrdiff_t row, double c) {
      return static_cast<double>(
                 std::count(values.begin() + row * 20000, values.begin() + (row + 1) * 20000, c)) /
             20000;
    };
    CHECK(share(0, 0) == Approx(0.2).margin(0.02));
    CHECK(share(0, 1) == Approx(0.5).margin(0.02));
    CHECK(share(0, 2) == Approx(0.3).margin(0.02));
    CHECK(share(1, 0) == Approx(0.5).margin(0.02));
    CHECK(share(1, 2) == 0);
  }
  const auto with = [&](const Tensor& input, Attribute attribute) {
    return run_op({.op = "Multinomial", .inputs = {input}, .attributes = {std::move(attribute)}});
  };
  CHECK_THROWS_AS(with(x, {"sample_size", std::int64_t{0}}), Error);
  CHECK_THROWS_AS(with(x, {"dtype", std::int64_t{1}}), Error);
  CHECK_THROWS_AS(with(numbers({3}, {1, 2, 3}), {"sample_size", std::int64_t{1}}), Error);
}

TEST_CASE("Dropout in training scales what it keeps and tells which") {
  for (const DType dtype : float_dtypes) {
    for (const DType ratio_type : {DType::float32, DType::float64, DType::float16}) {
      INFO(to_string(dtype));
      const Tensor x = as_dtype(random_tensor({100, 301}, 1, 1, 2), dtype);
      const auto result = run_op({.op = "Dropout",
                                  .inputs = {x, numbers({}, {0.25}, ratio_type), training()},
                                  .outputs = 2});
      const auto y = as_doubles(result[0].tensor());
      const auto mask = as_doubles(result[1].tensor());
      CHECK(result[1].tensor().dtype() == DType::boolean);
      const auto values = as_doubles(x);
      double kept = 0;
      bool right = true;
      for (std::size_t i = 0; i < y.size(); ++i) {
        kept += mask[i];
        const double want = mask[i] * values[i] / 0.75;
        right = right && std::abs(y[i] - want) <= closeness_of(dtype).rtol * 2 * want;
      }
      CHECK(right);
      CHECK(kept / static_cast<double>(y.size()) == Approx(0.75).margin(0.02));
    }
  }
}

TEST_CASE("Dropout outside of training keeps everything") {
  const Tensor x = random_tensor({4, 5}, 1);
  const Tensor all = as_dtype(random_tensor({4, 5}, 1, 1, 2), DType::boolean);
  for (const auto& inputs : {std::vector<Value>{x}, std::vector<Value>{x, Tensor::scalar(0.9F)},
                             std::vector<Value>{x, Value(), Tensor::scalar(false)},
                             std::vector<Value>{x, Tensor::scalar(0.0F), training()}}) {
    const auto result = run_op({.op = "Dropout", .inputs = inputs, .outputs = 2});
    CHECK(result[0].tensor().identical(x));
    CHECK(result[1].tensor().identical(all));
  }
  for (const std::int64_t version : {7, 10}) {
    const auto result = run_op({.op = "Dropout", .inputs = {x}, .outputs = 2, .version = version});
    CHECK(result[0].tensor().identical(x));
    CHECK(result[1].tensor().dtype() == (version == 7 ? DType::float64 : DType::boolean));
  }
  const auto old = [&](std::int64_t is_test) {
    return run_op({.op = "Dropout",
                   .inputs = {x},
                   .attributes = {{"is_test", is_test}},
                   .outputs = 2,
                   .version = 6});
  };
  CHECK(old(1)[0].tensor().identical(x));
  CHECK_FALSE(old(0)[0].tensor().identical(x));
  CHECK(old(0)[1].tensor().dtype() == DType::float64);
}

TEST_CASE("Dropout rejects ratios outside of [0, 1)") {
  const Tensor x = random_tensor({4}, 1);
  for (const double ratio : {-0.1, 1.0, 2.0, std::nan("")}) {
    CHECK_THROWS_WITH(run_op({.op = "Dropout", .inputs = {x, Tensor::scalar(ratio), training()}}),
                      Catch::Contains("ratio"));
  }
}

TEST_CASE("Dropout rejects ratios and modes that are no scalars") {
  const Tensor x = random_tensor({4}, 1);
  const Tensor none(DType::boolean, {0});
  CHECK_THROWS_AS(run_op({.op = "Dropout", .inputs = {x, Value(), none}}), Error);
  CHECK_THROWS_AS(run_op({.op = "Dropout", .inputs = {x, Tensor(DType::float32, {2})}}), Error);
}

TEST_CASE("Dropout passes its derivative to what was kept") {
  const Tensor x = random_tensor({6, 5}, 1);
  check_gradient({.op = "Dropout", .inputs = {x, Tensor::scalar(0.3F), training()}});
  check_gradient({.op = "Dropout", .inputs = {x, Value(), training()}, .outputs = 2});
  check_gradient({.op = "Dropout", .inputs = {x, Tensor::scalar(0.3F), Tensor::scalar(false)}});
  check_gradient({.op = "Dropout", .inputs = {x}});
  check_gradient({.op = "Dropout", .inputs = {x}, .attributes = {{"ratio", 0.25F}}, .version = 6});
  check_gradient({.op = "Dropout", .inputs = {x}, .version = 10});
}

TEST_CASE("EyeLike puts ones on a diagonal") {
  const auto eye = [](const Shape& shape, std::int64_t k, DType dtype) {
    return as_doubles(
        run_op_tensor({.op = "EyeLike",
                       .inputs = {Tensor(DType::float32, shape)},
                       .attributes = {{"k", k}, {"dtype", static_cast<std::int64_t>(dtype)}}}));
  };
  for (const DType dtype : {DType::float64, DType::int8, DType::boolean, DType::bfloat16}) {
    CHECK(eye({2, 3}, 0, dtype) == std::vector<double>{1, 0, 0, 0, 1, 0});
    CHECK(eye({2, 3}, 1, dtype) == std::vector<double>{0, 1, 0, 0, 0, 1});
    CHECK(eye({3, 2}, -1, dtype) == std::vector<double>{0, 0, 1, 0, 0, 1});
    CHECK(eye({2, 2}, 9, dtype) == std::vector<double>{0, 0, 0, 0});
  }
  CHECK(eye({0, 3}, 0, DType::float32).empty());
  CHECK(eye({2, 2}, std::numeric_limits<std::int64_t>::min(), DType::float32) ==
        std::vector<double>{0, 0, 0, 0});
  CHECK_THROWS_AS(run_op({.op = "EyeLike", .inputs = {random_tensor({2}, 1)}}), Error);
}

TEST_CASE("Normal numbers are those of their definition, in every dtype and for any count") {
  for (const DType dtype : float_dtypes) {
    for (const std::int64_t n : {1, 2, 7, 16, 255, 256, 257, 70001}) {
      INFO(to_string(dtype) << ", " << n);
      const OpCase op_case{.op = "RandomNormal",
                           .inputs = {},
                           .attributes = {{"shape", std::vector<std::int64_t>{n}},
                                          {"dtype", static_cast<std::int64_t>(dtype)},
                                          {"mean", 0.5F},
                                          {"scale", 3.0F},
                                          {"seed", std::int64_t{11}}}};
      const auto found = as_doubles(run_at(op_case, 7, 3, 2)[0].tensor());
      Tensor expected(DType::float64, {n});
      bool matches = false;
      for (std::uint32_t stream = 0; stream < 8 && !matches; ++stream) {  // the node's number
        for (std::int64_t i = 0; i < n; ++i) {
          const double value =
              0.5 + 3.0 * normal_at({11, 3, stream}, static_cast<std::uint64_t>(i));
          expected.mutable_values<double>()[static_cast<std::size_t>(i)] =
              dtype == DType::float64 ? value : static_cast<double>(static_cast<float>(value));
        }
        matches = as_doubles(as_dtype(expected, dtype)) == found;
      }
      CHECK(matches);
    }
  }
}

// Which column an input gets, and what a batch of it holds.
#include <catch2/catch.hpp>

#include <ondine/data.h>
#include <ondine/error.h>

#include "tests/support/port.h"

namespace ondine::test {
namespace {

using Names = std::vector<std::string>;
using Rows = std::vector<std::uint64_t>;
using Ports = std::vector<PortInfo>;

Tensor numbers(std::int64_t rows, std::int64_t width) {
  Tensor tensor(DType::float32, {rows, width});
  float next = 0;
  for (float& value : tensor.mutable_values<float>()) value = next++;
  return tensor;
}

Tensor labels(std::vector<std::int64_t> values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

// "" where the data suits the inputs.
std::string refusal(Ports inputs, const NamedValues& arrays, const ArrayMap& map = {}) {
  for (PortInfo& input : inputs) input.type = "T";
  try {
    const Feeder feeder(inputs, arrays, map);
  } catch (const Error& error) {
    const bool is_absent = error.message().starts_with("there is no");
    CHECK(error.code() == (is_absent ? ErrorCode::not_found : ErrorCode::mismatch));
    return error.message();
  }
  return "";
}

PortInfo with_default(PortInfo port) {
  port.has_default = true;
  return port;
}

}  // namespace

TEST_CASE("an input gets the column of its name although others fit") {
  const Ports inputs{port("b", DType::float32, {-1, 2})};
  Feeder feeder(inputs, {{"a", numbers(3, 2)}, {"b", Tensor(DType::float32, {3, 2})}});
  CHECK(feeder.take(Rows{2})[0].second.tensor().identical(Tensor(DType::float32, {1, 2})));
  CHECK(refusal(inputs, {{"a", numbers(3, 2)}, {"b", numbers(3, 4)}}) ==
        "an array float[3, 4] does not fit input 'b' of type T");
}

TEST_CASE("a map goes before names, and each part of it must exist") {
  const Ports inputs{port("b", DType::float32, {-1, 2})};
  const NamedValues arrays{{"a", numbers(3, 2)}, {"b", Tensor(DType::float32, {3, 2})}};
  Feeder feeder(inputs, arrays, {{"b", "a"}});
  CHECK(feeder.take(Rows{1})[0].second.tensor().identical(Tensor::of<float>({1, 2}, {2, 3})));
  CHECK(refusal(inputs, arrays, {{"c", "a"}}) == "the model has no input 'c' to map to");
  CHECK(refusal(inputs, arrays, {{"b", "c"}}) ==
        "there is no array 'c'; the data has: 'a' float[3, 2], 'b' float[3, 2]");
}

TEST_CASE("an input without a column of its name gets the only one that is left and fits") {
  const PortInfo x = port("x", DType::float32, {-1, 2});
  const PortInfo y = port("y", DType::float32, {-1, 2});
  const NamedValues arrays{{"p", numbers(3, 2)}, {"y", Tensor(DType::float32, {3, 2})}};
  Feeder feeder(Ports{x, y}, arrays);
  CHECK(feeder.inputs() == Names{"x", "y"});
  CHECK(feeder.take(Rows{0})[0].second.tensor().identical(Tensor::of<float>({1, 2}, {0, 1})));
  CHECK(refusal({x}, arrays) ==
        "several arrays fit input 'x' of type T; the data has: "
        "'p' float[3, 2], 'y' float[3, 2]");
  CHECK(refusal({port("x", DType::float32, {-1, 5})}, arrays) ==
        "no array fits input 'x' of type T; the data has: "
        "'p' float[3, 2], 'y' float[3, 2]");
}

TEST_CASE("an input with a default stays without a column unless one has its name") {
  const PortInfo x = port("x", DType::float32, {-1, 2});
  const PortInfo scale = with_default(port("scale", DType::float32, {-1, 3}));
  const NamedValues arrays{{"x", numbers(3, 2)}, {"other", numbers(3, 3)}};
  CHECK(Feeder(Ports{scale, x}, arrays).inputs() == Names{"x"});
  CHECK(Feeder(Ports{scale, x}, arrays, {{"scale", "other"}}).inputs() == Names{"scale", "x"});
  CHECK(Feeder(Ports{x, scale}, {{"x", numbers(3, 2)}, {"scale", numbers(3, 3)}}).inputs() ==
        Names{"x", "scale"});
  const Feeder none(Ports{scale}, arrays);
  CHECK(none.inputs().empty());
  CHECK(none.size() == 0);
}

TEST_CASE("labels become probabilities where an input of floats has a dim of classes") {
  const NamedValues arrays{{"kind", labels({1, 0, 1})}};
  for (const char* name : {"kind", "probabilities"}) {
    CAPTURE(name);
    for (const DType dtype : {DType::float32, DType::float64}) {
      Feeder feeder(Ports{port(name, dtype, {-1, 2})}, arrays);
      const Tensor rows = feeder.take(Rows{0, 1})[0].second.tensor();
      CHECK(rows.dtype() == dtype);
      CHECK(rows.shape() == Shape{2, 2});
    }
    const auto refused = [&](DType dtype, std::vector<std::int64_t> dims) {
      return !refusal({port(name, dtype, std::move(dims))}, arrays).empty();
    };
    CHECK(refused(DType::int64, {-1, 2}));
    CHECK(refused(DType::float32, {-1, 2, 2}));
    // As numbers.
    CHECK_FALSE(refused(DType::float32, {-1}));
    CHECK_FALSE(refused(DType::float32, {-1, 1}));
    CHECK_FALSE(refusal({port(name, DType::float32, {-1, 2})}, {{"kind", numbers(3, 4)}}).empty());
  }
  CHECK(refusal({port("x", DType::float32, {-1, 2})},
                {{"kind", labels({1, 0})}, {"sort", labels({0, 1})}})
            .find("several arrays fit input 'x'") == 0);
}

TEST_CASE("the columns of a batch have as many rows") {
  const Ports inputs{port("x", DType::float32, {-1, 2}), port("y", DType::int64, {-1})};
  CHECK(refusal(inputs, {{"x", numbers(3, 2)}, {"y", labels({1, 2})}}) ==
        "input 'x' has 3 rows, input 'y' has 2");
}

TEST_CASE("the batch size is that which an input fixes") {
  const NamedValues arrays{{"x", numbers(3, 2)}, {"y", labels({1, 2, 0})}};
  const auto fixed = [&](std::vector<std::int64_t> x, std::vector<std::int64_t> y) {
    return Feeder(Ports{port("x", DType::float32, std::move(x)),
                        port("y", DType::int64, std::move(y))},
                  arrays)
        .fixed_batch();
  };
  CHECK(fixed({-1, 2}, {-1}) == std::nullopt);
  CHECK(fixed({2, 2}, {-1}) == 2U);
  CHECK(fixed({-1, 2}, {3}) == 3U);
}

TEST_CASE("a batch holds its rows in order, in memory that batches of its size share") {
  Feeder feeder(Ports{port("x", DType::float32, {-1, 2})}, {{"x", numbers(4, 2)}});
  CHECK(feeder.size() == 4);
  const auto first = feeder.take(Rows{3, 0, 3});
  const void* memory = first[0].second.tensor().data();
  CHECK(first[0].first == "x");
  CHECK(first[0].second.tensor().identical(Tensor::of<float>({3, 2}, {6, 7, 0, 1, 6, 7})));
  CHECK(feeder.take(Rows{0, 1, 2})[0].second.tensor().data() == memory);
  CHECK(feeder.take(Rows{1})[0].second.tensor().identical(Tensor::of<float>({1, 2}, {2, 3})));
  CHECK(feeder.take(Rows{})[0].second.tensor().shape() == Shape{0, 2});
  CHECK_NOTHROW(feeder.take(Rows{3}));
  CHECK_THROWS_WITH(feeder.take(Rows{0, 4}), "row 4 of 4");
}

}  // namespace ondine::test

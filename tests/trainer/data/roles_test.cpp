// Which numbers an input gets: pixels as 0..1, everything else as it is.
#include <catch2/catch.hpp>

#include <ondine/data.h>
#include <ondine/error.h>

#include "core/float_formats.h"
#include "tests/support/port.h"

namespace ondine::test {
namespace {

using Catch::Contains;
using Names = std::vector<std::string>;

Tensor bytes(std::initializer_list<std::int64_t> shape, std::uint8_t most = 200) {
  Tensor tensor(DType::uint8, Shape(shape));
  auto* values = static_cast<std::uint8_t*>(tensor.mutable_data());
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    values[i] = static_cast<std::uint8_t>(i % (most + 1));
  }
  values[tensor.size() - 1] = most;
  return tensor;
}

// The last element of the last row as the input takes it.
float last(const PortInfo& input, const NamedValues& arrays, const Names& targets = {}) {
  Feeder feeder(std::vector{input}, Dataset::from(arrays), {}, {.targets = targets});
  const std::vector<std::uint64_t> rows{feeder.size() - 1};
  const auto feeds = feeder.take(rows);
  const auto values = feeds[0].second.tensor().values<float>();
  return values[values.size() - 1];
}

PortInfo floats(const std::string& name, std::vector<std::int64_t> dims) {
  return port(name, DType::float32, std::move(dims));
}

template <class T>
std::vector<T> taken(const PortInfo& input, const NamedValues& arrays) {
  Feeder feeder(std::vector{input}, Dataset::from(arrays));
  std::vector<std::uint64_t> rows(feeder.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  const auto feeds = feeder.take(rows);
  const auto values = feeds[0].second.tensor().values<T>();
  return {values.begin(), values.end()};
}

std::string refusal(const PortInfo& input, const NamedValues& arrays) {
  try {
    taken<float>(input, arrays);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

}  // namespace

TEST_CASE("bytes are pixels where the rows of the array or of the input are images") {
  const float white = 200 / 255.0F;
  CHECK(last(floats("x", {-1, 1, 4, 4}), {{"x", bytes({3, 4, 4})}}) == white);
  CHECK(last(floats("x", {-1, 3, 4, 4}), {{"x", bytes({3, 3, 4, 4})}}) == white);
  CHECK(last(floats("x", {-1, 4, 4, 3}), {{"x", bytes({3, 4, 4, 3})}}) == white);
  CHECK(last(floats("x", {-1, 16}), {{"images", bytes({3, 4, 4})}}) == white);
  CHECK(last(floats("x", {-1, 1, 4, 4}), {{"x", bytes({3, 16})}}) == white);
}

TEST_CASE("tables, labels, masks and targets of bytes keep their numbers") {
  CHECK(last(floats("x", {-1, 16}), {{"x", bytes({3, 16})}}) == 200);
  CHECK(last(floats("x", {-1, 16}), {{"x", bytes({3, 16, 1})}}) == 200);
  CHECK(last(floats("x", {-1}), {{"x", bytes({3})}}) == 200);
  CHECK(last(floats("wanted", {-1, 1, 4, 4}), {{"m", bytes({3, 4, 4})}}, {"wanted"}) == 200);
  CHECK(last(floats("label", {-1, 1, 4, 4}), {{"m", bytes({3, 4, 4})}}) == 200);
  CHECK(last(floats("x", {-1, 1, 4, 4}), {{"Masks", bytes({3, 4, 4})}}) == 200);
  // Rows of 0 and 1 alone are no pixels.
  CHECK(last(floats("x", {-1, 4, 4}), {{"x", bytes({3, 4, 4}, 1)}}) == 1);
  CHECK(
      taken<std::int64_t>(port("x", DType::int64, {-1, 4, 4}), {{"x", bytes({3, 4, 4})}}).back() ==
      200);
}

TEST_CASE("an image that is also the target has the same scale in both") {
  const std::vector<PortInfo> inputs{floats("x", {-1, 4, 4}), floats("label", {-1, 16})};
  const NamedValues arrays{{"images", bytes({3, 4, 4})}, {"low", bytes({3, 2, 8})}};
  Feeder same(inputs, Dataset::from(arrays), {{"x", "images"}, {"label", "images"}});
  CHECK(same.scaled() == Names{"x", "label"});
  Feeder other(inputs, Dataset::from(arrays), {{"x", "images"}, {"label", "low"}});
  CHECK(other.scaled() == Names{"x"});
}

TEST_CASE("what was decided before decides, whatever the bytes are") {
  const NamedValues arrays{{"x", bytes({3, 4, 4}, 1)}};
  const PortInfo input = floats("x", {-1, 4, 4});
  const auto scaled = [&](const FeedRoles& roles) {
    return Feeder(std::vector{input}, Dataset::from(arrays), {}, roles).scaled();
  };
  CHECK(scaled({}).empty());
  CHECK(scaled({.scaled = Names{"x"}}) == Names{"x"});
  CHECK(
      Feeder(std::vector{input}, Dataset::from({{"x", bytes({3, 4, 4})}}), {}, {.scaled = Names{}})
          .scaled()
          .empty());
}

TEST_CASE("batches take the targets that are named") {
  const Dataset data = Dataset::from({{"m", bytes({2, 4, 4})}});
  BatchOptions options;
  options.shuffle = false;
  options.inputs = {floats("y", {-1, 4, 4})};
  for (const bool is_target : {false, true}) {
    if (is_target) options.roles.targets = {"y"};
    for (const Batch& batch : data.batches(2, options)) {
      const auto values = batch.feeds()[0].second.tensor().values<float>();
      CHECK(values[31] == (is_target ? 200 : 200 / 255.0F));
    }
  }
}

TEST_CASE("half-precision and unsigned arrays feed inputs of other types") {
  Tensor half(DType::float16, {2, 2});
  auto* values = static_cast<float16*>(half.mutable_data());
  for (int i = 0; i < 4; ++i) values[i] = to_float16(static_cast<float>(i) / 2);
  CHECK(taken<float>(floats("x", {-1, 2}), {{"x", half}}) == std::vector<float>{0, 0.5F, 1, 1.5F});
  const PortInfo label = port("label", DType::int64, {-1});
  CHECK(taken<std::int64_t>(label, {{"y", Tensor::of<std::uint32_t>({2}, {3, 4000000000U})}}) ==
        std::vector<std::int64_t>{3, 4000000000});
  CHECK(taken<std::int64_t>(label, {{"y", Tensor::of<std::uint64_t>({2}, {3, 4})}}) ==
        std::vector<std::int64_t>{3, 4});
}

TEST_CASE("numbers without a fraction feed inputs of integers where nothing else fits") {
  const PortInfo label = port("label", DType::int64, {-1});
  const Tensor whole = Tensor::of<double>({3}, {1, 0, 2});
  CHECK(taken<std::int64_t>(label, {{"y", whole}}) == std::vector<std::int64_t>{1, 0, 2});
  CHECK(taken<std::int64_t>(label, {{"label", whole}}) == std::vector<std::int64_t>{1, 0, 2});
  const Tensor ids = Tensor::of<std::int64_t>({3}, {7, 8, 9});
  CHECK(taken<std::int64_t>(label, {{"y", whole}, {"ids", ids}}) ==
        std::vector<std::int64_t>{7, 8, 9});
  CHECK(taken<std::uint8_t>(port("x", DType::uint8, {-1}), {{"ids", ids}}) ==
        std::vector<std::uint8_t>{7, 8, 9});
  CHECK(taken<bool>(port("x", DType::boolean, {-1}),
                    {{"y", Tensor::of<std::uint8_t>({2}, {1, 0})}}) ==
        std::vector<bool>{true, false});
  CHECK_THAT(refusal(label, {{"y", Tensor::of<double>({2}, {1, 0.5})}}),
             Contains("no array fits input 'label'"));
  CHECK_THAT(refusal(port("x", DType::uint8, {-1}), {{"y", Tensor::of<std::int64_t>({1}, {256})}}),
             Contains("no array fits input 'x'"));
}

TEST_CASE("a number that an input's type cannot hold is refused with its row") {
  CHECK(refusal(port("x", DType::int32, {-1, 1}),
                {{"x", Tensor::of<std::int64_t>({2, 1}, {1, 4294967297})}}) ==
        "row 1 of array 'x': 4294967297 is too large for an input of type int32");
  CHECK_THAT(refusal(floats("x", {-1}), {{"x", Tensor::of<double>({1}, {1e300})}}),
             Contains("row 0 of array 'x'") && Contains("too large"));
}

TEST_CASE("arrays that no input takes do no harm") {
  const NamedValues arrays{{"x", Tensor(DType::float32, {6, 3})},
                           {"y", Tensor(DType::int64, {6})},
                           {"seed", Tensor::scalar(std::int64_t{3})},
                           {"mean", Tensor(DType::float32, {3})},
                           {"std", Tensor(DType::float32, {3})},
                           {"ids", Tensor(DType::int64, {3})},
                           {"none", Tensor(DType::float32, {std::int64_t{1} << 40, 0})}};
  const Dataset data = Dataset::from(arrays);
  CHECK(data.rows() == 6);
  CHECK(data.columns().size() == 2);
  CHECK(data.class_counts() == std::vector<std::uint64_t>{6});
  const std::vector<PortInfo> inputs{floats("x", {-1, 3}), port("label", DType::int64, {-1})};
  const auto [training, validation] = data.split(0.5, 1);
  for (const Dataset& part : {data, training, validation}) {
    Feeder feeder(inputs, part);
    CHECK(feeder.size() == part.rows());
    std::uint64_t rows = 0;
    for (const Batch& batch : part.batches(2, {.inputs = inputs})) rows += batch.rows().size();
    CHECK(rows == part.rows());
  }
  std::size_t fed = 0;
  for (const Batch& batch : data.batches(6)) fed = batch.feeds().size();
  CHECK(fed == 2);
  // An array of another number of rows is taken if its name is given.
  CHECK(Feeder(std::vector{floats("m", {-1})}, data, {{"m", "mean"}}).size() == 3);
  CHECK_THROWS_WITH(Feeder(std::vector{floats("m", {-1})}, training, {{"m", "mean"}}),
                    Contains("array 'mean' has 3 rows") && Contains("6"));
  CHECK_THROWS_WITH(Feeder(inputs, data, {{"x", "seed"}}),
                    Contains("there is no array 'seed'") && Contains("'seed' (a single number)") &&
                        Contains("'none' (rows without elements)"));
}

}  // namespace ondine::test

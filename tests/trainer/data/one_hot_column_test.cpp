// Labels given to an input of probabilities.
#include <ondine/data.h>
#include <catch2/catch.hpp>

#include "tests/support/port.h"
#include "trainer/data/column.h"

namespace ondine::test {
namespace {

using Labels = std::vector<std::int64_t>;

std::shared_ptr<const data::Column> one_hot(const Labels& labels, std::int64_t classes) {
  const auto column = data::array_column(
      "kind", Tensor::of<std::int64_t>({static_cast<std::int64_t>(labels.size())}, labels), {});
  return data::one_hot_column(*column, classes);
}

}  // namespace

TEST_CASE("a column of probabilities declares an input as the labels fill it") {
  const auto column = one_hot({2, 0, 1, 2}, 3);
  CHECK(column->rows() == 4);
  CHECK(column->describe() == "labels[4, 3]");
  const PortInfo port = column->port();
  CHECK(port.name == "kind");
  CHECK(port.dtype == DType::float32);
  CHECK(port.type == "labels[4, 3]");
  CHECK(port.dims == std::vector<std::int64_t>{-1, 3});
  CHECK(column->labels() == Labels{2, 0, 1, 2});
}

TEST_CASE("labels from 0 to one below the number of classes are probabilities of 1") {
  const Labels labels{2, 0, 1};
  Feeder feeder(std::vector{test::port("kind", DType::float32, {-1, 3})},
                {{"kind", Tensor::of<std::int64_t>({3}, labels)}});
  const std::vector<std::uint64_t> rows{0, 1, 2};
  CHECK(feeder.take(rows)[0].second.tensor().identical(
      Tensor::of<float>({3, 3}, {0, 0, 1, 1, 0, 0, 0, 1, 0})));
}

TEST_CASE("a label that is no class is named with its row and column") {
  CHECK_NOTHROW(one_hot({0, 2}, 3));
  CHECK_THROWS_WITH(one_hot({0, 3}, 3), "label 3 in row 1 of 'kind' is none of 3 classes");
  CHECK_THROWS_WITH(one_hot({0, 1, -1}, 3), "label -1 in row 2 of 'kind' is none of 3 classes");
}

}  // namespace ondine::test

#include "trainer/data/batch_reader.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/port.h"

using namespace ondine;
using namespace ondine::data;

namespace {

constexpr std::uint64_t stored = 23;

// Images of 2 x 2 pixels that are the number of their row, and this number.
NamedValues arrays() {
  Tensor x(DType::float32, {stored, 1, 2, 2});
  Tensor t(DType::int64, {stored});
  for (std::size_t row = 0; row < stored; ++row) {
    std::fill_n(x.mutable_values<float>().begin() + static_cast<std::ptrdiff_t>(4 * row), 4,
                static_cast<float>(row));
    t.mutable_values<std::int64_t>()[row] = static_cast<std::int64_t>(row);
  }
  return {{"x", x}, {"t", t}};
}

// Row 0 comes last.
std::vector<std::uint64_t> rotated() {
  std::vector<std::uint64_t> rows;
  for (std::uint64_t i = 1; i <= stored; ++i) rows.push_back(i % stored);
  return rows;
}

void check_batches(Feeder& feeder, const BatchOrder& order, const Augmenter* augmenter) {
  INFO(order.size << " rows from " << order.first << (order.whole_only ? ", whole only" : ""));
  BatchReader reader(feeder, order, augmenter);
  CHECK(reader.waited().has_value() == (augmenter != nullptr));
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;
  for (std::size_t first = order.first; first < stored; first += order.size) {
    const std::size_t count = std::min<std::size_t>(order.size, stored - first);
    if (order.whole_only && count < order.size) break;
    const auto feeds = reader.next();
    REQUIRE(feeds.size() == 2);
    const Tensor& x = feeds[0].second.tensor();
    const Tensor& t = feeds[1].second.tensor();
    REQUIRE(x.shape() == Shape{static_cast<std::int64_t>(count), 1, 2, 2});
    REQUIRE(t.shape() == Shape{static_cast<std::int64_t>(count)});
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(t.values<std::int64_t>()[i] == static_cast<std::int64_t>(order.rows[first + i]));
      for (std::size_t k = 0; k < 4; ++k) {
        CHECK(x.values<float>()[4 * i + k] == static_cast<float>(order.rows[first + i]));
      }
    }
    ++batches;
    rows += count;
  }
  CHECK(reader.batches() == batches);
  CHECK(reader.rows() == rows);
  CHECK_THROWS_WITH(reader.next(), Catch::Contains("no more batches"));
}

}  // namespace

TEST_CASE("batches have the rows of their order, from any position, whole or not") {
  const std::vector<PortInfo> inputs{test::port("x", DType::float32, {std::int64_t{-1}, 1, 2, 2}),
                                     test::port("t", DType::int64, {std::int64_t{-1}})};
  Feeder feeder(inputs, arrays());
  const std::vector<std::string> names{"x"};
  // Images that do not change, but are made by other threads.
  const Augmenter none({}, 1, BatchReader::sources_of(feeder), names, rotated());
  for (const std::uint64_t size : {1, 4, 22, 23, 30}) {
    for (const std::uint64_t first : {0, 4, 20, 23}) {
      for (const bool whole_only : {false, true}) {
        const BatchOrder order{rotated(), size, first, whole_only};
        check_batches(feeder, order, nullptr);
        check_batches(feeder, order, &none);
      }
    }
  }
  CHECK(BatchReader::stored_rows(feeder).size() == stored);
}

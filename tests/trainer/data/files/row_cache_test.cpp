// Rows that are kept in memory.
#include "trainer/data/files/row_cache.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/support/port.h"

using namespace ondine;
using namespace ondine::data;

namespace {

// Row i is i, i + 0.5, ...; counts how often each is made.
class CountingColumn final : public Column {
 public:
  explicit CountingColumn(std::uint64_t rows) : Column("x"), made_(rows) {}
  std::uint64_t rows() const override { return made_.size(); }
  PortInfo port() const override { return test::port("x", DType::float32, {-1, 4}); }
  std::string describe() const override { return "numbers"; }
  std::optional<Dims> fit(const PortInfo&) const override { return Dims{4}; }
  void copy(std::span<const std::uint64_t> rows, const RowType& type,
            std::byte* to) const override {
    for (const std::uint64_t row : rows) {
      ++made_[row];
      for (std::size_t i = 0; i < 4; ++i) {
        const double value = static_cast<double>(row) + 0.5 * static_cast<double>(i);
        if (type.dtype == DType::float32) {
          reinterpret_cast<float*>(to)[i] = static_cast<float>(value);
        } else {
          reinterpret_cast<double*>(to)[i] = value;
        }
      }
      to += type.bytes();
    }
  }
  bool is_slow() const override { return true; }
  bool is_label() const override { return true; }
  std::string hint(const PortInfo&) const override { return "; a hint"; }
  std::optional<double> white(const RowType&) const override { return 7; }
  std::string file(std::uint64_t row) const override { return "file" + std::to_string(row); }
  std::int64_t sample_rate() const override { return 16; }
  std::string note() const override { return "a note"; }
  std::optional<std::vector<std::int64_t>> labels() const override { return {{1, 2}}; }

  std::vector<int> made() const { return {made_.begin(), made_.end()}; }

 private:
  mutable std::vector<std::atomic<int>> made_;
};

const RowType floats{DType::float32, {4}};
constexpr std::uint64_t of_row = 16 + 16;  // the row and its share of the allocator's memory
constexpr std::uint64_t of_index = 8;      // for each row that there is

template <class T>
std::vector<T> take(const Column& column, const std::vector<std::uint64_t>& rows,
                    const RowType& type) {
  std::vector<T> result(4 * rows.size());
  column.copy(rows, type, reinterpret_cast<std::byte*>(result.data()));
  return result;
}

}  // namespace

TEST_CASE("rows are made once where they fit, and those that come first stay") {
  const auto source = std::make_shared<CountingColumn>(5);
  const auto cached = cached_rows(source, 5 * of_index + 2 * of_row);
  const std::vector<std::uint64_t> order{3, 0, 4, 0, 1};
  const auto expected = take<float>(*source, order, floats);
  CHECK(source->made() == std::vector{2, 1, 0, 1, 1});
  for (int epoch = 0; epoch < 3; ++epoch) CHECK(take<float>(*cached, order, floats) == expected);
  // 3 and 0 are kept; 4 and 1 are made in each of three passes.
  CHECK(source->made() == std::vector{3, 4, 0, 2, 4});
  // Rows of another type are not kept, and right.
  const auto doubles = take<double>(*cached, {3}, {DType::float64, {4}});
  CHECK(doubles == std::vector{3.0, 3.5, 4.0, 4.5});
  CHECK(source->made() == std::vector{3, 4, 0, 3, 4});
  CHECK(take<float>(*cached, {3}, {DType::float32, {2, 2}}) == take<float>(*source, {3}, floats));
  CHECK(source->made() == std::vector{3, 4, 0, 5, 4});
}

TEST_CASE("without room for its index a cache keeps nothing, without bytes there is none") {
  const auto source = std::make_shared<CountingColumn>(5);
  CHECK(cached_rows(source, 0) == source);
  const auto cached = cached_rows(source, 5 * of_index);
  take<float>(*cached, {1}, floats);
  take<float>(*cached, {1}, floats);
  CHECK(source->made()[1] == 2);
  const auto of_one = cached_rows(source, 5 * of_index + of_row);
  take<float>(*of_one, {1, 1, 2, 2}, floats);
  CHECK(source->made() == std::vector{0, 3, 2, 0, 0});
}

TEST_CASE("threads take cached rows at once") {
  constexpr std::uint64_t rows = 2000;
  const auto source = std::make_shared<CountingColumn>(rows);
  const auto cached = cached_rows(source, rows * (of_index + of_row));
  std::vector<std::uint64_t> order(rows);
  for (std::uint64_t i = 0; i < rows; ++i) order[i] = i;
  const auto expected = take<float>(*source, order, floats);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int epoch = 0; epoch < 4; ++epoch) {
        if (take<float>(*cached, order, floats) != expected) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  const std::vector<int> made = source->made();
  CHECK(*std::max_element(made.begin(), made.end()) <= 1 + 3 * 4);
}

TEST_CASE("a cached column says what its column says") {
  const auto source = std::make_shared<CountingColumn>(2);
  const auto cached = cached_rows(source, 1000);
  const PortInfo input = test::port("x", DType::float32, {-1, 4});
  CHECK(cached->name() == "x");
  CHECK(cached->rows() == 2);
  CHECK(cached->port().dims == source->port().dims);
  CHECK(cached->describe() == "numbers");
  CHECK(cached->fit(input) == Dims{4});
  CHECK(cached->hint(input) == "; a hint");
  CHECK(cached->is_label());
  CHECK(cached->is_slow());
  CHECK(cached->white({DType::uint8, {}}) == 7);
  CHECK(cached->file(1) == "file1");
  CHECK(cached->sample_rate() == 16);
  CHECK(cached->note() == "a note");
  CHECK(cached->labels() == source->labels());
}

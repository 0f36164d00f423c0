// Random changes of training images.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <numeric>

#include <ondine/data.h>

#include "tests/support/port.h"
#include "trainer/data/augment/augmenter.h"
#include "trainer/data/batch_reader.h"

using namespace ondine;
using ondine::test::port;
using namespace ondine::data;
using Catch::Contains;

namespace {

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

// 3x3 as its rows.
std::vector<float> moved(const Draws& draws, const PlaneLayout& layout = {1, 3, 3, false}) {
  std::vector<float> planes = counting(layout.size());
  move_planes(planes, layout, draws);
  return planes;
}

Tensor images(std::int64_t rows) {
  Tensor result(DType::uint8, {rows, 3, 8, 8});
  unsigned state = 3;
  for (std::uint8_t& value : result.mutable_values<std::uint8_t>()) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<std::uint8_t>(state >> 24U);
  }
  return result;
}

Tensor labels(std::int64_t rows) {
  Tensor result(DType::int64, {rows});
  auto values = result.mutable_values<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i % 3);
  return result;
}

// All rows of an epoch, in the order of the rows, from batches of `size`.
std::vector<std::vector<float>> epoch_of(Feeder& feeder, const Augmentation& options,
                                         std::uint64_t epoch, std::uint64_t size,
                                         std::uint64_t first = 0) {
  const std::vector<std::string> fed{"x"};
  const Augmenter augmenter(options, 5, BatchReader::sources_of(feeder), fed,
                            BatchReader::stored_rows(feeder));
  BatchOrder order;
  order.rows.resize(feeder.size());
  std::iota(order.rows.begin(), order.rows.end(), std::uint64_t{0});
  order.size = size;
  order.first = first;
  BatchReader reader(feeder, order, &augmenter, epoch);
  std::vector<std::vector<float>> rows;
  for (std::uint64_t i = 0; i < reader.batches(); ++i) {
    const auto batch = reader.next();
    const Tensor& x = batch[0].second.tensor();
    const auto values = x.values<float>();
    const auto length = static_cast<std::size_t>(x.shape().size(1, x.shape().rank()));
    for (std::size_t at = 0; at < values.size(); at += length) {
      rows.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(at),
                        values.begin() + static_cast<std::ptrdiff_t>(at + length));
    }
  }
  return rows;
}

constexpr Augmentation everything{.flip = true,
                                  .flip_vertical = true,
                                  .crop = 2,
                                  .rotate = 20,
                                  .scale_min = 0.8,
                                  .scale_max = 1.2,
                                  .color = 0.3,
                                  .cutout = 3};

}  // namespace

TEST_CASE("images are shifted, flipped and turned as told") {
  CHECK(moved({}) == counting(9));
  CHECK(moved({.flip_x = true}) == std::vector<float>{3, 2, 1, 6, 5, 4, 9, 8, 7});
  CHECK(moved({.flip_y = true}) == std::vector<float>{7, 8, 9, 4, 5, 6, 1, 2, 3});
  CHECK(moved({.shift_x = 1}) == std::vector<float>{0, 1, 2, 0, 4, 5, 0, 7, 8});
  CHECK(moved({.shift_y = -1}) == std::vector<float>{4, 5, 6, 7, 8, 9, 0, 0, 0});
  // A quarter turn moves the corner 1 to another corner and keeps the middle.
  const std::vector<float> turned = moved({.angle = std::numbers::pi / 2});
  const std::vector<float> expected{7, 4, 1, 8, 5, 2, 9, 6, 3};
  for (std::size_t i = 0; i < 9; ++i) {
    CHECK(static_cast<double>(turned[i]) == Approx(static_cast<double>(expected[i])).margin(1e-4));
  }
  // Twice as large: between two pixels lies their mean.
  const std::vector<float> large = moved({.scale = 2});
  CHECK(large == std::vector<float>{3, 3.5F, 4, 4.5F, 5, 5.5F, 6, 6.5F, 7});
  // Both planes of an image move, channels last as channels first.
  const std::vector<float> planes = moved({.flip_x = true}, {3, 1, 2, false});
  CHECK(planes == std::vector<float>{2, 1, 4, 3, 6, 5});
}

TEST_CASE("labels of integers move with the image to the nearest position") {
  std::vector<std::int64_t> mask{1, 2, 3, 4, 5, 6, 7, 8, 9};
  move_elements(reinterpret_cast<std::byte*>(mask.data()), 8, {1, 3, 3, false},
                {.shift_x = 1, .flip_x = true});
  CHECK(mask == std::vector<std::int64_t>{2, 1, 0, 5, 4, 0, 8, 7, 0});
}

TEST_CASE("brightness, contrast and saturation stretch around black, the mean and grey") {
  const PlaneLayout layout{3, 1, 2, false};
  const std::vector<float> start{100, 200, 50, 20, 10, 30};
  std::vector<float> planes = start;
  change_colors(planes, layout, {.brightness = 1.5}, 255.0);
  CHECK(planes == std::vector<float>{150, 255, 75, 30, 15, 45});
  planes = start;
  change_colors(planes, layout, {.brightness = 1.5}, {});
  CHECK(planes[1] == 300);
  const auto grey = [&](std::size_t p) {
    return 0.299 * double{start[p]} + 0.587 * double{start[2 + p]} + 0.114 * double{start[4 + p]};
  };
  planes = start;
  change_colors(planes, layout, {.contrast = 0.5}, 255.0);
  const double mean = (grey(0) + grey(1)) / 2;
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(double{planes[i]} == Approx(mean + 0.5 * (double{start[i]} - mean)));
  }
  planes = start;
  change_colors(planes, layout, {.saturation = 0.25}, 255.0);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(double{planes[i]} == Approx(grey(i % 2) + 0.25 * (double{start[i]} - grey(i % 2))));
  }
}

TEST_CASE("a square is cut out as far as it lies in the image") {
  std::vector<float> planes = counting(16);
  cut_square(planes, {1, 4, 4, false}, {.cut_x = 0.99, .cut_y = 0.5}, 2);
  CHECK(planes == std::vector<float>{1, 2, 3, 4, 5, 6, 0, 0, 9, 10, 0, 0, 13, 14, 15, 16});
}

TEST_CASE("random changes are spread as their options say") {
  int flips = 0;
  std::vector<int> shifts(5);
  double angles = 0;
  for (std::uint64_t row = 0; row < 2000; ++row) {
    const Draws draws = draw({.flip = true, .crop = 2, .rotate = 90}, {1, 2, row});
    flips += draws.flip_x ? 1 : 0;
    REQUIRE(std::abs(draws.shift_x) <= 2);
    ++shifts[static_cast<std::size_t>(draws.shift_x + 2)];
    angles += std::abs(draws.angle);
    CHECK_FALSE(draws.flip_y);
    CHECK(draws.scale == 1);
  }
  CHECK(std::abs(flips - 1000) < 112);                               // 5 sigma
  for (const int count : shifts) CHECK(std::abs(count - 400) < 90);  // 5 sigma
  CHECK(angles / 2000 == Approx(std::numbers::pi / 4).epsilon(0.03));
  // Beta(a, a) has mean 1/2 and variance 1 / (4 (2 a + 1)).
  for (const double alpha : {0.2, 1.0, 3.0}) {
    double sum = 0;
    double squares = 0;
    for (std::uint64_t row = 0; row < 20000; ++row) {
      const double share = draw_share(alpha, {1, 0, row});
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    CHECK(sum / 20000 == Approx(0.5).margin(0.02));
    CHECK(squares / 20000 == Approx(1 / (4 * (2 * alpha + 1))).epsilon(0.04));
  }
}

TEST_CASE("changes depend on seed, epoch and row alone, with any number of rows and threads") {
  const std::vector<PortInfo> inputs{port("x", DType::float32, {-1, 3, 8, 8})};
  const Dataset data = Dataset::from({{"x", images(20)}});
  Feeder feeder(inputs, data);
  const auto first = epoch_of(feeder, everything, 0, 20);
  CHECK(epoch_of(feeder, everything, 0, 3) == first);
  CHECK(epoch_of(feeder, everything, 1, 20) != first);
  const auto later = epoch_of(feeder, everything, 0, 5, 10);
  CHECK(std::equal(later.begin(), later.end(), first.begin() + 10, first.end()));
  for (const auto& row : first) {
    CHECK(std::all_of(row.begin(), row.end(), [](float one) { return one >= 0 && one <= 1; }));
  }
  // Nothing to do is the data itself.
  const auto same = epoch_of(feeder, {}, 0, 7);
  const std::vector<std::uint64_t> row{4};
  const auto values = feeder.take(row)[0].second.tensor().values<float>();
  CHECK(same[4] == std::vector<float>(values.begin(), values.end()));
}

TEST_CASE("mixing takes a share of another row and of its label") {
  const std::vector<PortInfo> inputs{port("x", DType::float32, {-1, 3, 8, 8}),
                                     port("label", DType::float32, {-1, 3})};
  const Dataset data = Dataset::from({{"x", images(9)}, {"label", labels(9)}});
  Feeder feeder(inputs, data);
  const Augmentation options{.mixup = 1};
  const std::vector<std::string> fed{"x"};
  const Augmenter augmenter(options, 5, BatchReader::sources_of(feeder), fed,
                            BatchReader::stored_rows(feeder));
  const auto plain = epoch_of(feeder, {}, 0, 9);
  BatchOrder order{.rows = {0, 1, 2, 3, 4, 5, 6, 7, 8}, .size = 9};
  BatchReader reader(feeder, order, &augmenter, 2);
  const auto batch = reader.next();
  const auto x = batch[0].second.tensor().values<float>();
  const auto y = batch[1].second.tensor().values<float>();
  for (std::uint64_t row = 0; row < 9; ++row) {
    const RowKey key{5, 2, row};
    const double share = draw_share(1, key);
    const std::uint64_t partner = draw_partner(key, 9);
    for (std::size_t i = 0; i < 192; ++i) {
      CHECK(double{x[row * 192 + i]} ==
            Approx(share * double{plain[row][i]} + (1 - share) * double{plain[partner][i]})
                .margin(1e-6));
    }
    for (std::uint64_t c = 0; c < 3; ++c) {
      const double expected = (row % 3 == c ? share : 0) + (partner % 3 == c ? 1 - share : 0);
      CHECK(double{y[row * 3 + c]} == Approx(expected).margin(1e-6));
    }
  }
}

TEST_CASE("augmentation that cannot be done is refused") {
  const Dataset data = Dataset::from({{"x", images(4)}, {"label", labels(4)}});
  const auto refusal = [&](const Augmentation& options, std::vector<std::int64_t> dims) {
    Feeder feeder(
        std::vector{port("x", DType::float32, std::move(dims)), port("label", DType::int64, {-1})},
        data);
    try {
      epoch_of(feeder, options, 0, 2);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const std::vector<std::int64_t> good{-1, 3, 8, 8};
  CHECK(refusal({.flip = true}, good) == "none");
  CHECK_THAT(refusal({.mixup = 0.2}, good), Contains("'label'") && Contains("--soft-labels"));
  CHECK_THAT(refusal({.color = 1}, good), Contains("color"));
  CHECK_THAT(refusal({.crop = -1}, good), Contains("crop"));
  CHECK_THAT(refusal({.scale_min = 2, .scale_max = 1}, good), Contains("scale"));
  CHECK_THAT(refusal({.rotate = 200}, good), Contains("rotate"));
  const Dataset numbers = Dataset::from({{"x", Tensor(DType::float32, {4, 6})}});
  Feeder feeder(std::vector{port("x", DType::float32, {-1, 6})}, numbers);
  CHECK_THROWS_WITH(epoch_of(feeder, {.flip = true}, 0, 2), Contains("rows of images"));
}

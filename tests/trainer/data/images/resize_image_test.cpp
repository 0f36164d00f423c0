// Images of all their pixels, by hand.
#include "trainer/data/images/resize_image.h"

#include <catch2/catch.hpp>

namespace ondine::test {
namespace {

// `image` has a value for each pixel, which all channels share but for 1 and 2 more.
std::vector<float> resized(std::int64_t rows, std::int64_t columns, std::vector<int> image,
                           ImageSize size, ImageFit fit) {
  Tensor pixels(DType::uint8, {rows, columns, 3});
  const auto to = pixels.mutable_values<std::uint8_t>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = static_cast<std::uint8_t>(image[i / 3] + static_cast<int>(i % 3));
  }
  const std::vector<float> all = data::resize_image(pixels, {size, fit});
  REQUIRE(all.size() == static_cast<std::size_t>(size.height * size.width * 3));
  std::vector<float> first;
  for (std::size_t i = 0; i < all.size(); i += 3) {
    first.push_back(all[i]);
    CHECK(all[i + 1] == Approx(all[i] + 1));
    CHECK(all[i + 2] == Approx(all[i] + 2));
  }
  return first;
}

void check(const std::vector<float>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]));
}

}  // namespace

TEST_CASE("cropping takes the middle of a tall and of a wide image") {
  check(resized(6, 1, {0, 10, 20, 30, 40, 50}, {2, 1}, ImageFit::crop), {20, 30});
  check(resized(1, 6, {0, 10, 20, 30, 40, 50}, {1, 2}, ImageFit::crop), {20, 30});
  check(resized(4, 2, {1, 2, 3, 4, 5, 6, 7, 8}, {2, 2}, ImageFit::crop), {3, 4, 5, 6});
  // An odd remainder: the middle lies between two pixels.
  check(resized(5, 1, {0, 10, 20, 30, 40}, {2, 1}, ImageFit::crop), {15, 25});
  check(resized(1, 5, {0, 10, 20, 30, 40}, {1, 2}, ImageFit::crop), {15, 25});
}

TEST_CASE("stretching uses every pixel, by a triangle as wide as the scale") {
  const std::vector<int> image{0, 70, 140, 210};
  // Weights 3, 3, 1 over 7 within the image.
  check(resized(4, 1, image, {2, 1}, ImageFit::stretch), {50, 160});
  check(resized(1, 4, image, {1, 2}, ImageFit::stretch), {50, 160});
  // An image that grows is interpolated, and ends in its first and last pixel.
  check(resized(2, 1, {0, 100}, {4, 1}, ImageFit::stretch), {0, 25, 75, 100});
  check(resized(1, 2, {0, 100}, {1, 4}, ImageFit::stretch), {0, 25, 75, 100});
  check(resized(2, 3, {1, 2, 3, 4, 5, 6}, {2, 3}, ImageFit::stretch), {1, 2, 3, 4, 5, 6});
}

}  // namespace ondine::test

using namespace ondine;

TEST_CASE("without antialiasing a position takes two neighbours, however much an image shrinks") {
  Tensor pixels(DType::uint8, {1, 8, 3});
  for (std::size_t x = 0; x < 8; ++x) {
    pixels.mutable_values<std::uint8_t>()[3 * x] = static_cast<std::uint8_t>(x == 1 ? 80 : 0);
  }
  const auto row = [&](bool antialias) {
    const auto all = data::resize_image(pixels, {{1, 2}, ImageFit::stretch, antialias});
    return std::vector<float>{all[0], all[3]};
  };
  // Centres 2 and 6 of source positions whose own centres are 0.5, 1.5, ...
  CHECK(row(false) == std::vector<float>{40, 0});
  CHECK(row(true)[0] < 40);
  CHECK(row(true)[0] > 0);
}

// Windows bitmaps, written here pixel by pixel in every form that the decoder knows.
#include <cmath>

#include <catch2/catch.hpp>

#include "kernels/image/codecs/image.h"
#include "tests/support/op_harness.h"

using namespace ondine;

namespace {

using Bytes = std::vector<std::uint8_t>;
using Colour = std::array<std::uint8_t, 3>;

void append(Bytes& to, std::uint32_t value, int count) {
  for (; count > 0; --count, value >>= 8) to.push_back(static_cast<std::uint8_t>(value));
}

// How a bitmap is written.
struct Form {
  std::int32_t width = 1;
  std::int32_t height = 1;  // negative: the first row comes first
  std::uint32_t depth = 8;
  std::uint32_t header = 40;  // 12: sizes of 16 bits
  std::uint32_t compression = 0;
  std::uint32_t used = 0;  // colours of the palette, all of them if 0
  std::vector<std::uint32_t> masks{};
};

Colour colour_of(std::uint32_t index) {
  return {static_cast<std::uint8_t>(37 * index + 11), static_cast<std::uint8_t>(255 - index),
          static_cast<std::uint8_t>(91 * index + 3)};
}

std::uint32_t palette_size(const Form& form) {
  if (form.depth > 8) return 0;
  return form.used == 0 ? 1U << form.depth : form.used;
}

// Everything before the pixels.
Bytes head_of(const Form& form) {
  const bool core = form.header == 12;
  Bytes file{'B', 'M'};
  append(file, 0, 8);
  const std::size_t tables = form.masks.size() * 4 + palette_size(form) * (core ? 3 : 4);
  append(file, static_cast<std::uint32_t>(14 + form.header + tables), 4);
  append(file, form.header, 4);
  append(file, static_cast<std::uint32_t>(form.width), core ? 2 : 4);
  append(file, static_cast<std::uint32_t>(form.height), core ? 2 : 4);
  append(file, 1, 2);
  append(file, form.depth, 2);
  if (!core) {
    append(file, form.compression, 4);
    append(file, 0, 12);
    append(file, form.used, 4);
    append(file, 0, 4);
  }
  for (const std::uint32_t mask : form.masks) append(file, mask, 4);
  file.resize(std::max<std::size_t>(file.size(), 14 + form.header));
  for (std::uint32_t i = 0; i < palette_size(form); ++i) {
    const Colour colour = colour_of(i);
    file.insert(file.end(), {colour[2], colour[1], colour[0]});
    if (!core) file.push_back(0);
  }
  return file;
}

// The bits of the pixel in column x of row y, counted from the top.
std::uint32_t bits_at(const Form& form, std::int64_t x, std::int64_t y) {
  const auto some =
      static_cast<std::uint32_t>(2654435761U * static_cast<std::uint32_t>(101 * x + 7 * y + 1));
  if (form.depth > 8) return form.depth == 32 ? some : some >> (32 - form.depth);
  return (some >> 16) % palette_size(form);
}

// Rows from the bottom, or from the top where the height is negative; each of whole words.
Bytes rows_of(const Form& form) {
  Bytes pixels;
  const std::int64_t height = std::abs(form.height);
  for (std::int64_t i = 0; i < height; ++i) {
    const std::int64_t y = form.height < 0 ? i : height - 1 - i;
    if (form.depth >= 8) {
      for (std::int64_t x = 0; x < form.width; ++x) {
        append(pixels, bits_at(form, x, y), static_cast<int>(form.depth / 8));
      }
    } else {
      const std::uint32_t each = 8 / form.depth;
      for (std::int64_t x = 0; x < form.width; x += each) {
        std::uint32_t byte = 0;
        for (std::int64_t k = 0; k < each; ++k) {
          byte = byte << form.depth | (x + k < form.width ? bits_at(form, x + k, y) : 0);
        }
        append(pixels, byte, 1);
      }
    }
    pixels.resize((pixels.size() + 3) / 4 * 4);
  }
  return pixels;
}

std::uint8_t scaled(std::uint32_t pixel, std::uint32_t mask) {
  if (mask == 0) return 0;
  const std::uint32_t lowest = mask & (~mask + 1);
  return static_cast<std::uint8_t>(
      std::lround(255.0 * ((pixel & mask) / lowest) / (mask / lowest)));
}

Colour meaning(const Form& form, std::uint32_t pixel) {
  if (form.depth <= 8) return colour_of(pixel);
  std::vector<std::uint32_t> masks = form.masks;
  if (masks.empty()) {
    masks = form.depth == 16 ? std::vector<std::uint32_t>{0x7c00, 0x3e0, 0x1f}
                             : std::vector<std::uint32_t>{0xff0000, 0xff00, 0xff};
  }
  return {scaled(pixel, masks[0]), scaled(pixel, masks[1]), scaled(pixel, masks[2])};
}

Tensor image_of(const Form& form) {
  const std::int64_t height = std::abs(form.height);
  Tensor image(DType::uint8, {height, form.width, 3});
  auto* to = image.mutable_values<std::uint8_t>().data();
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < form.width; ++x) {
      for (const std::uint8_t v : meaning(form, bits_at(form, x, y))) *to++ = v;
    }
  }
  return image;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Tensor decode(const Bytes& bytes) { return kernels::decode_image(bytes, nullptr); }

int first_red(const Bytes& bytes) {
  const Tensor image = decode(bytes);
  return image.values<std::uint8_t>()[0];
}

void refuse(const Bytes& bytes, const std::string& text) {
  CHECK_THROWS_WITH(decode(bytes), Catch::Contains("BMP image: " + text));
}

const std::vector<std::uint32_t> depths{1, 4, 8, 16, 24, 32};

}  // namespace

TEST_CASE("bitmaps of every depth, width, header and order of rows have their pixels") {
  for (const std::uint32_t depth : depths) {
    for (const std::uint32_t header : {12U, 40U, 108U, 124U}) {
      for (const std::int32_t height : {1, 3, -1, -2}) {
        if (header == 12 && height < 0) continue;
        for (std::int32_t width = 1; width <= 9; ++width) {
          const Form form{.width = width, .height = height, .depth = depth, .header = header};
          CAPTURE(depth, header, height, width);
          CHECK(decode(head_of(form) + rows_of(form)).identical(image_of(form)));
        }
      }
    }
  }
}

TEST_CASE("masks of a bitmap say which bits are red, green and blue") {
  using Masks = std::vector<std::uint32_t>;
  for (const std::uint32_t compression : {3U, 6U}) {
    for (const std::uint32_t depth : {16U, 32U}) {
      for (const Masks& masks :
           {Masks{0xf800, 0x7e0, 0x1f}, Masks{0xf, 0xf0, 0xf00}, Masks{1, 0xc000, 0x3ffe},
            Masks{0xff, 0, 0xff00}, Masks{0xf, 0xff, 0xf0}, Masks{0xf, 0xf0, 0xff},
            Masks{0xff, 0xf, 0xf0}}) {
        const Form form{
            .width = 3, .height = 2, .depth = depth, .compression = compression, .masks = masks};
        CAPTURE(compression, depth, masks);
        CHECK(decode(head_of(form) + rows_of(form)).identical(image_of(form)));
      }
    }
  }
  const Form wide{.depth = 32, .compression = 3, .masks = {0xff000000, 0xfff000, 0xfff}};
  CHECK(decode(head_of(wide) + rows_of(wide)).identical(image_of(wide)));
}

TEST_CASE("a palette has as many colours as its header says, and a pixel is one of them") {
  for (const std::uint32_t depth : {4U, 8U}) {
    for (const std::uint32_t used : {2U, 5U, 1U << depth}) {
      const Form form{.width = 7, .height = 3, .depth = depth, .used = used};
      CAPTURE(depth, used);
      CHECK(decode(head_of(form) + rows_of(form)).identical(image_of(form)));
    }
    Form last{.depth = depth, .used = 3};
    const auto of_index = [&](std::uint32_t index) {
      return head_of(last) + Bytes{static_cast<std::uint8_t>(index << (8 - depth)), 0, 0, 0};
    };
    CHECK(first_red(of_index(2)) == colour_of(2)[0]);
    refuse(of_index(3), "a pixel is not in the palette");
    // More than a pixel can name: all that it can.
    last.used = (1U << depth) + 1;
    CHECK(first_red(of_index((1U << depth) - 1)) == colour_of((1U << depth) - 1)[0]);
  }
}

TEST_CASE("a bitmap may lack what fills up its last row, but no byte before") {
  for (const std::uint32_t depth : depths) {
    for (const std::uint32_t header : {12U, 40U}) {
      const Form form{.width = 5, .height = 2, .depth = depth, .header = header};
      CAPTURE(depth, header);
      Bytes file = head_of(form) + rows_of(form);
      const std::size_t row = (std::size_t{5} * depth + 7) / 8;
      file.resize(file.size() - ((row + 3) / 4 * 4 - row));
      CHECK(decode(file).identical(image_of(form)));
      for (std::size_t n = 2; n < file.size(); ++n) {
        CAPTURE(n);
        refuse({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n)}, "it ends early");
      }
    }
  }
}

TEST_CASE("no position in a bitmap's header leads outside of it, however few bits addresses have") {
  const Form runs{.width = 2, .compression = 1, .used = 1};
  for (const Form& form : {Form{.depth = 24}, Form{.depth = 8, .used = 1}, runs}) {
    for (const std::uint32_t position : {0x7fffffffU, 0xfffffff0U, 0xfffffffeU, 0xffffffffU}) {
      CAPTURE(form.depth, form.compression, position);
      Bytes file = head_of(form) + Bytes(16);
      for (std::size_t i = 0; i < 4; ++i) {
        file[10 + i] = static_cast<std::uint8_t>(position >> 8 * i);
      }
      refuse(file, "it ends early");
      // The palette follows the header.
      file = head_of(form) + Bytes(16);
      for (std::size_t i = 0; i < 4; ++i) {
        file[14 + i] = static_cast<std::uint8_t>(position >> 8 * i);
      }
      if (form.depth == 8 && form.compression == 0) refuse(file, "it ends early");
    }
  }
}

TEST_CASE("no bitmap asks for more pixels than its file has bytes for") {
  const auto budget = std::make_shared<MemoryBudget>(1);
  for (const std::uint32_t depth : depths) {
    for (const std::int32_t height : {1, 2, 3, -3}) {
      const std::int32_t width = 12001;
      const Form form{.width = width, .height = height, .depth = depth};
      CAPTURE(depth, height);
      const std::size_t last = (std::size_t{12001} * depth + 7) / 8;
      const auto before = static_cast<std::size_t>(std::abs(height) - 1);
      Bytes file = head_of(form);
      file.resize(before * ((last + 3) / 4 * 4) + last);
      CHECK_THROWS_WITH(kernels::decode_image(file, budget), Catch::Contains("do not fit"));
      file.pop_back();
      CHECK_THROWS_WITH(kernels::decode_image(file, budget), Catch::Contains("it ends early"));
    }
  }
  CHECK(budget->used() == 0);
}

TEST_CASE("a bitmap is of one of the known depths, compressions and headers") {
  for (const std::uint32_t depth : {0U, 1U, 2U, 4U, 8U, 15U, 16U, 24U, 32U, 64U}) {
    for (std::uint32_t compression = 0; compression <= 7; ++compression) {
      const bool rows = compression == 0 && (depth == 1 || depth == 4 || depth == 8 ||
                                             depth == 16 || depth == 24 || depth == 32);
      const bool masks = (compression == 3 || compression == 6) && (depth == 16 || depth == 32);
      const bool runs = (compression == 1 && depth == 8) || (compression == 2 && depth == 4);
      CAPTURE(depth, compression);
      const Form form{.depth = depth, .compression = compression, .used = 1};
      // Zeros are a black pixel, and the end of a line.
      const Bytes file = head_of(form) + Bytes(16);
      if (rows || masks || runs) {
        CHECK(decode(file).shape() == Shape{1, 1, 3});
      } else {
        refuse(file, "its pixel format is unknown");
      }
    }
  }
  for (std::uint32_t header = 0; header < 40; ++header) {
    Bytes file = head_of({.depth = 24}) + Bytes(16);
    file[14] = static_cast<std::uint8_t>(header);
    CAPTURE(header);
    if (header != 12) refuse(file, "its header has an unknown size");
  }
  const auto size = [](std::int32_t width, std::int32_t height) {
    return head_of({.width = width, .height = height, .depth = 24}) + Bytes(16);
  };
  refuse(size(0, 1), "its size is 0 x 1");
  refuse(size(1, 0), "its size is 1 x 0");
  refuse(size(-1, 1), "its size is -1 x 1");
  refuse(size(1, std::numeric_limits<std::int32_t>::min()), "it ends early");
}

namespace {

// The indices of the pixels of an image of runs, from the top; 0 is black.
void check_runs(const Form& form, const Bytes& runs, const std::vector<std::uint32_t>& indices) {
  const Tensor image = decode(head_of(form) + runs);
  const auto values = image.values<std::uint8_t>();
  REQUIRE(values.size() == 3 * indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    CAPTURE(i);
    const Colour want = indices[i] == 99 ? Colour{0, 0, 0} : colour_of(indices[i]);
    for (std::size_t c = 0; c < 3; ++c) CHECK(values[3 * i + c] == want[c]);
  }
}

}  // namespace

TEST_CASE("runs of pixels fill rows, skip pixels and end lines and images") {
  constexpr std::uint32_t skipped = 99;
  for (const bool wide : {true, false}) {
    const Form form{
        .width = 5, .height = 2, .depth = wide ? 8U : 4U, .compression = wide ? 1U : 2U};
    CAPTURE(wide);
    const auto twice = [&](int i) { return static_cast<std::uint8_t>(wide ? i : 17 * i); };
    // Full rows, without ends of lines where a jump goes on.
    check_runs(form, {5, twice(3), 0, 0, 5, twice(2), 0, 1}, {2, 2, 2, 2, 2, 3, 3, 3, 3, 3});
    check_runs(form, {5, twice(3), 0, 0, 5, twice(2), 0, 0}, {2, 2, 2, 2, 2, 3, 3, 3, 3, 3});
    check_runs(form, {0, 1}, std::vector<std::uint32_t>(10, skipped));
    check_runs(form, {1, twice(4), 0, 2, 2, 1, 2, twice(1), 0, 1},
               {skipped, skipped, skipped, 1, 1, 4, skipped, skipped, skipped, skipped});
    check_runs(form, {0, 2, 4, 0, 1, twice(6), 0, 0, 1, twice(7), 0, 1},
               {7, skipped, skipped, skipped, skipped, skipped, skipped, skipped, skipped, 6});
    // A jump beyond the last row ends the image.
    check_runs(
        form, {1, twice(5), 0, 2, 0, 2},
        {skipped, skipped, skipped, skipped, skipped, 5, skipped, skipped, skipped, skipped});
    refuse(head_of(form) + Bytes{6, twice(1), 0, 1}, "a run leaves the image");
    refuse(head_of(form) + Bytes{0, 2, 5, 0, 1, twice(1), 0, 1}, "a run leaves the image");
    refuse(head_of(form) + Bytes{0, 2, 4, 0, 2, twice(1), 0, 1}, "a run leaves the image");
    const Bytes whole = head_of(form) + Bytes{2, twice(3), 0, 2, 1, 0, 0, 0, 3, twice(2), 0, 1};
    CHECK_NOTHROW(decode(whole));
    for (std::size_t n = 2; n < whole.size(); ++n) {
      CAPTURE(n);
      refuse({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)}, "it ends early");
    }
  }
}

TEST_CASE("pixels that are listed one by one take an even number of bytes") {
  for (std::uint32_t count = 3; count <= 9; ++count) {
    for (const bool wide : {true, false}) {
      const Form form{.width = static_cast<std::int32_t>(count) + 1,
                      .height = 1,
                      .depth = wide ? 8U : 4U,
                      .compression = wide ? 1U : 2U};
      CAPTURE(count, wide);
      Bytes runs{0, static_cast<std::uint8_t>(count)};
      std::vector<std::uint32_t> indices;
      for (std::uint32_t i = 0; i < count; ++i) {
        indices.push_back((3 * i + 1) % 16);
        if (wide || i % 2 == 0) {
          runs.push_back(static_cast<std::uint8_t>(wide ? indices[i] : indices[i] << 4));
        } else {
          runs.back() = static_cast<std::uint8_t>(runs.back() | indices[i]);
        }
      }
      if (runs.size() % 2 == 1) runs.push_back(0x77);
      indices.push_back(5);
      check_runs(form, runs + Bytes{1, static_cast<std::uint8_t>(wide ? 5 : 0x5f), 0, 1}, indices);
    }
  }
}

TEST_CASE("a run of packed pixels takes its halves in turns") {
  const Form form{.width = 5, .height = 1, .depth = 4, .compression = 2};
  check_runs(form, {5, 0x52, 0, 1}, {5, 2, 5, 2, 5});
  check_runs(form, {2, 0x52, 3, 0x14, 0, 1}, {5, 2, 1, 4, 1});
}

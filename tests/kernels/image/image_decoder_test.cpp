#include "kernels/image/codecs/image.h"
#include "tests/kernels/image/image_samples.h"
#include "tests/kernels/text/texts.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Encoded = std::vector<std::uint8_t>;

Encoded bytes_of(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Encoded out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    out.push_back(static_cast<std::uint8_t>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
  return out;
}

Encoded operator+(Encoded a, const Encoded& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Encoded text(std::string_view t) { return {t.begin(), t.end()}; }

OpCase decoder(const Encoded& bytes, const std::string& format = "RGB") {
  return {.op = "ImageDecoder",
          .inputs = {Tensor::of<std::uint8_t>({static_cast<std::int64_t>(bytes.size())}, bytes)},
          .attributes = {{"pixel_format", format}}};
}

Tensor decode(const Encoded& bytes, const std::string& format = "RGB") {
  return run_op_tensor(decoder(bytes, format));
}

Tensor image(std::int64_t height, std::int64_t width, const std::vector<int>& values) {
  const std::vector<std::uint8_t> bytes(values.begin(), values.end());
  return Tensor::of<std::uint8_t>({height, width, std::ssize(bytes) / (height * width)}, bytes);
}

Tensor picture() {
  std::vector<int> values;
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 5; ++x) {
      for (const int v : {40 * x + 5 * y, 255 - 50 * y, 10 * x * y}) values.push_back(v);
    }
  }
  return image(4, 5, values);
}

// Checks an image of a lossy format: values differ by at most `most`.
void check_similar(const Tensor& got, const Tensor& want, int most) {
  REQUIRE(got.shape() == want.shape());
  int difference = 0;
  for (std::size_t i = 0; i < want.values<std::uint8_t>().size(); ++i) {
    difference = std::max(difference, std::abs(int{got.values<std::uint8_t>()[i]} -
                                               int{want.values<std::uint8_t>()[i]}));
  }
  CHECK(difference <= most);
}

const std::vector<std::string_view> lossless{
    samples::png_rgb,       samples::png_rgba,     samples::png_palette, samples::bmp_24,
    samples::bmp_palette,   samples::bmp_32,       samples::tiff_raw,    samples::tiff_lzw,
    samples::webp_lossless, samples::jp2_lossless, samples::j2k_lossless};

}  // namespace

TEST_CASE("ImageDecoder reads lossless formats exactly") {
  for (std::size_t i = 0; i < lossless.size(); ++i) {
    INFO("sample " << i);
    CHECK(decode(bytes_of(lossless[i])).identical(picture()));
  }
  std::vector<int> grey;
  std::vector<int> bits;
  for (int i = 0; i < 20; ++i) {
    for (int c = 0; c < 3; ++c) {
      grey.push_back(i * 3000 >> 8);
      bits.push_back(i % 3 == 0 ? 255 : 0);
    }
  }
  CHECK(decode(bytes_of(samples::png_grey16)).identical(image(4, 5, grey)));
  CHECK(decode(bytes_of(samples::bmp_1)).identical(image(4, 5, bits)));
}

TEST_CASE("ImageDecoder reads JPEG in colour, grey, inks and progressively") {
  check_similar(decode(bytes_of(samples::jpeg)), picture(), 4);
  check_similar(decode(bytes_of(samples::jpeg_progressive)), picture(), 4);
  check_similar(decode(bytes_of(samples::jpeg_cmyk)), picture(), 6);
  check_similar(decode(bytes_of(samples::jpeg_grey), "Grayscale"),
                decode(bytes_of(samples::png_rgb), "Grayscale"), 4);
}

TEST_CASE("ImageDecoder writes RGB, BGR and grey") {
  const Encoded red_and_blue = text("P3 # two pixels\n2 1\n255\n255 0 0 10 20 250\n");
  CHECK(decode(red_and_blue).identical(image(1, 2, {255, 0, 0, 10, 20, 250})));
  CHECK(decode(red_and_blue, "BGR").identical(image(1, 2, {0, 0, 255, 250, 20, 10})));
  CHECK(decode(red_and_blue, "Grayscale").identical(image(1, 2, {76, 43})));
  check_refused(decoder(red_and_blue, "RGBA"), ErrorCode::invalid_model, "'RGBA'");
  check_refused({.op = "ImageDecoder", .inputs = {Tensor(DType::uint8, {2, 2})}},
                ErrorCode::mismatch, "rank 1");
}

TEST_CASE("ImageDecoder reads every kind of PNM") {
  CHECK(decode(text("P1 3 1 1 01")).identical(image(1, 3, {0, 0, 0, 255, 255, 255, 0, 0, 0})));
  CHECK(
      decode(text("P2\n2 1\n100\n50 100")).identical(image(1, 2, {128, 128, 128, 255, 255, 255})));
  CHECK(decode(text("P4\n3 2\n") + Encoded{0xa0, 0x40})
            .identical(image(
                2, 3, {0, 0, 0, 255, 255, 255, 0, 0, 0, 255, 255, 255, 0, 0, 0, 255, 255, 255})));
  CHECK(decode(text("P5 1 2 255\n") + Encoded{7, 9}).identical(image(2, 1, {7, 7, 7, 9, 9, 9})));
  CHECK(decode(text("P6 1 1 65535\n") + Encoded{0xff, 0xff, 0, 0, 0x80, 0})
            .identical(image(1, 1, {255, 0, 128})));
  check_refused(decoder(text("P2 1 1 10 11")), ErrorCode::corrupt, "above the greatest value");
  check_refused(decoder(text("P5 1 2 255\n") + Encoded{7}), ErrorCode::corrupt, "ends early");
  check_refused(decoder(text("P5 999999 99999 255\n7")), ErrorCode::corrupt, "ends early");
  check_refused(decoder(text("P5 0 1 255\n")), ErrorCode::corrupt, "its size is 0 x 1");
}

namespace {

Encoded little(std::uint32_t value, int count) {
  Encoded out;
  for (int i = 0; i < count; ++i) out.push_back(static_cast<std::uint8_t>(value >> 8 * i));
  return out;
}

// A bitmap of `width` x 2 with a header of 40 bytes, and what follows it.
Encoded bitmap(std::uint32_t width, int depth, std::uint32_t compression, const Encoded& tables,
               const Encoded& pixels) {
  return text("BM") + Encoded(8) + little(54 + static_cast<std::uint32_t>(tables.size()), 4) +
         little(40, 4) + little(width, 4) + little(2, 4) + little(1, 2) +
         little(static_cast<std::uint32_t>(depth), 2) + little(compression, 4) + Encoded(20) +
         tables + pixels;
}

Encoded palette() {
  Encoded out(256 * 4);
  for (std::size_t i = 0; i < 256; ++i) out[4 * i] = static_cast<std::uint8_t>(i);  // blue
  return out;
}

}  // namespace

TEST_CASE("ImageDecoder reads runs and masks of BMP") {
  // Bottom row: 3 times 7; top row: pixels 1, 2 and a 9.
  const Encoded runs{3, 7, 0, 0, 0, 3, 1, 2, 9, 0, 0, 1};
  CHECK(decode(bitmap(3, 8, 1, palette(), runs))
            .identical(image(2, 3, {0, 0, 1, 0, 0, 2, 0, 0, 9, 0, 0, 7, 0, 0, 7, 0, 0, 7})));
  CHECK(decode(bitmap(3, 4, 2, palette(), {3, 0x52, 0, 0, 0, 3, 0x12, 0x90, 0, 1}))
            .identical(image(2, 3, {0, 0, 1, 0, 0, 2, 0, 0, 9, 0, 0, 5, 0, 0, 2, 0, 0, 5})));
  const Encoded masks = little(0xf800, 4) + little(0x7e0, 4) + little(0x1f, 4);
  CHECK(decode(bitmap(1, 16, 3, masks, little(0xf800, 4) + little(0x07ff, 4)))
            .identical(image(2, 1, {0, 255, 255, 255, 0, 0})));
  CHECK(decode(bitmap(1, 16, 0, {}, little(0x7c00, 4) + little(0x03ff, 4)))
            .identical(image(2, 1, {0, 255, 255, 255, 0, 0})));
  check_refused(decoder(bitmap(3, 8, 1, palette(), {9, 7, 0, 1})), ErrorCode::corrupt,
                "a run leaves the image");
  check_refused(decoder(bitmap(3, 7, 0, {}, {})), ErrorCode::corrupt, "pixel format is unknown");
  check_refused(decoder(bitmap(0x7fffffff, 24, 0, {}, {1, 2})), ErrorCode::corrupt, "ends early");
}

TEST_CASE("ImageDecoder refuses what is no image") {
  check_refused(decoder({}), ErrorCode::corrupt, "the 0 bytes are not a JPEG");
  check_refused(decoder(text("GIF89a")), ErrorCode::corrupt, "the 6 bytes are not a JPEG");
}

TEST_CASE("Cut and damaged images give an error or an image, never anything else") {
  auto all = lossless;
  all.insert(all.end(), {samples::jpeg, samples::jpeg_progressive, samples::jpeg_grey,
                         samples::jpeg_cmyk, samples::bmp_1, samples::png_grey16});
  const auto budget = std::make_shared<MemoryBudget>(std::uint64_t{64} << 20);
  int refused = 0;
  const auto attempt = [&](const Encoded& bytes) {
    try {
      const Tensor decoded = kernels::decode_image(bytes, budget);
      CHECK(decoded.shape().rank() == 3);
    } catch (const Error& error) {
      CHECK((error.code() == ErrorCode::corrupt || error.code() == ErrorCode::limit));
      ++refused;
    }
  };
  for (const std::string_view sample : all) {
    const Encoded whole = bytes_of(sample);
    for (std::size_t n = 0; n + 40 < whole.size(); n += 7) {
      attempt(Encoded(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
      Encoded damaged = whole;
      damaged[at] ^= static_cast<std::uint8_t>(1U << at % 8);
      attempt(damaged);
    }
  }
  CHECK(refused > 500);
  CHECK(budget->used() == 0);
}

TEST_CASE("an image whose data is cut is refused for what its library says") {
  struct Row {
    std::string_view sample;
    std::size_t lacking;  // bytes
    const char* message;
  };
  for (const Row& row :
       {Row{samples::tiff_raw, 1, "expected 60"},
        Row{samples::tiff_raw, 80, "Failed to read directory"},
        Row{samples::tiff_lzw, 5, "IO error"}, Row{samples::png_rgb, 30, "it ends early"},
        Row{samples::jpeg, 30, "Premature end of JPEG file"},
        Row{samples::jpeg, 300, "Premature end of JPEG file"},
        Row{samples::webp_lossless, 30, "broken or end early"},
        Row{samples::jp2_lossless, 30, "codestream"}, Row{samples::j2k_lossless, 100, "too short"},
        Row{samples::bmp_24, 3, "it ends early"}}) {
    Encoded bytes = bytes_of(row.sample);
    bytes.resize(bytes.size() - row.lacking);
    CHECK_THROWS_WITH(kernels::decode_image(bytes, nullptr),
                      Catch::Contains(" image: ") && Catch::Contains(row.message));
  }
}

TEST_CASE("The size of an image is charged before it is decoded") {
  const auto small = std::make_shared<MemoryBudget>(59);
  for (const std::string_view sample : lossless) {
    try {
      kernels::decode_image(bytes_of(sample), small);
      FAIL_CHECK("an image of 60 bytes fits into 59");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::limit);
    }
    CHECK(small->used() == 0);
  }
}

TEST_CASE("What the WebP library needs of its own is charged beside the image") {
  // An image of 60 bytes, and 8 for each of its 20 pixels.
  const auto of = [](std::uint64_t limit) {
    const auto budget = std::make_shared<MemoryBudget>(limit);
    const Tensor image = kernels::decode_image(bytes_of(samples::webp_lossless), budget);
    CHECK(budget->used() == 60);
  };
  CHECK_NOTHROW(of(60 + 160));
  CHECK_THROWS_WITH(of(60 + 159), Catch::Contains("160 bytes do not fit"));
}

TEST_CASE("A short file asks for no large image") {
  const auto budget = std::make_shared<MemoryBudget>(1 << 20);
  const auto refuse = [&](const Encoded& bytes) {
    CHECK_THROWS_WITH(kernels::decode_image(bytes, budget), Catch::Contains("it ends early"));
    CHECK(budget->used() == 0);
  };
  for (const char* header : {"P1 2147483647 1 ", "P2 2147483647 1 255 ", "P3 1 2147483647 255 ",
                             "P4 2147483647 1 ", "P5 2147483647 1 255 ", "P6 1000000 1 65535 "}) {
    INFO(header);
    refuse(text(header) + Encoded(100, '1'));
  }
  // 14 bytes of file header, 40 of image header: 2^31 - 1 x 1 pixels of 24 bits.
  for (const char* size : {"ffffff7f01000000", "ffffff7fffffffff", "01000000ffffff7f"}) {
    const Encoded head = text("BM") + Encoded(8, 0) + bytes_of("36000000") + bytes_of("28000000");
    refuse(head + bytes_of(size) + bytes_of("01001800") + Encoded(24 + 100, 0));
  }
}

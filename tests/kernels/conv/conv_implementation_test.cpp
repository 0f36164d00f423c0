// Which implementation of convolution a descriptor gets.
#include "tests/kernels/conv/conv_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using enum ConvDirection;

struct Choice {
  ConvShape shape;
  ConvDirection direction;
  std::string_view baseline, avx2, avx512;
};

// Choices in float. add() takes one name for all instruction sets.
std::vector<Choice> choices() {
  std::vector<Choice> all;
  const auto add = [&](const ConvShape& s, std::string_view y, std::string_view dx,
                       std::string_view dw) {
    all.push_back({s, forward, y, y, y});
    all.push_back({s, backward_data, dx, dx, dx});
    all.push_back({s, backward_weights, dw, dw, dw});
  };
  // Adds a small plane likewise, for which AVX-512 gathers columns in another way.
  const auto add_small = [&](const ConvShape& s, std::string_view y, std::string_view dx,
                             std::string_view dw) {
    const auto in_avx512 = [](std::string_view name) {
      return name == "im2col" ? "joined_columns" : name;
    };
    all.push_back({s, forward, y, y, in_avx512(y)});
    all.push_back({s, backward_data, dx, dx, dx});
    all.push_back({s, backward_weights, dw, dw, in_avx512(dw)});
  };
  add(shape2(8, 64, 64, 1, 32, 32, 3, 3, 1, 1, 1, 1), "winograd", "winograd", "winograd");
  add(shape2(1, 64, 64, 1, 8, 32768, 3, 3, 1, 1, 1, 1), "winograd", "winograd", "winograd");
  add(shape2(1, 64, 64, 1, 8, 32770, 3, 3, 1, 1, 1, 1), "im2col", "im2col", "im2col");
  add(shape2(1, 256, 64, 1, 8, 8, 3, 3, 1, 1, 1, 1), "winograd_panels", "winograd", "winograd");
  add_small(shape2(1, 64, 64, 1, 7, 9, 3, 3, 1, 1, 1, 1), "winograd_panels", "im2col", "im2col");
  add_small(shape2(1, 64, 64, 1, 6, 8, 3, 3, 1, 1, 1, 1), "im2col", "im2col", "im2col");
  add(shape2(8, 15, 64, 1, 32, 32, 3, 3, 1, 1, 2, 2), "im2col", "im2col", "im2col");
  add(shape2(8, 64, 64, 1, 32, 32, 3, 3, 1, 1, 3, 3), "im2col", "im2col", "im2col");
  // A single group whose channels fill vectors, on rows that fill them and that do not.
  const auto add_wide = [&](const ConvShape& s, std::string_view y, std::string_view dx,
                            std::string_view dw) {
    all.push_back({s, forward, y, y, y});
    all.push_back({s, backward_data, dx, dx, dx});
    all.push_back({s, backward_weights, "direct", dw, dw});
  };
  add_wide(shape2(8, 16, 16, 1, 14, 14, 3, 3, 1, 1, 1, 1), "grouped", "grouped", "grouped");
  add_wide(shape2(8, 16, 16, 1, 16, 16, 3, 3, 1, 1, 1, 1), "direct", "direct", "grouped");
  add_wide(shape2(32, 8, 16, 1, 14, 14, 5, 5, 1, 1, 2, 2), "grouped", "direct", "grouped");
  add(shape2(8, 12, 16, 1, 14, 14, 3, 3, 1, 1, 1, 1), "direct", "direct", "direct");
  add(shape2(8, 16, 24, 1, 14, 14, 3, 3, 1, 1, 1, 1), "direct", "grouped", "direct");
  add(shape2(8, 17, 17, 1, 14, 14, 3, 3, 1, 1, 1, 1), "winograd", "winograd", "winograd");
  add(shape2(32, 1, 8, 1, 28, 28, 5, 5, 1, 1, 2, 2), "direct", "direct", "direct");
  add(shape2(8, 64, 32, 4, 14, 14, 3, 3, 1, 1, 1, 1), "grouped", "grouped", "grouped");
  add(shape2(8, 256, 256, 2, 7, 7, 3, 3, 2, 1, 1, 1), "grouped", "grouped", "grouped");
  add(shape2(8, 258, 256, 2, 7, 7, 3, 3, 2, 1, 1, 1), "im2col", "im2col", "im2col");
  add(shape2(8, 4, 8, 4, 14, 14, 3, 3, 1, 1, 1, 1), "im2col", "im2col", "im2col");
  add(shape2(8, 8, 8, 4, 56, 56, 3, 3, 1, 1, 1, 1), "grouped", "grouped", "grouped");
  add(shape2(1, 64, 64, 1, 3, 4, 3, 3, 1, 1, 1, 1), "few_positions", "im2col", "im2col");
  add(shape2(1, 192, 64, 1, 3, 4, 1, 1, 1, 1, 0, 0), "few_positions", "pointwise", "pointwise");
  add(shape2(1, 191, 64, 1, 3, 4, 1, 1, 1, 1, 0, 0), "pointwise", "pointwise", "pointwise");
  add(shape2(1, 32, 64, 1, 2, 2, 1, 1, 1, 1, 0, 0), "few_positions", "pointwise", "pointwise");
  add(shape2(1, 32, 64, 1, 1, 1, 1, 1, 1, 1, 0, 0), "few_positions", "pointwise", "pointwise");
  add(shape2(2, 32, 64, 1, 1, 1, 1, 1, 1, 1, 0, 0), "pointwise", "pointwise", "pointwise");
  add(shape2(1, 64, 64, 2, 3, 4, 3, 3, 1, 1, 1, 1), "grouped", "grouped", "grouped");
  add(shape2(1, 64, 64, 1, 1, 13, 1, 1, 1, 1, 0, 0), "pointwise", "pointwise", "pointwise");
  add(shape2(8, 64, 64, 1, 32, 32, 3, 3, 2, 1, 1, 1), "winograd", "winograd", "winograd");
  add(shape2(8, 32, 32, 1, 16, 16, 3, 3, 2, 1, 1, 1), "winograd", "winograd", "winograd");
  add(shape2(8, 31, 65, 1, 32, 32, 3, 3, 2, 1, 1, 1), "strided", "im2col", "strided");
  add(shape2(8, 31, 64, 1, 12, 12, 3, 3, 2, 1, 1, 1), "strided", "strided", "strided");
  add(shape2(8, 64, 64, 1, 32, 32, 3, 4, 2, 1, 1, 1), "strided", "strided", "strided");
  // Tiles that reach beyond the edges.
  add(shape2(8, 64, 64, 1, 14, 14, 3, 3, 2, 1, 1, 1), "winograd", "winograd", "winograd");
  add(shape2(8, 40, 40, 1, 14, 14, 3, 3, 2, 1, 1, 1), "strided", "winograd", "winograd");
  add_small(shape2(8, 64, 64, 1, 10, 10, 3, 3, 2, 1, 1, 1), "winograd", "winograd", "im2col");
  // As many tiles as pay, and fewer.
  add(shape2(8, 128, 128, 1, 8, 8, 3, 3, 2, 1, 1, 1), "winograd_panels", "winograd_panels",
      "winograd");
  add_small(shape2(4, 128, 128, 1, 8, 8, 3, 3, 2, 1, 1, 1), "im2col", "winograd_panels", "im2col");
  add_small(shape2(3, 128, 128, 1, 8, 8, 3, 3, 2, 1, 1, 1), "im2col", "im2col", "im2col");
  add_small(shape2(8, 64, 128, 1, 32, 32, 3, 3, 3, 1, 1, 1), "im2col", "im2col", "im2col");
  add_small(shape2(8, 64, 128, 1, 32, 32, 1, 1, 2, 1, 0, 0), "im2col", "im2col", "im2col");
  add(shape2(8, 96, 24, 1, 56, 56, 1, 1, 1, 1, 0, 0), "pointwise", "pointwise", "pointwise");
  add(shape2(8, 32, 32, 4, 14, 14, 1, 1, 1, 1, 0, 0), "grouped", "grouped", "grouped");
  const auto line = [](Index width) {
    return ConvShape{1,         64,        64,       8, {1, 1, width}, {1, 1, 9}, {1, 1, width},
                     {1, 1, 1}, {1, 1, 1}, {0, 0, 4}};
  };
  add(line(500), "direct", "direct", "grouped");
  add(line(40000), "im2col", "im2col", "im2col");
  add(shape2(8, 96, 24, 2, 56, 56, 1, 1, 1, 1, 0, 0), "im2col", "im2col", "pointwise");
  add(shape2(8, 2, 2, 2, 28, 28, 3, 3, 1, 1, 2, 2), "depthwise_3x3", "depthwise_3x3",
      "depthwise_3x3");
  add(shape2(1, 2, 2, 2, 400, 400, 3, 3, 1, 1, 1, 1), "depthwise_3x3", "depthwise_3x3",
      "depthwise_3x3");
  add(shape2(8, 2, 2, 2, 28, 28, 5, 5, 1, 1, 1, 1), "depthwise_rows", "depthwise_rows",
      "depthwise_rows");
  add(shape2(8, 2, 2, 2, 28, 28, 3, 3, 2, 1, 0, 0), "depthwise_rows", "depthwise_rows",
      "depthwise_rows");
  add(shape2(0, 64, 64, 1, 32, 32, 3, 3, 1, 1, 1, 1), "bias_only", "bias_only", "bias_only");
  // Lanes, and channels that fill them, decide between channels and rows.
  const std::string_view channels = "depthwise_channels";
  const std::string_view rows = "depthwise_3x3";
  const std::string_view strips = "depthwise_strips";
  all.push_back({shape2(8, 9, 9, 9, 28, 28, 3, 3, 1, 1, 2, 2), forward, channels, channels, rows});
  all.push_back({shape2(8, 5, 5, 5, 28, 28, 3, 3, 1, 1, 2, 2), forward, channels, rows, rows});
  const ConvShape large = shape2(8, 32, 32, 32, 112, 112, 3, 3, 1, 1, 1, 1);
  const ConvShape small = shape2(8, 32, 32, 32, 28, 28, 3, 3, 1, 1, 1, 1);
  const ConvShape halved = shape2(8, 32, 32, 32, 28, 28, 3, 3, 2, 1, 1, 1);
  const ConvShape taps = shape2(8, 32, 32, 32, 28, 28, 5, 5, 1, 1, 2, 2);
  const ConvShape narrow = shape2(8, 96, 96, 96, 7, 7, 5, 5, 1, 1, 2, 2);
  const ConvShape narrowest = shape2(8, 96, 96, 96, 4, 4, 3, 3, 1, 1, 1, 1);
  for (const ConvDirection direction : {forward, backward_data, backward_weights}) {
    all.push_back({large, direction, channels, rows, strips});
    all.push_back({small, direction, channels, strips, strips});
    const std::string_view larger = direction == backward_weights ? channels : strips;
    all.push_back({taps, direction, channels, larger, larger});
    all.push_back({narrow, direction, channels, larger, channels});
    all.push_back({narrowest, direction, channels, channels, strips});
    const std::string_view strided = direction == forward ? strips : channels;
    all.push_back({halved, direction, channels, strided, strided});
  }
  const std::string_view strided = "strided";
  const std::string_view im2col = "im2col";
  all.push_back({shape2(8, 8, 11, 1, 32, 32, 3, 3, 2, 1, 1, 1), forward, strided, im2col, im2col});
  all.push_back(
      {shape2(8, 8, 22, 1, 32, 32, 3, 3, 2, 1, 1, 1), forward, strided, strided, "joined_columns"});
  return all;
}

std::string_view expected_name(const Choice& choice, Isa isa) {
  return isa == Isa::baseline ? choice.baseline : isa == Isa::avx2 ? choice.avx2 : choice.avx512;
}

}  // namespace

TEST_CASE("a descriptor gets the expected implementation of convolution") {
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    const auto* kernels = simd_tables_for(isa);
    if (kernels == nullptr) continue;
    for (const Choice& choice : choices()) {
      INFO(to_string(choice.shape)
           << " direction " << static_cast<int>(choice.direction) << " on " << isa_name(*kernels));
      CHECK(ConvPrimitive<float>::make({choice.shape, choice.direction}, 1, *kernels).name() ==
            expected_name(choice, isa));
    }
  }
}

TEST_CASE("convolutions in double take no implementation in float alone") {
  const ConvShape square = shape2(8, 64, 64, 1, 32, 32, 3, 3, 1, 1, 1, 1);
  const ConvShape strided = shape2(8, 64, 128, 1, 32, 32, 3, 3, 2, 1, 1, 1);
  for (const auto* kernels : all_kernels()) {
    CHECK(ConvPrimitive<double>::make({square}, 1, *kernels).name() == "im2col");
    CHECK(ConvPrimitive<double>::make({strided}, 1, *kernels).name() == "im2col");
    CHECK_THROWS_WITH(ConvPrimitive<double>::make({square}, 1, "winograd", *kernels),
                      Catch::Contains("no implementation winograd"));
  }
}

TEST_CASE("gradients of convolutions have no activation") {
  const ConvShape s = shape2(1, 2, 2, 1, 5, 5, 3, 3, 1, 1, 1, 1);
  CHECK_THROWS_WITH(ConvPrimitive<float>::make({s, backward_data, Activation::relu}, 1),
                    Catch::Contains("activation"));
}

// With one tap of one input channel for each output channel, so that the weights of many channels,
// which are packed in several chunks, need no long sums.
TEST_CASE("biases and weights belong to their channel in every chunk of panels") {
  struct Chunks {
    std::string_view name;
    ConvShape shape;
  };
  const Chunks all[] = {{"winograd", shape2(2, 1024, 150, 1, 16, 17, 3, 3, 1, 1, 1, 1)},
                        {"winograd_panels", shape2(1, 1024, 150, 1, 8, 9, 3, 3, 1, 1, 1, 1)},
                        {"winograd", shape2(2, 1024, 150, 1, 23, 24, 3, 3, 2, 1, 1, 1)},
                        {"winograd_panels", shape2(2, 1024, 150, 1, 16, 15, 3, 3, 2, 1, 1, 1)},
                        {"strided", shape2(1, 1024, 208, 1, 17, 17, 3, 3, 2, 1, 1, 1)}};
  for (const auto& [name, s] : all) {
    Numbers numbers(3);
    const auto x = numbers.row<float>(s.batch * s.in_channels * volume(s.in));
    const auto bias = numbers.row<float>(s.out_channels);
    std::vector<float> w(static_cast<std::size_t>(s.out_channels * s.in_channels * 9));
    std::vector<double> expected;
    const auto channel_of = [&](Index o) { return (7 * o + 3) % s.in_channels; };
    const auto weight_of = [](Index o) { return static_cast<float>(o % 5 + 1) / 4; };
    for (Index o = 0; o < s.out_channels; ++o) {  // the tap in the middle
      w[static_cast<std::size_t>((o * s.in_channels + channel_of(o)) * 9 + 4)] = weight_of(o);
    }
    for (Index i = 0; i < s.batch * s.out_channels * volume(s.out); ++i) {
      const Index position = i % volume(s.out);
      const Index o = i / volume(s.out) % s.out_channels;
      const Index image = i / volume(s.out) / s.out_channels;
      const Index from = position / s.out[2] * s.stride[1] * s.in[2] +
                         position % s.out[2] * s.stride[2] +
                         (image * s.in_channels + channel_of(o)) * volume(s.in);
      expected.push_back(static_cast<double>(bias[static_cast<std::size_t>(o)]) +
                         static_cast<double>(weight_of(o)) *
                             static_cast<double>(x[static_cast<std::size_t>(from)]));
    }
    for (const auto* kernels : all_kernels()) {
      INFO(name << " on " << isa_name(*kernels));
      const auto primitive = ConvPrimitive<float>::make({s}, 2, name, *kernels);
      ThreadPool pool(2);
      Scratch scratch(primitive.workspace());
      std::vector<float> y(expected.size());
      primitive.run(pool, {x.data(), w.data(), nullptr, bias.data(), y.data()}, scratch);
      CHECK(worst_error(y, expected) < tolerance<float>);
    }
  }
}

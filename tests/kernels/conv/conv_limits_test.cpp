// The implementations of convolution one by one, at the limits of what they support.
#include "kernels/conv/algorithms/algorithms.h"
#include "tests/kernels/conv/conv_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using enum ConvDirection;

struct Limit {
  std::string_view name;
  ConvDirection direction;
  ConvShape shape;
  bool float_only = false;
};

ConvShape with_batch(ConvShape s, Index batch) {
  s.batch = batch;
  return s;
}

std::vector<Limit> limits() {
  const ConvShape few = shape2(2, 16, 20, 1, 9, 8, 3, 3, 1, 1, 1, 1);
  const ConvShape square = shape2(2, 16, 20, 1, 14, 14, 3, 3, 1, 1, 1, 1);
  const ConvShape groups = shape2(2, 24, 40, 4, 7, 5, 3, 3, 1, 1, 1, 1);
  const ConvShape wide_groups = shape2(2, 32, 8, 2, 6, 30, 3, 2, 1, 2, 2, 1);
  // A block of groups is not full, nor are the vectors of a group.
  const ConvShape few_groups = shape2(3, 42, 70, 7, 9, 8, 3, 2, 2, 1, 1, 0);
  const ConvShape groups_in_bands = shape2(2, 96, 128, 2, 19, 63, 3, 3, 2, 1, 1, 1);
  const ConvShape single_group = shape2(5, 16, 32, 1, 12, 10, 3, 5, 1, 1, 1, 2);
  const ConvShape deep = shape2(1, 16, 113, 1, 8, 8, 3, 3, 1, 1, 1, 1);
  const ConvShape tiles = shape2(1, 16, 17, 1, 8, 8, 3, 3, 1, 1, 1, 1);
  // More transformed tiles, and output channels, than gradients by the weights take at a time.
  const ConvShape chunks = shape2(3, 17, 300, 1, 20, 19, 3, 3, 1, 1, 1, 1);
  const ConvShape strided_tiles = shape2(2, 32, 33, 1, 16, 16, 3, 3, 2, 1, 1, 1);
  const ConvShape strided_panels = shape2(2, 128, 130, 1, 16, 16, 3, 3, 2, 1, 1, 1);
  const ConvShape panels = shape2(1, 128, 19, 1, 16, 16, 3, 3, 1, 1, 1, 1);
  const ConvShape panels_back = shape2(1, 19, 128, 1, 16, 16, 3, 3, 1, 1, 1, 1);
  const ConvShape strided = shape2(1, 16, 12, 1, 16, 16, 2, 2, 2, 1, 0, 0);
  const ConvShape strided_back = shape2(1, 12, 64, 1, 16, 16, 3, 3, 2, 1, 1, 1);
  const ConvShape many_taps{1,          8,          16,        1,         {1, 1, 190},
                            {1, 1, 64}, {1, 1, 64}, {1, 1, 2}, {1, 1, 1}, {0, 0, 0}};
  const ConvShape twelve = shape2(2, 22, 21, 1, 3, 4, 3, 3, 1, 1, 1, 1);
  const ConvShape channels = shape2(3, 16, 16, 16, 7, 7, 3, 3, 1, 1, 1, 1);
  // Columns around whole vectors and pairs of them, rows that are asked for ahead.
  const ConvShape strips = shape2(3, 5, 5, 5, 6, 16, 3, 3, 1, 1, 1, 1);
  const ConvShape column = shape2(2, 3, 3, 3, 9, 1, 3, 3, 1, 1, 1, 1);
  const ConvShape row = shape2(2, 3, 3, 3, 1, 17, 3, 3, 1, 1, 1, 1);
  const ConvShape wide_strips = shape2(2, 7, 7, 7, 19, 65, 3, 3, 1, 1, 1, 1);
  const ConvShape many_strips = shape2(3, 2, 2, 2, 200, 47, 3, 3, 1, 1, 1, 1);
  const ConvShape strided_strips = shape2(3, 5, 5, 5, 7, 14, 3, 3, 2, 1, 1, 1);
  const ConvShape strided_column = shape2(2, 3, 3, 3, 8, 1, 3, 3, 2, 1, 1, 1);
  const ConvShape strided_row = shape2(2, 3, 3, 3, 1, 33, 3, 3, 2, 1, 1, 1);
  const ConvShape wide_strided_strips = shape2(2, 3, 3, 3, 20, 67, 3, 3, 2, 1, 1, 1);
  const ConvShape large_taps = shape2(3, 5, 5, 5, 7, 8, 5, 5, 1, 1, 2, 2);
  const ConvShape large_taps_row = shape2(2, 3, 3, 3, 1, 17, 5, 5, 1, 1, 2, 2);
  const ConvShape large_taps_rows = shape2(2, 3, 3, 3, 2, 15, 5, 5, 1, 1, 2, 2);
  const ConvShape many_large_taps = shape2(2, 3, 3, 3, 20, 49, 5, 5, 1, 1, 2, 2);
  // An odd number of rows, more than the ring holds, and columns around whole vectors; without and
  // with as many zeros around them as are supported.
  const ConvShape rows = shape2(2, 3, 3, 3, 19, 37, 3, 3, 1, 1, 1, 1);
  const ConvShape unpadded = shape2(1, 2, 2, 2, 12, 34, 3, 3, 1, 1, 0, 0);
  const ConvShape all_padded = shape2(1, 2, 2, 2, 1, 14, 3, 3, 1, 1, 2, 2);
  const ConvShape layers{2,         2,          2,         2,         {3, 4, 40},
                         {1, 3, 3}, {3, 4, 39}, {1, 1, 1}, {1, 1, 1}, {0, 1, 0}};
  const ConvShape two = shape2(2, 2, 2, 2, 9, 5, 3, 2, 2, 2, 2, 1);
  const ConvShape dots = shape2(2, 20, 33, 1, 5, 7, 1, 1, 1, 1, 0, 0);
  const ConvShape group_dots = shape2(2, 8, 12, 4, 5, 7, 1, 1, 1, 1, 0, 0);
  const ConvShape large_dots = shape2(3, 30, 21, 1, 5, 31, 1, 1, 1, 1, 0, 0);
  const ConvShape large_group_dots = shape2(2, 9, 21, 3, 13, 11, 1, 1, 1, 1, 0, 0);
  // More images than are joined, of one position and of more.
  const ConvShape joined_dots = shape2(11, 30, 21, 1, 8, 13, 1, 1, 1, 1, 0, 0);
  const ConvShape joined_group_dots = shape2(11, 6, 9, 3, 8, 13, 1, 1, 1, 1, 0, 0);
  const ConvShape single = shape2(19, 21, 34, 1, 1, 1, 1, 1, 1, 1, 0, 0);
  const ConvShape single_groups = shape2(600, 6, 9, 3, 1, 1, 1, 1, 1, 1, 0, 0);
  const ConvShape volumes{2,         4,         6,         2,         {5, 6, 7},
                          {3, 2, 3}, {3, 3, 4}, {2, 2, 2}, {1, 1, 1}, {1, 0, 1}};
  // Images of few positions, the last of which are fewer than those joined before.
  const ConvShape joined = shape2(11, 40, 20, 1, 9, 7, 3, 3, 2, 1, 1, 1);
  const ConvShape joined_groups{19,        12,        6,         3,         {3, 5, 4},
                                {2, 2, 3}, {2, 3, 2}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}};
  // More images than are joined, and more channels than a block has.
  const ConvShape columns = shape2(13, 300, 18, 1, 9, 11, 3, 3, 2, 1, 1, 1);
  const ConvShape large_columns = shape2(2, 5, 19, 1, 32, 32, 5, 3, 2, 1, 1, 1);
  const ConvShape dilated_columns = shape2(3, 7, 16, 1, 17, 31, 3, 2, 3, 2, 2, 0);
  const ConvShape deep_columns{2,         4,         17,        1,         {5, 6, 7},
                               {3, 2, 3}, {3, 3, 4}, {2, 2, 2}, {1, 1, 1}, {1, 0, 1}};
  return {{"bias_only", forward, with_batch(few, 0)},
          {"bias_only", forward, {2, 0, 3, 1, {1, 4, 4}, {1, 3, 3}, {1, 2, 2}}},
          {"bias_only", backward_data, {2, 3, 0, 1, {1, 4, 4}, {1, 3, 3}, {1, 2, 2}}},
          {"bias_only", backward_weights, with_batch(few, 0)},
          {"direct", forward, few},
          {"direct", backward_data, few},
          {"direct", backward_weights, few},
          {"direct", backward_data, deep, true},
          {"direct", forward, square},
          {"direct", forward, groups},
          {"direct", backward_data, groups},
          {"direct", forward, wide_groups},
          {"direct", backward_data, wide_groups},
          {"grouped", forward, few_groups, true},
          {"grouped", backward_data, few_groups, true},
          {"grouped", backward_weights, few_groups, true},
          {"grouped", forward, groups_in_bands, true},
          {"grouped", backward_data, groups_in_bands, true},
          {"grouped", backward_weights, groups_in_bands, true},
          {"grouped", forward, single_group, true},
          {"grouped", backward_data, shape2(2, 16, 16, 1, 9, 10, 3, 3, 1, 1, 1, 1), true},
          {"winograd", forward, tiles, true},
          {"winograd", backward_data, tiles, true},
          {"winograd", backward_weights, tiles, true},
          {"winograd", backward_weights, chunks, true},
          {"winograd", forward, strided_tiles, true},
          {"winograd", backward_data, strided_tiles, true},
          {"winograd", backward_weights, strided_tiles, true},
          {"winograd_panels", forward, strided_panels, true},
          {"winograd_panels", backward_data, strided_panels, true},
          {"winograd_panels", forward, panels, true},
          {"winograd_panels", backward_data, panels_back, true},
          {"few_positions", forward, twelve, true},
          {"strided", forward, strided, true},
          {"strided", forward, many_taps, true},
          {"strided", backward_data, strided_back, true},
          {"strided", backward_weights, strided, true},
          {"strided", backward_weights, many_taps, true},
          {"depthwise_strips", forward, strips, true},
          {"depthwise_strips", backward_data, strips, true},
          {"depthwise_strips", backward_weights, strips, true},
          {"depthwise_strips", forward, column, true},
          {"depthwise_strips", backward_data, column, true},
          {"depthwise_strips", backward_weights, column, true},
          {"depthwise_strips", forward, row, true},
          {"depthwise_strips", backward_data, row, true},
          {"depthwise_strips", backward_weights, row, true},
          {"depthwise_strips", forward, wide_strips, true},
          {"depthwise_strips", backward_data, wide_strips, true},
          {"depthwise_strips", backward_weights, wide_strips, true},
          {"depthwise_strips", backward_weights, many_strips, true},
          {"depthwise_strips", forward, strided_strips, true},
          {"depthwise_strips", forward, strided_column, true},
          {"depthwise_strips", forward, strided_row, true},
          {"depthwise_strips", forward, wide_strided_strips, true},
          {"depthwise_strips", forward, large_taps, true},
          {"depthwise_strips", backward_data, large_taps, true},
          {"depthwise_strips", forward, large_taps_row, true},
          {"depthwise_strips", backward_data, large_taps_row, true},
          {"depthwise_strips", forward, large_taps_rows, true},
          {"depthwise_strips", backward_data, large_taps_rows, true},
          {"depthwise_strips", forward, many_large_taps, true},
          {"depthwise_strips", backward_data, many_large_taps, true},
          {"depthwise_channels", forward, channels},
          {"depthwise_channels", backward_data, channels},
          {"depthwise_channels", backward_weights, channels},
          {"depthwise_3x3", forward, rows},
          {"depthwise_3x3", backward_data, rows},
          {"depthwise_3x3", backward_weights, rows},
          {"depthwise_3x3", forward, unpadded},
          {"depthwise_3x3", backward_data, unpadded},
          {"depthwise_3x3", backward_weights, unpadded},
          {"depthwise_3x3", forward, all_padded},
          {"depthwise_3x3", backward_data, all_padded},
          {"depthwise_3x3", backward_weights, all_padded},
          {"depthwise_3x3", forward, layers},
          {"depthwise_3x3", backward_data, layers},
          {"depthwise_3x3", backward_weights, layers},
          {"depthwise_rows", forward, two},
          {"depthwise_rows", backward_data, two},
          {"depthwise_rows", backward_weights, two},
          {"pointwise", forward, dots},
          {"pointwise", backward_data, dots},
          {"pointwise", backward_weights, group_dots},
          {"pointwise", forward, large_dots},
          {"pointwise", backward_data, large_dots},
          {"pointwise", backward_weights, large_group_dots},
          {"pointwise", forward, joined_dots},
          {"pointwise", backward_data, joined_dots},
          {"pointwise", backward_weights, joined_dots},
          {"pointwise", backward_weights, joined_group_dots},
          {"pointwise", forward, single},
          {"pointwise", backward_data, single},
          {"pointwise", backward_weights, single},
          {"pointwise", backward_weights, single_groups},
          {"joined_columns", forward, columns, true},
          {"joined_columns", backward_weights, columns, true},
          {"joined_columns", forward, large_columns, true},
          {"joined_columns", backward_weights, large_columns, true},
          {"joined_columns", forward, dilated_columns, true},
          {"joined_columns", backward_weights, dilated_columns, true},
          {"joined_columns", forward, deep_columns, true},
          {"joined_columns", backward_weights, deep_columns, true},
          {"im2col", forward, volumes},
          {"im2col", backward_data, volumes},
          {"im2col", backward_weights, volumes},
          {"im2col", forward, joined},
          {"im2col", backward_data, joined},
          {"im2col", backward_weights, joined},
          {"im2col", forward, joined_groups},
          {"im2col", backward_data, joined_groups},
          {"im2col", backward_weights, joined_groups}};
}

template <class T>
void check_limit(const Limit& limit) {
  const ConvCase<T> c(limit.shape);
  for (const auto* kernels : all_kernels()) {
    if (limit.name == "joined_columns" && kernels != simd_tables_for(Isa::avx512)) continue;
    const bool has_strips = supports_depthwise_strips<T>({limit.shape, limit.direction}, *kernels);
    if (limit.name == "depthwise_strips" && !has_strips) {
      CHECK(kernels != simd_tables_for(Isa::avx512));
      continue;
    }
    INFO(limit.name << " direction " << static_cast<int>(limit.direction) << " on "
                    << isa_name(*kernels) << ", " << to_string(limit.shape));
    check_implementation(c, {limit.shape, limit.direction}, limit.name,
                         limit.direction != backward_weights, *kernels);
    if (limit.direction != forward) continue;
    check_implementation(c, {limit.shape, forward, Activation::relu6}, limit.name, true, *kernels);
  }
}

}  // namespace

TEST_CASE("each implementation of convolution follows the definition at its limits") {
  for (const Limit& limit : limits()) {
    check_limit<float>(limit);
    if (!limit.float_only) check_limit<double>(limit);
  }
}

TEST_CASE("gradients by the weights of a single group follow the definition in wide vectors") {
  const ConvShape s = shape2(5, 16, 32, 1, 12, 10, 3, 5, 1, 1, 1, 2);
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    const auto* kernels = simd_tables_for(isa);
    if (kernels == nullptr) continue;
    check_implementation(ConvCase<float>(s), {s, backward_weights}, "grouped", false, *kernels);
  }
}

// Blocks in registers have other numbers of channels for other numbers of positions.
TEST_CASE("a convolution with few positions follows the definition for each number of them") {
  for (Index positions = 1; positions <= 12; ++positions) {
    const Index batch = positions == 1 ? 1 : 2;
    const ConvShape pointwise = shape2(batch, 193, 11, 1, 1, positions, 1, 1, 1, 1, 0, 0);
    check_limit<float>({"few_positions", forward, pointwise});
    ConvShape line = shape2(1, 49, 37, 1, 1, 2 * positions, 1, 4, 1, 1, 0, 0);
    line.stride = {1, 1, 2};
    line.dilation = {1, 1, 2};
    line.pad = {0, 0, 3};
    line.out = {1, 1, positions};
    check_limit<float>({"few_positions", forward, line});
  }
  const ConvShape volumes{2,         9,         19,        1,         {4, 5, 3},
                          {3, 3, 3}, {2, 3, 2}, {2, 2, 1}, {1, 1, 2}, {1, 1, 2}};
  check_limit<float>({"few_positions", forward, volumes});
}

TEST_CASE("a convolution along columns is that along rows") {
  for (const ConvDirection direction : {forward, backward_data, backward_weights}) {
    ConvShape columns{2, 20, 24, 1, {1, 40, 1}, {1, 5, 1}, {1, 19, 1}};
    columns.stride = {1, 2, 1};
    columns.pad = {0, 1, 0};
    ConvShape rows = columns;
    for (SpatialDims* dims : {&rows.in, &rows.kernel, &rows.out, &rows.stride, &rows.pad}) {
      std::swap((*dims)[1], (*dims)[2]);
    }
    for (const auto* kernels : all_kernels()) {
      const auto name = ConvPrimitive<float>::make({rows, direction}, 1, *kernels).name();
      CHECK(ConvPrimitive<float>::make({columns, direction}, 1, *kernels).name() == name);
      check_implementation(ConvCase<float>(columns), {columns, direction}, name, false, *kernels);
    }
    ConvShape depths{1, 3, 4, 1, {12, 1, 1}, {3, 1, 1}, {10, 1, 1}};
    check_implementation(ConvCase<double>(depths), {depths, direction}, "direct", false,
                         math::simd_tables());
  }
}

TEST_CASE("every implementation of convolution has a limit of every direction") {
  for (const auto& entry : conv_implementations<float>()) {
    for (const ConvDirection direction : {forward, backward_data, backward_weights}) {
      const bool none = (entry.name == "winograd_panels" && direction == backward_weights) ||
                        (entry.name == "joined_columns" && direction == backward_data) ||
                        (entry.name == "few_positions" && direction != forward);
      const auto all = limits();
      const auto count = std::count_if(all.begin(), all.end(), [&](const Limit& limit) {
        return limit.name == entry.name && limit.direction == direction;
      });
      INFO(entry.name << " direction " << static_cast<int>(direction));
      CHECK((count > 0) != none);
    }
  }
}

// Normalizations of an x that is stored in bfloat16 against those of the same numbers in float32.
#include <algorithm>
#include <tuple>

#include "core/float_formats.h"
#include "kernels/conv/primitives/conv_grads.h"
#include "kernels/norm/batch_norm_primitive.h"
#include "kernels/norm/layer_norm_primitive.h"
#include "kernels/norm/softmax_primitive.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;
using Floats = std::vector<float>;

// Numbers that bfloat16 holds, in both forms; the narrow one is as long as it has to be.
struct Both {
  Both(Numbers& numbers, Index n, float shift = 0) : wide(numbers.row<float>(n)) {
    narrow.reserve(wide.size());
    for (float& value : wide) {
      narrow.push_back(to_bfloat16(value + shift));
      value = to_float(narrow.back());
    }
  }
  Elements<const float> elements(Storage storage) const {
    if (storage == Storage::bf16) return narrow.data();
    return wide.data();
  }
  Floats wide;
  std::vector<bfloat16> narrow;
};

// run(storage, pool, kernels) returns results, which must not depend on the form.
template <class Run>
void check_same(Run&& run) {
  for (const SimdTables* kernels : all_kernels()) {
    CAPTURE(isa_name(*kernels));
    ThreadPool one(1);
    ThreadPool three(3);
    const Floats want = run(Storage::plain, one, *kernels);
    CHECK(same_bits(run(Storage::bf16, one, *kernels), want));
    CHECK(same_bits(run(Storage::bf16, three, *kernels), want));
  }
}

Floats joined(std::initializer_list<const Floats*> parts) {
  Floats all;
  for (const Floats* part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

}  // namespace

TEST_CASE("batch normalization of an x in bfloat16 has the bits of the widened x") {
  for (const ChannelShape s : {ChannelShape{2, 3, 1}, {4, 5, 9}, {3, 4, 49}, {2, 3, 5001}}) {
    CAPTURE(s.batch, s.channels, s.spatial);
    Numbers numbers(static_cast<std::uint64_t>(s.spatial));
    const Index n = s.batch * s.channels * s.spatial;
    const Both x(numbers, n, 3);
    const Floats dy = numbers.row<float>(n);
    const Floats scale = numbers.row<float>(s.channels), bias = numbers.row<float>(s.channels);
    const Floats mean(scale.size(), 3), variance(scale.size(), 0.5F);
    for (const BatchNormPass pass :
         {BatchNormPass::inference, BatchNormPass::training, BatchNormPass::backward,
          BatchNormPass::backward_constant_statistics}) {
      for (const bool bounded : {false, true}) {
        for (const Activation activation :
             {Activation::bounds, Activation::hard_swish, Activation::swish}) {
          if (!bounded && activation != Activation::bounds) continue;
          CAPTURE(static_cast<int>(pass), bounded, static_cast<int>(activation));
          check_same([&](Storage storage, ThreadPool& pool, const SimdTables& kernels) {
            BatchNormDesc desc{.shape = s, .pass = pass, .masked = bounded, .x_stored = storage};
            desc.activation = activation;
            if (bounded) desc.low = -0.5, desc.high = 0.5;
            Floats out(dy.size()), first(scale.size()), second(scale.size());
            BatchNormPrimitive<float>(desc, kernels)
                .run(pool, {.x = x.elements(storage),
                            .scale = scale.data(),
                            .bias = bias.data(),
                            .mean = mean.data(),
                            .variance = variance.data(),
                            .dy = dy.data(),
                            .y = out.data(),
                            .batch_mean = first.data(),
                            .batch_variance = second.data(),
                            .dx = out.data(),
                            .dscale = first.data(),
                            .dbias = second.data()});
            return joined({&out, &first, &second});
          });
        }
      }
    }
  }
}

TEST_CASE("layer normalization of an x in bfloat16 has the bits of the widened x") {
  for (const Index length : {1, 7, 16, 257}) {
    for (const Index rows : {1, 130}) {
      CAPTURE(length, rows);
      Numbers numbers(static_cast<std::uint64_t>(length));
      const Both x(numbers, rows * length, 2);
      const Floats dy = numbers.row<float>(rows * length), scale = numbers.row<float>(length);
      check_same([&](Storage storage, ThreadPool& pool, const SimdTables& kernels) {
        Floats y(dy.size()), mean(static_cast<std::size_t>(rows)), inv_std(mean.size());
        LayerNormPrimitive<float>({.rows = rows, .length = length, .x_stored = storage}, kernels)
            .run(pool, {.x = x.elements(storage),
                        .scale = scale.data(),
                        .y = y.data(),
                        .saved_mean = mean.data(),
                        .saved_inv_std = inv_std.data()});
        Floats dx(dy.size()), plain(dy.size()), dscale(scale.size()), dbias(scale.size());
        LayerNormArgs<float> args{.x = x.elements(storage),
                                  .scale = scale.data(),
                                  .dy = dy.data(),
                                  .mean = mean.data(),
                                  .inv_std = inv_std.data(),
                                  .dx = dx.data(),
                                  .dscale = dscale.data(),
                                  .dbias = dbias.data()};
        LayerNormDesc desc{
            .rows = rows, .length = length, .backward = true, .scaled = true, .x_stored = storage};
        LayerNormPrimitive<float>(desc, kernels).run(pool, args);
        desc.scaled = false;
        args.dx = plain.data();
        LayerNormPrimitive<float>(desc, kernels).run(pool, args);
        return joined({&y, &mean, &inv_std, &dx, &plain, &dscale, &dbias});
      });
    }
  }
}

TEST_CASE("the gradient of softmax of a y in bfloat16 has the bits of the widened y") {
  for (const Index length : {1, 9, 16, 300}) {
    CAPTURE(length);
    Numbers numbers(static_cast<std::uint64_t>(length));
    const Both y(numbers, 50 * length);
    const Floats dy = numbers.row<float>(50 * length);
    SoftmaxDesc desc{.outer = 50, .length = length, .backward = true};
    REQUIRE(SoftmaxPrimitive<float>::takes_bf16(desc));
    check_same([&](Storage storage, ThreadPool& pool, const SimdTables& kernels) {
      desc.y_stored = storage;
      Floats dx(dy.size());
      SoftmaxPrimitive<float>(desc, kernels)
          .run(pool, {.dy = dy.data(), .y = y.elements(storage), .result = dx.data()});
      return dx;
    });
  }
}

TEST_CASE("depthwise gradients of a normalized x in bfloat16 have the bits of the widened x") {
  for (const auto& [size, stride] :
       {std::tuple<Index, Index>{1, 1}, {9, 1}, {34, 1}, {9, 2}, {34, 2}}) {
    CAPTURE(size, stride);
    const Index out = (size - 1) / stride + 1;
    const Index channels = 3, batch = 2;
    ConvShape shape{};
    shape.batch = batch;
    shape.groups = shape.in_channels = shape.out_channels = channels;
    shape.in = {1, size, size};
    shape.kernel = {1, 3, 3};
    shape.out = {1, out, out};
    shape.stride = {1, stride, stride};
    shape.dilation = {1, 1, 1};
    shape.pad = {0, 1, 1};
    Numbers numbers(static_cast<std::uint64_t>(size));
    const Both x(numbers, batch * channels * size * size);
    const Floats dy = numbers.row<float>(batch * channels * out * out);
    const Floats w = numbers.row<float>(channels * 9), scale = numbers.row<float>(channels);
    const Floats bias = numbers.row<float>(channels), mean = numbers.row<float>(channels);
    const Floats variance(scale.size(), 0.5F);
    for (const Activation activation : {Activation::bounds, Activation::swish})
      check_same([&](Storage storage, ThreadPool& pool, const SimdTables& kernels) {
        const ConvGrads<float> gradient({.shape = shape,
                                         .normalized = true,
                                         .all = true,
                                         .norm = {.shape = {},
                                                  .low = 0,
                                                  .high = 0.7,
                                                  .activation = activation,
                                                  .x_stored = storage},
                                         .threads = pool.threads()},
                                        kernels);
        Floats dx(x.wide.size()), dscale(scale.size()), dbias(scale.size()), dw(w.size());
        Scratch scratch(gradient.workspace());
        gradient.run(pool, {.dy = dy.data(),
                            .x = x.elements(storage),
                            .w = w.data(),
                            .scale = scale.data(),
                            .bias = bias.data(),
                            .mean = mean.data(),
                            .variance = variance.data(),
                            .dw = dw.data(),
                            .dx = dx.data(),
                            .dscale = dscale.data(),
                            .dbias = dbias.data(),
                            .workspace = scratch});
        CHECK(scratch.intact());
        return joined({&dx, &dscale, &dbias, &dw});
      });
  }
}

TEST_CASE("normalizations write a copy of x in bfloat16, also where y overwrites it") {
  Numbers numbers(1);
  const ChannelShape s{3, 5, 41};
  const Index n = s.batch * s.channels * s.spatial;
  const Floats x = numbers.row<float>(n), scale = numbers.row<float>(s.spatial);
  const Floats bias = numbers.row<float>(s.spatial);
  std::vector<std::uint16_t> want;
  for (const float value : x) want.push_back(to_bfloat16(value).bits);
  for (const SimdTables* kernels : all_kernels()) {
    for (const int threads : {1, 3}) {
      CAPTURE(isa_name(*kernels), threads);
      ThreadPool pool(threads);
      Floats first;
      for (const bool with_copy : {false, true}) {
        Floats y = x, mean(5), variance(5);
        std::vector<std::uint16_t> copy(x.size());
        BatchNormPrimitive<float>({.shape = s, .pass = BatchNormPass::training}, *kernels)
            .run(pool, {.x = y.data(),
                        .scale = scale.data(),
                        .bias = bias.data(),
                        .y = y.data(),
                        .bf16_x = with_copy ? copy.data() : nullptr,
                        .batch_mean = mean.data(),
                        .batch_variance = variance.data()});
        if (!with_copy) first = y;
        CHECK(same_bits(y, first));
        if (with_copy) CHECK(copy == want);
      }
      std::vector<std::uint16_t> copy(x.size());
      Floats y(x.size());
      LayerNormPrimitive<float>({.rows = s.batch * s.channels, .length = s.spatial}, *kernels)
          .run(pool, {.x = x.data(), .scale = scale.data(), .y = y.data(), .bf16_x = copy.data()});
      CHECK(copy == want);
    }
  }
}

// Convolutions of stride 1 as products of weights and moved planes, one for each tap, in tiles. A
// task computes rows of an image.
#include "kernels/conv/algorithms/shifted.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index tile = 16;                      // outer channels of a panel, pairs of a block
constexpr Index together = 32;                  // positions, and outer channels, of a product
constexpr Index most_positions = 512;           // of sums at a time
constexpr Index most_source = Index{64} << 10;  // pairs of a task's source

class ShiftedConv final : public ConvAlgorithm<float> {
 public:
  ShiftedConv(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm(desc, kernels),
        d_(desc),
        conv_(*kernels.shifted_conv),
        windows_(desc.shape, d_) {
    PairedPlanes& planes = windows_.planes;
    planes.pairs = divide_up(d_.inner, 2);
    if (planes.pairs > tile) planes.pairs = round_up(planes.pairs, tile);
    panels_ = divide_up(d_.outer, tile);
    product_.taps = volume(desc.shape.kernel);
    product_.deep = std::min(planes.pairs, tile);
    product_.blocks = divide_up(planes.pairs, tile);
    product_.panel = product_.taps * product_.blocks * tile * tile;
    product_.offsets = windows_.offsets.data();
    rows_ = even_chunk(d_.out[1], std::max<Index>(1, most_positions / planes.row));
    // Rows above and below are paired again for the next task, so that a task has many.
    const Index fitting = most_source / (planes.pairs * planes.row) - windows_.reach_h;
    task_rows_ =
        even_chunk(d_.out[1], std::max({rows_, fitting / rows_ * rows_, 2 * windows_.reach_h}));
    const Index positions = round_up(rows_ * planes.row, together);
    planes.plane =
        odd_lines((task_rows_ + windows_.reach_h) * planes.row + together + windows_.reach_w, tile);
    product_.plane = planes.plane;
    product_.ld = odd_lines(positions, tile);
    shared_bytes_ = bytes_of<float>(panels_ * product_.panel);
    source_bytes_ = bytes_of<float>(planes.pairs * planes.plane);
    slot_bytes_ = source_bytes_ + bytes_of<float>(together * product_.ld);
  }

  void run(ThreadPool& pool, const ConvArgs<float>& args, Workspace workspace) const override {
    float* const weights = shared_of(workspace);
    const Index grain = grain_of(tile * d_.inner * product_.taps, Index{1} << 14);
    pool.for_chunks(panels_, grain, [&](Index first, Index last) {
      conv_.weights(weights_of(shape_, d_), product_.taps, d_.backward, product_.blocks, first,
                    last, args.w.plain(), weights);
    });
    const Index tasks = divide_up(d_.out[1], task_rows_);
    for_tasks(pool, workspace, shape_.batch * tasks, 1, [&](Index task, std::byte* slot) {
      run_rows(args, weights, task / tasks, task % tasks * task_rows_, slot);
    });
  }

 private:
  // Rows of the result of an image, from `begin` on.
  void run_rows(const ConvArgs<float>& args, const float* weights, Index image, Index begin,
                std::byte* slot) const {
    auto* const pairs = reinterpret_cast<float*>(slot);
    auto* const sums = reinterpret_cast<float*>(slot + source_bytes_);
    const Index end = std::min(begin + task_rows_, d_.out[1]);
    conv_.pair_channels(windows_.planes, begin, end - begin + windows_.reach_h,
                        d_.source(args).plain() + image * d_.source_image(), pairs);
    float* const result = args.result.plain() + image * d_.result_image();
    for (Index row = begin; row < end; row += rows_) {
      const Index rows = std::min(rows_, end - row);
      ShiftedProduct product = product_;
      product.positions = round_up(rows * windows_.planes.row, together);
      for (Index panel = 0; panel < panels_; panel += 2) {
        const Index channel = panel * tile;
        conv_.positions(product, std::min<Index>(2, panels_ - panel),
                        weights + panel * product.panel,
                        pairs + (row - begin) * windows_.planes.row, sums);
        conv_.store({.channels = std::min(together, d_.outer - channel),
                     .rows = rows,
                     .width = d_.out[2],
                     .ld = product.ld,
                     .row = windows_.planes.row,
                     .plane = volume(d_.out),
                     .result_row = d_.out[2]},
                    sums, args.bias ? args.bias + channel : nullptr, activation_,
                    result + channel * volume(d_.out) + row * d_.out[2]);
      }
    }
  }

  DirectedShape d_;
  const ShiftedConvKernels& conv_;
  ShiftedWindows windows_;
  ShiftedProduct product_{};
  Index panels_ = 0;     // of outer channels
  Index rows_ = 0;       // of a product
  Index task_rows_ = 0;  // of a task
  std::size_t source_bytes_ = 0;
};

}  // namespace

template <class T>
MadeConv<T> make_shifted(const ConvDesc& desc, const SimdTables& kernels) {
  if constexpr (std::is_same_v<T, float>) {
    if (desc.direction == ConvDirection::backward_weights) {
      return make_shifted_weights(desc, kernels);
    }
    return std::make_unique<ShiftedConv>(desc, kernels);
  } else {
    return nullptr;
  }
}

// Products cover the zeros between rows too, which costs most where planes are small. Winograd has
// fewer multiplications, which pay for its transforms where there are many channels. The sums of
// gradients by the weights have to stay in a cache.
template <class T>
bool supports_shifted_bf16(const ConvDesc& desc, const SimdTables& kernels) {
  constexpr Index least = 16;  // channels
  constexpr Index most_row = 4096;
  constexpr Index most_sums = Index{2} << 20;
  constexpr Index most_elements = Index{2} << 20;  // of the planes of a task of few rows
  const ConvShape& s = desc.shape;
  if (sizeof(T) != sizeof(float) || kernels.shifted_conv == nullptr || !is_mirrorable(s)) {
    return false;
  }
  if (std::min(s.in_channels, s.out_channels) < least || volume(s.kernel) == 1) return false;
  if (std::max(s.in[2], s.out[2]) > most_row) return false;
  const DirectedShape d(desc);
  const ShiftedWindows windows(s, d);
  const Index rows = 3 * windows.reach_h + 1;
  if (d.inner > most_elements / (rows * windows.planes.row)) return false;
  const Index channels = s.in_channels * s.out_channels;
  if (desc.direction == ConvDirection::backward_weights) {
    return volume(s.out) >= 256 && 4 * channels * volume(s.kernel) <= most_sums;
  }
  if (volume(d.out) < 196) return false;
  return channels <= 64 * 64 || !supports_winograd<T>(desc, kernels);
}

#define ONDINE_INSTANTIATE(T)                                                 \
  template bool supports_shifted_bf16<T>(const ConvDesc&, const SimdTables&); \
  template MadeConv<T> make_shifted<T>(const ConvDesc&, const SimdTables&)
ONDINE_INSTANTIATE(float);
ONDINE_INSTANTIATE(double);
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math

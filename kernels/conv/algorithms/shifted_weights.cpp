// The gradient by the weights of a convolution of stride 1 as products of dy and moved planes, one
// for each tap, in tiles. Bands of rows of images are added up in a few shards.
#include "kernels/conv/algorithms/shifted.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index tile = 16;                       // channels of a block
constexpr Index together = 32;                   // positions, and channels of dy, of a product
constexpr Index most_positions = 512;            // of a product
constexpr Index most_source = Index{128} << 10;  // floats of a band's source
constexpr Index most_shards = 4;

class ShiftedWeights final : public ConvAlgorithm<float> {
 public:
  ShiftedWeights(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm(desc, kernels),
        conv_(*kernels.shifted_conv),
        windows_(desc.shape, DirectedShape(desc), 2),
        rows_(round_up(desc.shape.out_channels, tile)) {
    const ConvShape& s = desc.shape;
    const Index row = windows_.planes.row;
    sums_.taps = volume(s.kernel);
    sums_.offsets = windows_.offsets.data();
    sums_.blocks = divide_up(s.in_channels, tile);
    sums_.ld = odd_lines(sums_.taps * sums_.blocks * tile, tile);
    const Index halo = windows_.reach_h * row + windows_.reach_w;
    const Index fitting = (most_source / (sums_.blocks * tile) - halo) / row;
    band_rows_ = even_chunk(s.out[1], std::max({fitting, windows_.reach_h, Index{1}}));
    bands_ = divide_up(s.out[1], band_rows_);
    dy_ = {.channels = s.out_channels,
           .width = s.out[2],
           .plane = volume(s.out),
           .source_row = s.out[2],
           .row = row,
           .positions = round_up(band_rows_ * row, together),
           .ld = 0};
    dy_.ld = odd_lines(dy_.positions + together, 2 * tile) / 2;
    sums_.dy_row = dy_.ld;
    pairs_ = round_up(dy_.positions + halo, together) / 2;
    sums_.parity = pairs_ * tile;
    sums_.block = 2 * sums_.parity;
    shards_ = std::min(most_shards, s.batch * bands_);
    shared_bytes_ = bytes_of<std::byte>(checked_mul(shards_, static_cast<Index>(shard_bytes())));
    dy_bytes_ = bytes_of<float>(rows_ * dy_.ld + together);
    source_bytes_ = bytes_of<float>(sums_.blocks * sums_.block);
    slot_bytes_ = dy_bytes_ + source_bytes_ + bytes_of<float>(tile * (pairs_ + together));
  }

  void run(ThreadPool& pool, const ConvArgs<float>& args, Workspace workspace) const override {
    float* const shared = shared_of(workspace);
    const Index shard = static_cast<Index>(shard_bytes() / sizeof(float));
    const Index tasks = shape_.batch * bands_;
    for_tasks(pool, workspace, shards_, 1, [&](Index which, std::byte* slot) {
      float* const sums = shared + which * shard;
      std::fill_n(sums, rows_ * sums_.ld, 0.0F);
      for (Index task = tasks * which / shards_; task < tasks * (which + 1) / shards_; ++task) {
        add_band(args, task / bands_, task % bands_ * band_rows_, sums, slot);
      }
    });
    const Index grain = grain_of(shape_.in_channels * sums_.taps, Index{1} << 13);
    pool.for_chunks(shape_.out_channels, grain, [&](Index first, Index last) {
      for (Index o = first; o < last; ++o) {
        store(shared + o * sums_.ld, shard,
              args.result.plain() + o * shape_.in_channels * sums_.taps);
      }
    });
  }

 private:
  std::size_t shard_bytes() const { return bytes_of<float>(rows_ * sums_.ld); }

  // Rows of dy of an image, from `begin` on.
  void add_band(const ConvArgs<float>& args, Index image, Index begin, float* sums,
                std::byte* slot) const {
    auto* const dy = reinterpret_cast<float*>(slot);
    auto* const source = reinterpret_cast<float*>(slot + dy_bytes_);
    std::byte* const scratch = slot + dy_bytes_ + source_bytes_;
    const Index rows = std::min(band_rows_, shape_.out[1] - begin);
    const Index plane = volume(shape_.out);
    PairedPositions band = dy_;
    band.positions = round_up(rows * dy_.row, together);
    conv_.pair_positions(band, rows,
                         args.dy + image * shape_.out_channels * plane + begin * shape_.out[2], dy);
    std::fill(dy + shape_.out_channels * dy_.ld, dy + rows_ * dy_.ld, 0.0F);
    const float* const x = args.x.plain() + image * shape_.in_channels * volume(shape_.in);
    for (Index b = 0; b < sums_.blocks; ++b) {
      conv_.transpose_positions(windows_.planes, b * tile, begin, rows + windows_.reach_h, pairs_,
                                sums_.parity, x, source + b * sums_.block, scratch);
    }
    for (Index p = 0; p < band.positions; p += most_positions) {
      const Index positions = std::min(most_positions, band.positions - p);
      for (Index row = 0; row < rows_; row += together) {
        conv_.taps(sums_, rows_ - row > tile ? 2 : 1, positions, dy + row * dy_.ld + p / 2,
                   source + p / 2 * tile, sums + row * sums_.ld);
      }
    }
  }

  // The weights of an output channel: in_channels x taps.
  void store(const float* sums, Index shard, float* dw) const {
    for (Index c = 0; c < shape_.in_channels; ++c) {
      for (Index tap = 0; tap < sums_.taps; ++tap) {
        const Index column = tap * sums_.blocks * tile + c;
        float total = sums[column];
        for (Index s = 1; s < shards_; ++s) total += sums[s * shard + column];
        dw[c * sums_.taps + tap] = total;
      }
    }
  }

  const ShiftedConvKernels& conv_;
  ShiftedWindows windows_;
  Index rows_;  // of sums
  PairedPositions dy_{};
  ShiftedSums sums_{};
  Index band_rows_ = 0, bands_ = 0;  // of an image
  Index pairs_ = 0;                  // of positions of a band's source
  Index shards_ = 0;
  std::size_t dy_bytes_ = 0, source_bytes_ = 0;
};

}  // namespace

MadeConv<float> make_shifted_weights(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<ShiftedWeights>(desc, kernels);
}

}  // namespace ondine::math

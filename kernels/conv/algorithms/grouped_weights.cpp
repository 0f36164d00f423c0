// backward_weights of groups of few channels: a task adds up the products of bands of some of the
// images for a block of groups. Where blocks are few, each shard has sums of its own.
#include "kernels/conv/algorithms/grouped.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index max_copy = Index{1} << 15;  // elements of several images
constexpr Index wanted_tasks = 4;

class GroupedConvWeights final : public ConvAlgorithm<float> {
 public:
  GroupedConvWeights(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm(desc, kernels),
        table_(*set_.grouped_conv),
        group_(group_of(desc.shape)),
        taps_(volume(group_.kernel)),
        blocks_(desc.shape, group_.out_channels, table_.lanes),
        inner_(blocks_.groups, group_.in_channels, table_.lanes, 1),
        outer_(blocks_.groups, group_.out_channels, table_.lanes, 1),
        x_planes_(inner_, blocks_, group_.in_channels * volume(group_.in), volume(group_.in)),
        dy_planes_(outer_, blocks_, group_.out_channels * volume(group_.out), volume(group_.out)),
        weight_planes_(outer_, blocks_, group_.out_channels * weight_row(), weight_row()),
        copy_(StridedAxis(group_, 1, false), StridedAxis(group_, 2, false), group_.in,
              table_.lanes) {
    set_bands();
    const Index steps = table_.lanes / blocks_.groups;
    list_ = copy_.taps(0, 0, copy_vector_, inner_.vectors, steps, group_.in_channels, table_.lanes);
    dy_columns_ = cells_in_turn(group_.out[2], table_.lanes);
    weight_columns_ = cells_in_turn(weight_row(), table_.lanes);
    sums_vector_ = inner_.vectors * steps * taps_ * table_.lanes;
    sums_bytes_ = bytes_of<float>(outer_.vectors * sums_vector_);
    copy_bytes_ = bytes_of<float>(images_ * inner_.vectors * copy_vector_);
    const std::size_t dy_bytes = bytes_of<float>(images_ * outer_.vectors * dy_vector_);
    if (shards_ > 1) {
      shared_bytes_ = bytes_of<std::byte>(
          checked_mul(static_cast<Index>(sums_bytes_), shards_ * blocks_.count));
    }
    slot_bytes_ = copy_bytes_ + dy_bytes + (shards_ > 1 ? 0 : sums_bytes_);
    sums_offset_ = copy_bytes_ + dy_bytes;
  }

  void run(ThreadPool& pool, const ConvArgs<float>& args, Workspace workspace) const override {
    if (shards_ == 1) {
      return for_tasks(pool, workspace, blocks_.count, grain_, [&](Index block, std::byte* slot) {
        float* const sums = reinterpret_cast<float*>(slot + sums_offset_);
        run_shard(args, block, 0, sums, slot);
        store(block, sums, args.result.plain());
      });
    }
    auto* const all = static_cast<std::byte*>(workspace.data);
    const auto sums_of = [&](Index block, Index shard) {
      return reinterpret_cast<float*>(all + static_cast<std::size_t>(block * shards_ + shard) *
                                                sums_bytes_);
    };
    for_tasks(pool, workspace, blocks_.count * shards_, grain_, [&](Index task, std::byte* slot) {
      const Index block = task / shards_;
      run_shard(args, block, task % shards_, sums_of(block, task % shards_), slot);
    });
    for (Index block = 0; block < blocks_.count; ++block) {
      float* const sums = sums_of(block, 0);
      for (Index shard = 1; shard < shards_; ++shard) {
        set_.vector->add.vv(sums, sums, sums_of(block, shard), outer_.vectors * sums_vector_);
      }
      store(block, sums, args.result.plain());
    }
  }

 private:
  Index weight_row() const { return group_.in_channels * taps_; }  // of an output channel

  // Bands of rows of an image, or several images (or pairs of them) at a time.
  void set_bands() {
    band_ = copy_.band(inner_.vectors);
    bands_ = divide_up(group_.out[1], band_);
    copy_vector_ = copy_.elements(band_);
    dy_vector_ = band_ * group_.out[2] * table_.lanes;
    const Index steps = divide_up(shape_.batch, table_.paired);
    images_ =
        bands_ > 1
            ? 1
            : even_chunk(steps, std::max<Index>(1, max_copy / (inner_.vectors * copy_vector_)));
    const Index units = divide_up(steps, images_) * bands_;
    shard_ = even_chunk(units, std::max<Index>(1, units * blocks_.count / wanted_tasks));
    shards_ = divide_up(units, shard_);
    grain_ = grain_of(shard_ * images_ * band_ * group_.out[2] * group_.in_channels * taps_ *
                          outer_.vectors * table_.lanes,
                      Index{1} << 20);
  }

  void run_shard(const ConvArgs<float>& args, Index block, Index shard, float* sums,
                 std::byte* slot) const {
    float* const copy = reinterpret_cast<float*>(slot);
    float* const dy_copy = reinterpret_cast<float*>(slot + copy_bytes_);
    std::fill_n(sums, outer_.vectors * sums_vector_, float{0});
    std::fill_n(copy, images_ * inner_.vectors * copy_vector_, float{0});
    const Index steps = divide_up(shape_.batch, table_.paired);
    const Index units = divide_up(steps, images_) * bands_;
    CellPositions p{blocks_.groups,
                    0,
                    group_.out[2],
                    copy_.down.step * copy_.row,
                    group_.out[2] * table_.lanes,
                    taps_ * table_.lanes};
    for (Index unit = shard * shard_; unit < std::min(units, (shard + 1) * shard_); ++unit) {
      const Index step = unit / bands_ * images_;
      const Index start = unit % bands_ * band_;
      const Index count = std::min(images_, steps - step);
      p.rows = std::min(band_, group_.out[1] - start);
      for (Index i = 0; i < count; ++i) {
        copy_x(args.x.plain(), block, step + i, start, p.rows,
               copy + i * inner_.vectors * copy_vector_);
        copy_dy(args.dy, block, step + i, start, p.rows, dy_copy + i * outer_.vectors * dy_vector_);
      }
      for (Index v = 0; v < outer_.vectors; ++v) {
        table_.taps(p, list_.data(), static_cast<Index>(list_.size()), count, copy,
                    inner_.vectors * copy_vector_, dy_copy + v * dy_vector_,
                    outer_.vectors * dy_vector_, sums + v * sums_vector_);
      }
    }
  }

  // The first image of a step from a block and `row` on, and the second or null.
  std::pair<const float*, const float*> images_of(const float* data, Index channels, Index plane,
                                                  Index block, Index step, Index row) const {
    const Index image = step * table_.paired;
    const Index size = shape_.groups * channels * plane;
    const float* const first =
        data + image * size + block * blocks_.groups * channels * plane + row;
    const bool has_next = table_.paired > 1 && image + 1 < shape_.batch;
    return {first, has_next ? first + size : nullptr};
  }

  void copy_x(const float* x, Index block, Index step, Index start, Index rows, float* copy) const {
    const CellCopy::Inside in = copy_.inside(start, rows, group_.in[1]);
    const auto [from, next] =
        images_of(x, group_.in_channels, volume(group_.in), block, step, in.row * group_.in[2]);
    for (Index v = 0; v < inner_.vectors; ++v, copy += copy_vector_) {
      copy_.clear_outside(in, rows, copy);
      if (in.begin == in.end) continue;
      table_.interleave_images({in.end - in.begin, group_.in[2], copy_.columns.data(), copy_.row},
                               x_planes_.of(block, v), from, next, copy + in.begin * copy_.row);
    }
  }

  void copy_dy(const float* dy, Index block, Index step, Index start, Index rows,
               float* copy) const {
    const Index width = group_.out[2];
    const auto [from, next] =
        images_of(dy, group_.out_channels, volume(group_.out), block, step, start * width);
    for (Index v = 0; v < outer_.vectors; ++v, copy += dy_vector_) {
      table_.interleave_images({rows, width, dy_columns_.data(), width * table_.lanes},
                               dy_planes_.of(block, v), from, next, copy);
    }
  }

  void store(Index block, const float* sums, float* dw) const {
    const Index first = block * blocks_.groups * group_.out_channels;
    for (Index v = 0; v < outer_.vectors; ++v, sums += sums_vector_) {
      table_.deinterleave({1, weight_row(), weight_columns_.data(), 0}, weight_planes_.of(block, v),
                          sums, nullptr, Activation::none, dw + first * weight_row());
    }
  }

  const GroupedConvKernels<float>& table_;
  ConvShape group_;
  Index taps_;
  GroupBlocks blocks_;
  CellLanes inner_, outer_;
  BlockPlanes x_planes_, dy_planes_, weight_planes_;
  CellCopy copy_;
  std::vector<CellTap> list_;
  std::vector<Index> dy_columns_, weight_columns_;
  Index band_, bands_;    // rows of positions
  Index images_;          // or pairs of them, at a time
  Index shard_, shards_;  // bands, or times, of one, and how many
  Index grain_;
  Index copy_vector_, dy_vector_, sums_vector_;  // elements
  std::size_t copy_bytes_, sums_bytes_, sums_offset_;
};

}  // namespace

MadeConv<float> make_grouped_weights(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<GroupedConvWeights>(desc, kernels);
}

}  // namespace ondine::math

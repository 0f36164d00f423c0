// backward_weights of a strided convolution: rows are taps, which read copies of x in place, and dy
// is transposed so that its channels are lanes.
#include "kernels/conv/algorithms/strided.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index max_rows = 288;       // channels x taps of a block
constexpr Index max_positions = 256;  // of a band
constexpr Index wanted_tasks = 4;
constexpr Index max_offsets = 240;  // taps at a time

// dw by blocks of input x output channels. Where these are few, each shard of the bands of all
// images has sums of its own.
template <class T>
class StridedConvWeights final : public ConvAlgorithm<T> {
 public:
  StridedConvWeights(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm<T>(desc, kernels),
        table_(*this->set_.strided_conv),
        down_(desc.shape, 1, false),
        across_(desc.shape, 2, false),
        taps_(volume(desc.shape.kernel)),
        panel_(table_.panel),
        pitch_(across_.span(desc.shape.out[2])) {
    const ConvShape& s = desc.shape;
    channels_ = even_chunk(s.in_channels, std::max<Index>(1, max_rows / taps_));
    panels_ = std::min(table_.tap_panels, divide_up(s.out_channels, panel_));
    outers_ = divide_up(s.out_channels, panels_ * panel_);
    while (outers_ * divide_up(s.in_channels, channels_) < wanted_tasks && channels_ * taps_ > 96 &&
           channels_ > 1) {
      channels_ = divide_up(channels_, 2);
    }
    blocks_ = divide_up(s.in_channels, channels_) * outers_;
    band_ = even_chunk(s.out[1], std::max<Index>(1, max_positions / s.out[2]));
    bands_ = divide_up(s.out[1], band_);
    const Index units = s.batch * bands_;
    shard_ = divide_up(units, blocks_ < wanted_tasks ? std::min(units, wanted_tasks) : 1);
    shards_ = divide_up(units, shard_);
    copy_bytes_ = bytes_of<T>(channels_ * down_.span(band_) * pitch_);
    dy_panel_ = (band_ * s.out[2] + 1) * panel_;
    dy_bytes_ = bytes_of<T>(panels_ * dy_panel_);
    sums_panel_ = channels_ * taps_ * panel_;
    sums_bytes_ = bytes_of<T>(panels_ * sums_panel_);
    this->shared_bytes_ = bytes_of<std::byte>(
        shards_ > 1 ? checked_mul(static_cast<Index>(sums_bytes_), shards_ * blocks_) : 0);
    this->slot_bytes_ = copy_bytes_ + dy_bytes_ + (shards_ > 1 ? 0 : sums_bytes_);
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    if (shards_ == 1) {
      return this->for_tasks(pool, workspace, blocks_, 1, [&](Index block, std::byte* slot) {
        T* const sums = reinterpret_cast<T*>(slot + copy_bytes_ + dy_bytes_);
        run_shard(args, block, 0, sums, slot);
        store_block(block, sums, args.result.plain());
      });
    }
    auto* const all = static_cast<std::byte*>(workspace.data);
    const auto sums_of = [&](Index block, Index shard) {
      return reinterpret_cast<T*>(all +
                                  static_cast<std::size_t>(block * shards_ + shard) * sums_bytes_);
    };
    this->for_tasks(pool, workspace, blocks_ * shards_, 1, [&](Index task, std::byte* slot) {
      const Index block = task / shards_;
      const Index shard = task % shards_;
      run_shard(args, block, shard, sums_of(block, shard), slot);
    });
    const Index elements = panels_ * sums_panel_;
    pool.for_chunks(blocks_, 1, [&](Index first, Index last) {
      for (Index block = first; block < last; ++block) {
        T* const sums = sums_of(block, 0);
        for (Index shard = 1; shard < shards_; ++shard) {
          this->set_.vector->add.vv(sums, sums, sums_of(block, shard), elements);
        }
        store_block(block, sums, args.result.plain());
      }
    });
  }

 private:
  Index first_inner(Index block) const { return block / outers_ * channels_; }
  Index first_outer(Index block) const { return block % outers_ * panels_ * panel_; }
  Index inner_channels(Index block) const {
    return std::min(channels_, this->shape_.in_channels - first_inner(block));
  }

  // The bands of one shard added up for one block.
  void run_shard(const ConvArgs<T>& args, Index block, Index shard, T* sums,
                 std::byte* slot) const {
    const ConvShape& s = this->shape_;
    T* const copy = reinterpret_cast<T*>(slot);
    T* const dy_copy = reinterpret_cast<T*>(slot + copy_bytes_);
    const Index inner = first_inner(block);
    const Index outer = first_outer(block);
    StridedRows r{0, s.out[2], across_.step, down_.step * pitch_, 0, 0};
    r.lanes = std::min(panels_ * panel_, s.out_channels - outer);
    const Index end = std::min(s.batch * bands_, (shard + 1) * shard_);
    for (Index unit = shard * shard_; unit < end; ++unit) {
      const Index image = unit / bands_;
      const Index row = unit % bands_ * band_;
      r.rows = std::min(band_, s.out[1] - row);
      const PlaneCopy c{s.in[1],      s.in[2], row * down_.step + down_.low, down_.span(r.rows),
                        -across_.low, pitch_};
      table_.copy(c, inner_channels(block),
                  args.x.plain() + (image * s.in_channels + inner) * volume(s.in), copy);
      transpose_dy(args.dy + (image * s.out_channels + outer) * volume(s.out) + row * s.out[2],
                   r.rows * s.out[2], s.out_channels - outer, dy_copy);
      add_taps(r, copy, c.rows, dy_copy, inner_channels(block) * taps_, unit == shard * shard_,
               sums);
    }
  }

  // n positions of panels of dy, channels as columns.
  void transpose_dy(const T* dy, Index n, Index channels, T* dy_copy) const {
    GemmCall<T> transposed{};
    transposed.k = n;
    transposed.b_row = 1;
    transposed.b_col = volume(this->shape_.out);
    for (Index i = 0; i < panels_; ++i) {
      transposed.n = std::clamp<Index>(channels - i * panel_, 0, panel_);
      transposed.b = dy + i * panel_ * transposed.b_col;
      if (transposed.n > 0) this->set_.gemm->pack_b(transposed, dy_copy + i * dy_panel_);
    }
  }

  void add_taps(StridedRows r, const T* copy, Index copy_rows, const T* dy_copy, Index all_taps,
                bool first, T* sums) const {
    const Index kernel_w = this->shape_.kernel[2];
    Index offsets[max_offsets];
    for (Index from = 0; from < all_taps; from += max_offsets) {
      r.depth = std::min(max_offsets, all_taps - from);
      for (Index i = 0; i < r.depth; ++i) {
        const Index k = (from + i) % taps_;
        offsets[i] = ((from + i) / taps_ * copy_rows + down_.offset(0, k / kernel_w)) * pitch_ +
                     across_.offset(0, k % kernel_w);
      }
      table_.taps(r, copy, offsets, dy_copy, dy_panel_, first, sums + from * panel_, sums_panel_);
    }
  }

  void store_block(Index block, const T* sums, T* dw) const {
    const ConvShape& s = this->shape_;
    const Index row = s.in_channels * taps_;
    for (Index i = 0; i < panels_; ++i) {
      const Index outer = first_outer(block) + i * panel_;
      if (outer >= s.out_channels) break;
      table_.store_channels(sums + i * sums_panel_, inner_channels(block) * taps_,
                            std::min(panel_, s.out_channels - outer), nullptr, Activation::none,
                            dw + outer * row + first_inner(block) * taps_, row);
    }
  }

  const StridedConvKernels<T>& table_;
  StridedAxis down_, across_;
  Index taps_, panel_;
  Index pitch_;
  Index channels_, panels_;      // of a block
  Index outers_, blocks_;        // blocks of output channels, and of both
  Index band_, bands_;           // rows of positions
  Index shard_, shards_;         // bands of one, and how many
  Index dy_panel_, sums_panel_;  // elements
  std::size_t copy_bytes_, dy_bytes_, sums_bytes_;
};

}  // namespace

template <class T>
MadeConv<T> make_strided_weights(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<StridedConvWeights<T>>(desc, kernels);
}

template MadeConv<float> make_strided_weights(const ConvDesc&, const SimdTables&);
template MadeConv<double> make_strided_weights(const ConvDesc&, const SimdTables&);

}  // namespace ondine::math

// Winograd convolution by blocks of tiles: the weights are transformed first, in chunks that stay
// in a cache, then a task transforms a block of tiles, multiplies and transforms back.
#include "kernels/conv/algorithms/winograd.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index max_weight_bytes = Index{4} << 20;  // of transformed weights at a time
constexpr double max_row_bytes = 64 << 20;          // of a row of tiles, which a task takes whole

template <class T>
class WinogradConv final : public ConvAlgorithm<T> {
 public:
  WinogradConv(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm<T>(desc, kernels),
        transforms_(winograd_transforms(desc, this->set_)),
        d_(desc),
        tiling_(desc, d_),
        panel_(this->set_.gemm->nr),
        panels_(divide_up(d_.outer, panel_)),
        channels_(this->set_, d_.inner) {
    const WinogradForm& form = tiling_.form;
    const Index panel_bytes = form.weights() * channels_.rows * panel_ * Index{sizeof(T)};
    chunk_ = even_chunk(panels_, std::max<Index>(1, max_weight_bytes / panel_bytes));
    this->shared_bytes_ =
        bytes_of<T>(form.weights() * component_step<T>(channels_.rows * chunk_ * panel_));
    const Index tiles = tiling_.block * tiling_.across;
    source_bytes_ = bytes_of<T>(form.sources() * component_step<T>(tiles * channels_.ld));
    width_ = std::min(chunk_ * panel_, whole_lanes(this->set_, d_.outer));
    result_bytes_ = bytes_of<T>(form.results() * component_step<T>(tiles * width_));
    splits_ = splits_factors(product(tiles, width_), this->set_);
    this->slot_bytes_ = source_bytes_ + result_bytes_ +
                        winograd_scratch(transforms_, tiling_.largest_run(), d_.in, this->set_,
                                         product(tiles, width_));
  }

  bool splits() const override { return splits_; }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    T* const u = this->shared_of(workspace);
    for (Index first = 0; first < panels_; first += chunk_) {
      const Chunk chunk = chunk_from(first);
      transform_weights(pool, args, chunk, u);
      this->for_tasks(pool, workspace, tiling_.blocks, 1, [&](Index block, std::byte* slot) {
        run_block(args, chunk, u, block, slot);
      });
    }
  }

 private:
  // Output channels whose weights are transformed together.
  struct Chunk {
    Index panels;
    Index channel, channels;
    Index component;  // of the weights: elements to the next
  };
  Chunk chunk_from(Index first) const {
    const Index panels = std::min(chunk_, panels_ - first);
    const Index channel = first * panel_;
    return {panels, channel, std::min(panels * panel_, d_.outer - channel),
            component_step<T>(channels_.rows * panels * panel_)};
  }
  GemmCall<T> product(Index tiles, Index channels) const {
    auto call = component_product<T>(tiles, whole_lanes(this->set_, channels), d_.inner, channels_,
                                     panel_, width_);
    call.splits = splits_;
    return call;
  }

  void transform_weights(ThreadPool& pool, const ConvArgs<T>& args, const Chunk& chunk,
                         T* u) const {
    TileWeights weights = weights_of(this->shape_, d_);
    weights.outer = chunk.channels;
    weights.component = chunk.component;
    const T* const w = args.w.plain() + chunk.channel * weights.outer_stride;
    const Index grain = grain_of(d_.inner * panel_, Index{1} << 13);
    pool.for_chunks(chunk.panels, grain, [&](Index first, Index last) {
      transforms_.weights(weights, first, last, panel_, d_.backward, w, u);
    });
  }

  void run_block(const ConvArgs<T>& args, const Chunk& chunk, const T* u, Index block,
                 std::byte* slot) const {
    T* const v = reinterpret_cast<T*>(slot);
    T* const m = reinterpret_cast<T*>(slot + source_bytes_);
    std::byte* const scratch = slot + source_bytes_ + result_bytes_;
    const Index tiles = tiling_.tiles_in(block);
    auto call = product(tiles, chunk.channels);
    const Index source_step = component_step<T>(tiles * channels_.ld);
    const Index result_step = component_step<T>(tiles * call.ldc);
    tiling_.for_runs(block, [&](Index image, TileRows run) {
      set_planes(run, d_.in, d_.inner, channels_.ld, source_step);
      transforms_.input(run, tiling_.pad_h, tiling_.pad_w,
                        d_.source(args).plain() + image * d_.source_image(), v, scratch);
    });
    for (Index i = 0; i < tiling_.form.terms(); ++i) {
      const WinogradTerm& term = tiling_.form.term(i);
      const auto range = tiling_.range_of(block, term.result);
      call.m = range.count;
      call.a = v + term.source * source_step + range.first * call.a_row;
      call.b = u + term.weight * chunk.component;
      call.c = m + term.result * result_step + range.first * call.ldc;
      call.beta = term.starts_result ? T{0} : T{1};
      this->set_.gemm->run(call, scratch);
    }
    const T* const bias = args.bias ? args.bias + chunk.channel : nullptr;
    T* const result = args.result.plain() + chunk.channel * volume(d_.out);
    tiling_.for_runs(block, [&](Index image, TileRows run) {
      set_planes(run, d_.out, chunk.channels, call.ldc, result_step);
      transforms_.output(run, m, bias, this->activation_, result + image * d_.result_image(),
                         scratch);
    });
  }

  const WinogradTransforms<T>& transforms_;
  DirectedShape d_;
  WinogradTiling tiling_;
  Index panel_, panels_;  // outer channels of a panel, and how many
  InnerChannels<T> channels_;
  Index chunk_;  // panels whose weights are transformed at once
  Index width_;  // of their results
  bool splits_ = false;
  std::size_t source_bytes_, result_bytes_;
};

// Stride 2 along both axes, with at most 2 zeros around a plane.
bool is_strided_window(const ConvShape& s) {
  if (s.groups != 1 || s.stride != SpatialDims{1, 2, 2} || !is_planar(s) || is_empty(s)) {
    return false;
  }
  for (std::size_t i = 1; i < 3; ++i) {
    const Index end = 2 * (s.out[i] - 1) + 3 - s.pad[i] - s.in[i];
    if (s.pad[i] > 2 || end > 2) return false;
  }
  return true;
}

// Bytes of the components of a row of tiles, with stride 1.
double row_bytes(const ConvShape& s) {
  constexpr double tile_bytes = 16 * sizeof(float);
  const auto tiles = static_cast<double>(divide_up(s.out[2], 2));
  return tiles * static_cast<double>(std::max(s.in_channels, s.out_channels)) * tile_bytes;
}

// Whether channels and tiles are enough for what is transformed. Gradients by the weights need
// tiles that are full, since they compute products of results beyond the edges too.
template <class T>
bool strided_tiles_pay(const ConvDesc& desc, const SimdTables& kernels) {
  constexpr Index results = 4;       // of a tile, in y
  constexpr Index max_across = 256;  // a task takes whole rows of tiles
  const ConvShape& s = desc.shape;
  const bool rounds = rounds_factors<T>(kernels);
  const Index channels = std::min(s.in_channels, s.out_channels);
  const Index least_channels = rounds ? 16 : 32;
  const WinogradTiling tiling(desc, DirectedShape(desc));
  const Index tiles = tiling.tiles();
  const Index positions = s.batch * volume(s.out);
  if (channels < least_channels || tiles < 16 || tiling.across > max_across) return false;
  switch (desc.direction) {
    case ConvDirection::forward:  // `strided` has fewer products to make up for
      return rounds || (tiles >= 32 && positions >= least_channels * results * tiles / channels);
    case ConvDirection::backward_data:
      return true;
    case ConvDirection::backward_weights:
      break;
  }
  return positions >= 128 && positions > 7 * results * tiles / 10;
}

}  // namespace

template <class T>
bool supports_winograd(const ConvDesc& desc, const SimdTables& kernels) {
  const ConvShape& s = desc.shape;
  if (!tables_of<T>(kernels).winograd) return false;
  if (s.kernel != SpatialDims{1, 3, 3} || s.dilation != SpatialDims{1, 1, 1}) return false;
  if (is_strided_window(s)) return strided_tiles_pay<T>(desc, kernels);
  if (!is_mirrorable(s) || std::min(s.in_channels, s.out_channels) < 16) return false;
  if (row_bytes(s) > max_row_bytes) return false;
  // Few positions do not pay for transforming the weights.
  const Index least = desc.direction == ConvDirection::forward ? 49 : 64;
  return s.batch * volume(s.out) >= least;
}

template <class T>
MadeConv<T> make_winograd(const ConvDesc& desc, const SimdTables& kernels) {
  if (desc.direction == ConvDirection::backward_weights) {
    return make_winograd_weights<T>(desc, kernels);
  }
  return std::make_unique<WinogradConv<T>>(desc, kernels);
}

ONDINE_INSTANTIATE_CONV(winograd);

}  // namespace ondine::math

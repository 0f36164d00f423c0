// backward_weights of a Winograd convolution: both operands are transformed, their products summed
// over all tiles in order, and the sums transformed back once. A task computes a block of dw.
#include "kernels/conv/algorithms/winograd.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

template <class T>
class WinogradConvWeights final : public ConvAlgorithm<T> {
 public:
  WinogradConvWeights(const ConvDesc& desc, const Kernels& kernels)
      : ConvAlgorithm<T>(desc, kernels),
        winograd_(*kernel_set<T>(full_precision(kernels)).winograd),
        tiling_(desc.shape.batch, desc.shape.out),
        lanes_(this->set_.depthwise_channels->lanes) {
    const ConvShape& s = desc.shape;
    inner_ = round_up(even_chunk(s.in_channels, 64), lanes_);
    outer_ = round_up(even_chunk(s.out_channels, 128), lanes_);
    while (divide_up(s.in_channels, inner_) * divide_up(s.out_channels, outer_) < 4 &&
           std::max(inner_, outer_) > 32) {
      Index& max = outer_ > inner_ ? outer_ : inner_;
      max = round_up(divide_up(max, 2), lanes_);
    }
    outers_ = divide_up(s.out_channels, outer_);
    blocks_ = divide_up(s.in_channels, inner_) * outers_;
    const Index tiles = tiling_.block * tiling_.across;
    x_bytes_ = bytes_of<T>(tiling_.components * tiles * inner_);
    dy_bytes_ = bytes_of<T>(tiling_.components * tiles * outer_);
    dw_bytes_ = bytes_of<T>(tiling_.components * inner_ * outer_);
    this->slot_bytes_ = x_bytes_ + dy_bytes_ + dw_bytes_ +
                        winograd_scratch(this->set_, tiling_, product(inner_, tiles));
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    this->for_tasks(pool, workspace, blocks_, 1,
                    [&](Index block, std::byte* slot) { run_block(args, block, slot); });
  }

 private:
  GemmCall<T> product(Index channels, Index tiles) const {
    GemmCall<T> call{};
    call.m = channels;
    call.n = outer_;
    call.k = tiles;
    call.a_row = 1;
    call.a_col = inner_;
    call.b_row = outer_;
    call.b_col = 1;
    call.ldc = outer_;
    call.alpha = 1;
    return call;
  }

  void run_block(const ConvArgs<T>& args, Index block, std::byte* slot) const {
    const ConvShape& s = this->shape_;
    T* const v = reinterpret_cast<T*>(slot);
    T* const m = reinterpret_cast<T*>(slot + x_bytes_);
    T* const u = reinterpret_cast<T*>(slot + x_bytes_ + dy_bytes_);
    std::byte* const scratch = slot + x_bytes_ + dy_bytes_ + dw_bytes_;
    const Index inner = block / outers_ * inner_;
    const Index outer = block % outers_ * outer_;
    const Index inner_channels = std::min(inner_, s.in_channels - inner);
    const Index outer_channels = std::min(outer_, s.out_channels - outer);
    const Index component = inner_ * outer_;
    for (Index which = 0; which < tiling_.blocks; ++which) {
      const Index tiles = tiling_.tiles_in(which);
      tiling_.for_runs(which, [&](Index image, TileRows run, Index before) {
        set_planes(run, s.in, inner_channels, inner_, tiles * inner_);
        winograd_.input(run, s.pad[1], s.pad[2],
                        args.x + (image * s.in_channels + inner) * volume(s.in),
                        v + before * inner_, scratch);
        set_planes(run, s.out, outer_channels, outer_, tiles * outer_);
        winograd_.output_gradient(run, args.dy + (image * s.out_channels + outer) * volume(s.out),
                                  m + before * outer_, scratch);
      });
      auto call = product(inner_channels, tiles);
      call.n = round_up(outer_channels, lanes_);
      call.beta = which == 0 ? T{0} : T{1};
      for (Index c = 0; c < tiling_.components; ++c) {
        call.a = v + c * tiles * inner_;
        call.b = m + c * tiles * outer_;
        call.c = u + c * component;
        this->set_.gemm->run(call, scratch);
      }
    }
    const TileWeights weights{tiling_.tile,      inner_channels, outer_channels, 9,
                              s.in_channels * 9, outer_,         component};
    winograd_.backward_weights(weights, u, args.result + (outer * s.in_channels + inner) * 9);
  }

  const WinogradKernels<T>& winograd_;  // in float: pairs are of tiles, which the product rounds
  WinogradTiling tiling_;
  Index lanes_;
  Index inner_, outer_;    // channels of a block
  Index outers_, blocks_;  // blocks of output channels, and of both
  std::size_t x_bytes_, dy_bytes_, dw_bytes_;
};

}  // namespace

template <class T>
MadeConv<T> make_winograd_weights(const ConvDesc& desc, const Kernels& kernels) {
  return std::make_unique<WinogradConvWeights<T>>(desc, kernels);
}

template MadeConv<float> make_winograd_weights(const ConvDesc&, const Kernels&);
template MadeConv<double> make_winograd_weights(const ConvDesc&, const Kernels&);

}  // namespace ondine::math

// Winograd's gradient by the weights: both operands are transformed, their products summed over all
// tiles, and the sums transformed back once.
#include "kernels/conv/conv_tiling.h"
#include "kernels/conv/conv_winograd.h"
#include "kernels/simd/conv/conv_table.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

// dw by blocks of inner x outer channels, each over all tiles in order.
template <class T>
struct WeightPlan {
  WeightPlan(const ConvShape& s, const Kernels& kernels)
      : tiling(s.batch, s.out), lanes(kernel_set<T>(kernels).lanes->lanes) {
    inner = round_up(even_piece(s.in_channels, 64), lanes);
    outer = round_up(even_piece(s.out_channels, 128), lanes);
    while (divide_up(s.in_channels, inner) * divide_up(s.out_channels, outer) < 4 &&
           std::max(inner, outer) > 32) {
      Index& larger = outer > inner ? outer : inner;
      larger = round_up(divide_up(larger, 2), lanes);
    }
    inners = divide_up(s.in_channels, inner);
    outers = divide_up(s.out_channels, outer);
    const Index tiles = tiling.block * tiling.across;
    x = bytes_of<T>(tiling.components * tiles * inner);
    dy = bytes_of<T>(tiling.components * tiles * outer);
    dw = bytes_of<T>(tiling.components * inner * outer);
    const auto& set = kernel_set<T>(kernels);
    const auto rows = static_cast<std::size_t>(set.winograd->scratch_bytes(tiling.largest_run()));
    slot = x + dy + dw + std::max(align_up(rows), scratch_of(call(inner, tiles), kernels));
  }
  GemmCall<T> call(Index channels, Index tiles) const {
    GemmCall<T> g{};
    g.m = channels;
    g.n = outer;
    g.k = tiles;
    g.a_row = 1;
    g.a_col = inner;
    g.b_row = outer;
    g.b_col = 1;
    g.ldc = outer;
    g.alpha = 1;
    return g;
  }

  Tiling tiling;
  Index lanes;
  Index inner, outer;    // channels of a block
  Index inners, outers;  // blocks
  std::size_t x, dy, dw;
  std::size_t slot;
};

template <class T>
void run_weight_block(const WeightPlan<T>& p, const ConvShape& s, Index block, const T* x,
                      const T* dy, T* dw, std::byte* scratch, const Kernels& kernels) {
  const auto& set = kernel_set<T>(kernels);
  T* const v = reinterpret_cast<T*>(scratch);
  T* const m = reinterpret_cast<T*>(scratch + p.x);
  T* const u = reinterpret_cast<T*>(scratch + p.x + p.dy);
  std::byte* const rest = scratch + p.x + p.dy + p.dw;
  const Index inner = block / p.outers * p.inner;
  const Index outer = block % p.outers * p.outer;
  const Index inners = std::min(p.inner, s.in_channels - inner);
  const Index outers = std::min(p.outer, s.out_channels - outer);
  const Index component_u = p.inner * p.outer;
  for (Index which = 0; which < p.tiling.blocks; ++which) {
    const Index tiles = p.tiling.tiles_in(which);
    p.tiling.for_runs(which, [&](Index image, TileRows run, Index before) {
      set_planes(run, s.in, inners, p.inner, tiles * p.inner);
      set.winograd->input(run, s.pad[1], s.pad[2],
                          x + (image * s.in_channels + inner) * volume(s.in), v + before * p.inner,
                          rest);
      set_planes(run, s.out, outers, p.outer, tiles * p.outer);
      set.winograd->output_gradient(run, dy + (image * s.out_channels + outer) * volume(s.out),
                                    m + before * p.outer, rest);
    });
    auto call = p.call(inners, tiles);
    call.n = round_up(outers, p.lanes);
    call.beta = which == 0 ? T{0} : T{1};
    for (Index c = 0; c < p.tiling.components; ++c) {
      call.a = v + c * tiles * p.inner;
      call.b = m + c * tiles * p.outer;
      call.c = u + c * component_u;
      set.gemm->run(call, rest);
    }
  }
  const TileWeights weights{p.tiling.tile,     inners,  outers,     9,
                            s.in_channels * 9, p.outer, component_u};
  set.winograd->weight_gradient(weights, u, dw + (outer * s.in_channels + inner) * 9);
}

}  // namespace

template <class T>
std::size_t winograd_weight_gradient_workspace(const ConvShape& s, int threads,
                                               const Kernels& kernels) {
  return ScratchPool::bytes(WeightPlan<T>(s, kernels).slot, threads);
}

template <class T>
void winograd_weight_gradient(ThreadPool& pool, const ConvShape& s, const T* x, const T* dy, T* dw,
                              Workspace workspace, const Kernels& kernels) {
  const WeightPlan<T> p(s, kernels);
  ScratchPool(workspace, p.slot)
      .for_chunks(pool, p.inners * p.outers, 1, [&](std::byte* scratch, Index first, Index last) {
        for (Index block = first; block < last; ++block) {
          run_weight_block(p, s, block, x, dy, dw, scratch, kernels);
        }
      });
}

#define ONDINE_INSTANTIATE(T)                                                                      \
  template std::size_t winograd_weight_gradient_workspace<T>(const ConvShape&, int,                \
                                                             const Kernels&);                      \
  template void winograd_weight_gradient<T>(ThreadPool&, const ConvShape&, const T*, const T*, T*, \
                                            Workspace, const Kernels&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math

#include "kernels/conv/conv_winograd.h"

#include "kernels/conv/conv_tiling.h"
#include "kernels/simd/conv/conv_table.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index weight_bytes = Index{4} << 20;  // of transformed weights at a time

template <class T>
struct Plan {
  Plan(const ConvShape& s, Pass pass, const Kernels& kernels)
      : d(s, pass),
        tiling(s.batch, d.out),
        lanes(kernel_set<T>(kernels).lanes->lanes),
        panel(kernel_set<T>(kernels).gemm->nr),
        inner_ld(round_up(d.inner, lanes)) {
    const Index panels = divide_up(d.outer, panel);
    const Index of_panel = tiling.components * d.inner * panel * Index{sizeof(T)};
    chunk = even_piece(panels, std::max<Index>(1, weight_bytes / of_panel));
    weights = bytes_of<T>(tiling.components * d.inner * chunk * panel);
    const Index tiles = tiling.block * tiling.across;
    from = bytes_of<T>(tiling.components * tiles * inner_ld);
    to = bytes_of<T>(tiling.components * tiles * chunk * panel);
    const auto& set = kernel_set<T>(kernels);
    const auto rows = static_cast<std::size_t>(set.winograd->scratch_bytes(tiling.largest_run()));
    const auto product = scratch_of(call(tiles, chunk), kernels);
    slot = from + to + std::max(align_up(rows), product);
  }
  GemmCall<T> call(Index tiles, Index panels) const {
    GemmCall<T> g{};
    g.m = tiles;
    g.n = panels * panel;
    g.k = d.inner;
    g.a_row = inner_ld;
    g.a_col = 1;
    g.b_col = 1;
    g.b_row = panel;
    g.b_packed = true;
    g.ldc = chunk * panel;
    g.alpha = 1;
    return g;
  }

  Direction d;
  Tiling tiling;
  Index lanes, panel;
  Index inner_ld;
  Index chunk;                    // panels of weights at a time
  std::size_t weights, from, to;  // bytes
  std::size_t slot;
};

// Few tiles and many channels: the transformed input is shared, and a task computes a panel of
// output channels, the weights of which it transforms just before they are used.
constexpr Index few_tiles = 64;

bool has_few_tiles(const Tiling& tiling, Index inner) {
  return tiling.rows * tiling.across <= few_tiles && inner >= 128;
}

template <class T>
struct PanelPlan {
  PanelPlan(const ConvShape& s, Pass pass, const Kernels& kernels)
      : d(s, pass), tiling(s.batch, d.out), panel(kernel_set<T>(kernels).gemm->nr) {
    tiling.block = tiling.rows;
    tiling.blocks = 1;
    tiles = tiling.rows * tiling.across;
    panels = divide_up(d.outer, panel);
    inner_ld = round_up(d.inner, kernel_set<T>(kernels).lanes->lanes);
    from = bytes_of<T>(tiling.components * tiles * inner_ld);
    weights = bytes_of<T>(tiling.components * d.inner * panel);
    to = bytes_of<T>(tiling.components * tiles * panel);
    const auto& set = kernel_set<T>(kernels);
    const auto rows = static_cast<std::size_t>(set.winograd->scratch_bytes(tiling.largest_run()));
    slot = weights + to + std::max(align_up(rows), scratch_of(call(), kernels));
  }
  GemmCall<T> call() const {
    GemmCall<T> g{};
    g.m = tiles;
    g.n = panel;
    g.k = d.inner;
    g.a_row = inner_ld;
    g.a_col = 1;
    g.b_col = 1;
    g.b_row = panel;
    g.b_packed = true;
    g.ldc = panel;
    g.alpha = 1;
    return g;
  }

  Direction d;
  Tiling tiling;
  Index panel, panels;
  Index tiles, inner_ld;
  std::size_t from, weights, to;  // bytes
  std::size_t slot;
};

template <class T>
void run_panels(ThreadPool& pool, const ConvShape& s, Pass pass, const T* x, const T* w,
                const T* bias, Activation activation, T* y, Workspace workspace,
                const Kernels& kernels) {
  const PanelPlan<T> p(s, pass, kernels);
  const auto& set = kernel_set<T>(kernels);
  T* const v = static_cast<T*>(workspace.data);
  const Workspace rest{static_cast<std::byte*>(workspace.data) + p.from, workspace.bytes - p.from};
  ScratchPool slots(rest, p.slot);
  const Index of_image = p.tiling.down * p.tiling.across;
  slots.for_chunks(pool, s.batch, 1, [&](std::byte* scratch, Index first, Index last) {
    for (Index image = first; image < last; ++image) {
      TileRows run = p.tiling.largest_run();
      set_planes(run, p.d.in, p.d.inner, p.inner_ld, p.tiles * p.inner_ld);
      set.winograd->input(run, p.d.pad_h, p.d.pad_w, x + image * p.d.inner * volume(p.d.in),
                          v + image * of_image * p.inner_ld, scratch);
    }
  });
  const Index component = p.d.inner * p.panel;
  slots.for_chunks(pool, p.panels, 1, [&](std::byte* scratch, Index first, Index last) {
    T* const u = reinterpret_cast<T*>(scratch);
    T* const m = reinterpret_cast<T*>(scratch + p.weights);
    std::byte* const more = scratch + p.weights + p.to;
    for (Index panel = first; panel < last; ++panel) {
      const Index channel = panel * p.panel;
      TileWeights weights = weights_of(s, p.d);
      weights.tile = p.tiling.tile;
      weights.outer = std::min(p.panel, p.d.outer - channel);
      weights.component = component;
      set.winograd->weights(weights, 0, 1, p.panel, p.d.backward,
                            w + channel * weights.outer_stride, u);
      auto call = p.call();
      for (Index c = 0; c < p.tiling.components; ++c) {
        call.a = v + c * p.tiles * p.inner_ld;
        call.b = u + c * component;
        call.c = m + c * p.tiles * p.panel;
        set.gemm->run(call, more);
      }
      p.tiling.for_runs(0, [&](Index image, TileRows run, Index before) {
        set_planes(run, p.d.out, weights.outer, p.panel, p.tiles * p.panel);
        set.winograd->output(run, m + before * p.panel, bias ? bias + channel : nullptr, activation,
                             y + (image * p.d.outer + channel) * volume(p.d.out), more);
      });
    }
  });
}

}  // namespace

template <class T>
bool takes_winograd(const ConvShape& s, const Kernels& kernels) {
  if (sizeof(T) != sizeof(float) || !kernel_set<T>(kernels).winograd) return false;
  const bool square = s.kernel == Extents{1, 3, 3} && s.dilation == Extents{1, 1, 1};
  if (!square || !is_simple(s) || std::min(s.in_channels, s.out_channels) < 16) return false;
  // Few positions do not pay for transforming the weights.
  return s.batch * volume(s.out) >= 64;
}

template <class T>
std::size_t winograd_workspace(const ConvShape& s, Pass pass, int threads, const Kernels& kernels) {
  const Plan<T> p(s, pass, kernels);
  if (has_few_tiles(p.tiling, p.d.inner)) {
    const PanelPlan<T> panels(s, pass, kernels);
    return panels.from + ScratchPool::bytes(panels.slot, threads);
  }
  return p.weights + ScratchPool::bytes(p.slot, threads);
}

template <class T>
void winograd(ThreadPool& pool, const ConvShape& s, Pass pass, const T* from, const T* w,
              const T* bias, Activation activation, T* to, Workspace workspace,
              const Kernels& kernels) {
  const Plan<T> p(s, pass, kernels);
  if (has_few_tiles(p.tiling, p.d.inner)) {
    return run_panels(pool, s, pass, from, w, bias, activation, to, workspace, kernels);
  }
  const auto& set = kernel_set<T>(kernels);
  T* const u = static_cast<T*>(workspace.data);
  const Workspace rest{static_cast<std::byte*>(workspace.data) + p.weights,
                       workspace.bytes - p.weights};
  const Index panels = divide_up(p.d.outer, p.panel);
  for (Index panel = 0; panel < panels; panel += p.chunk) {
    const Index count = std::min(p.chunk, panels - panel);
    const Index channel = panel * p.panel;
    const Index channels = std::min(count * p.panel, p.d.outer - channel);
    const Index component = p.d.inner * count * p.panel;
    TileWeights weights = weights_of(s, p.d);
    weights.tile = p.tiling.tile;
    weights.outer = channels;
    weights.component = component;
    const Index grain = std::max<Index>(1, (Index{1} << 13) / (p.d.inner * p.panel));
    pool.for_chunks(count, grain, [&](Index first, Index last) {
      set.winograd->weights(weights, first, last, p.panel, p.d.backward,
                            w + channel * weights.outer_stride, u);
    });
    ScratchPool(rest, p.slot)
        .for_chunks(pool, p.tiling.blocks, 1, [&](std::byte* scratch, Index first, Index last) {
          T* const v = reinterpret_cast<T*>(scratch);
          T* const m = reinterpret_cast<T*>(scratch + p.from);
          std::byte* const more = scratch + p.from + p.to;
          for (Index which = first; which < last; ++which) {
            const Index tiles = p.tiling.tiles_in(which);
            p.tiling.for_runs(which, [&](Index image, TileRows run, Index before) {
              set_planes(run, p.d.in, p.d.inner, p.inner_ld, tiles * p.inner_ld);
              set.winograd->input(run, p.d.pad_h, p.d.pad_w,
                                  from + image * p.d.inner * volume(p.d.in),
                                  v + before * p.inner_ld, more);
            });
            auto call = p.call(tiles, count);
            for (Index c = 0; c < p.tiling.components; ++c) {
              call.a = v + c * tiles * p.inner_ld;
              call.b = u + c * component;
              call.c = m + c * tiles * call.ldc;
              set.gemm->run(call, more);
            }
            p.tiling.for_runs(which, [&](Index image, TileRows run, Index before) {
              set_planes(run, p.d.out, channels, call.ldc, tiles * call.ldc);
              set.winograd->output(run, m + before * call.ldc, bias ? bias + channel : nullptr,
                                   activation, to + (image * p.d.outer + channel) * volume(p.d.out),
                                   more);
            });
          }
        });
  }
}

#define ONDINE_INSTANTIATE(T)                                                                  \
  template bool takes_winograd<T>(const ConvShape&, const Kernels&);                           \
  template std::size_t winograd_workspace<T>(const ConvShape&, Pass, int, const Kernels&);     \
  template void winograd<T>(ThreadPool&, const ConvShape&, Pass, const T*, const T*, const T*, \
                            Activation, T*, Workspace, const Kernels&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math

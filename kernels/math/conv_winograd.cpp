#include "kernels/math/conv_winograd.h"

#include "kernels/math/conv_table.h"
#include "kernels/math/slots.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index most_tiles = 64;                // of a task
constexpr Index weight_bytes = Index{4} << 20;  // of transformed weights at a time

Index divide_up(Index a, Index b) { return (a + b - 1) / b; }

// Rows of tiles, those of all images one after another, in blocks.
struct Tiling {
  Tiling(Index batch, const Extents& out)
      : tile(2),
        components((tile + 2) * (tile + 2)),
        down(divide_up(out[1], tile)),
        across(divide_up(out[2], tile)),
        rows(batch * down) {
    const Index tiles = std::clamp<Index>(rows * across / 4, 16, most_tiles);
    block = even_piece(rows, std::max<Index>(1, tiles / across));
    blocks = divide_up(rows, block);
  }

  // body(image, rows of tiles of that image, tiles before them in the block)
  template <class Body>
  void for_runs(Index which, Body&& body) const {
    const Index end = std::min(rows, (which + 1) * block);
    Index before = 0;
    for (Index row = which * block; row < end;) {
      TileRows run{};
      run.tile = tile;
      run.first = row % down;
      run.rows = std::min(end - row, down - run.first);
      run.across = across;
      body(row / down, run, before);
      before += run.rows * across;
      row += run.rows;
    }
  }
  Index tiles_in(Index which) const {
    return (std::min(rows, (which + 1) * block) - which * block) * across;
  }
  TileRows largest_run() const {
    TileRows run{};
    run.tile = tile;
    run.rows = std::min(block, down);
    run.across = across;
    return run;
  }

  Index tile, components;
  Index down, across;
  Index rows;   // of tiles, of all images
  Index block;  // rows of a task
  Index blocks;
};

template <class T>
std::size_t bytes_of(Index elements) {
  return align_up(static_cast<std::size_t>(elements) * sizeof(T));
}

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

void set_planes(TileRows& run, const Extents& plane, Index channels, Index ld, Index component) {
  run.height = plane[1];
  run.width = plane[2];
  run.channels = channels;
  run.ld = ld;
  run.component = component;
}

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
bool takes_winograd(const ConvShape& s, Pass pass, const Kernels& kernels) {
  if (sizeof(T) != sizeof(float) || !kernel_set<T>(kernels).winograd) return false;
  const bool square = s.kernel == Extents{1, 3, 3} && s.dilation == Extents{1, 1, 1};
  if (!square || !is_simple(s) || std::min(s.in_channels, s.out_channels) < 16) return false;
  // Few positions do not pay for transforming the weights.
  return s.batch * volume(s.out) >= (pass == Pass::weight_gradient ? 64 : 192);
}

template <class T>
std::size_t winograd_workspace(const ConvShape& s, Pass pass, int threads, const Kernels& kernels) {
  const Plan<T> p(s, pass, kernels);
  return p.weights + Slots::bytes(p.slot, threads);
}

template <class T>
void winograd(ThreadPool& pool, const ConvShape& s, Pass pass, const T* from, const T* w,
              const T* bias, bool relu, T* to, Workspace workspace, const Kernels& kernels) {
  const Plan<T> p(s, pass, kernels);
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
    Slots(rest, p.slot)
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
                                   relu, to + (image * p.d.outer + channel) * volume(p.d.out),
                                   more);
            });
          }
        });
  }
}

template <class T>
std::size_t winograd_weight_gradient_workspace(const ConvShape& s, int threads,
                                               const Kernels& kernels) {
  return Slots::bytes(WeightPlan<T>(s, kernels).slot, threads);
}

template <class T>
void winograd_weight_gradient(ThreadPool& pool, const ConvShape& s, const T* x, const T* dy, T* dw,
                              Workspace workspace, const Kernels& kernels) {
  const WeightPlan<T> p(s, kernels);
  Slots(workspace, p.slot)
      .for_chunks(pool, p.inners * p.outers, 1, [&](std::byte* scratch, Index first, Index last) {
        for (Index block = first; block < last; ++block) {
          run_weight_block(p, s, block, x, dy, dw, scratch, kernels);
        }
      });
}

#define ONDINE_INSTANTIATE(T)                                                                      \
  template bool takes_winograd<T>(const ConvShape&, Pass, const Kernels&);                         \
  template std::size_t winograd_workspace<T>(const ConvShape&, Pass, int, const Kernels&);         \
  template void winograd<T>(ThreadPool&, const ConvShape&, Pass, const T*, const T*, const T*,     \
                            bool, T*, Workspace, const Kernels&);                                  \
  template std::size_t winograd_weight_gradient_workspace<T>(const ConvShape&, int,                \
                                                             const Kernels&);                      \
  template void winograd_weight_gradient<T>(ThreadPool&, const ConvShape&, const T*, const T*, T*, \
                                            Workspace, const Kernels&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math

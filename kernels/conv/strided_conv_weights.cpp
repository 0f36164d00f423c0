// The gradient by the weights of a strided window: rows are taps, which read copies of x in place,
// and dy is turned so that its channels are lanes.
#include "kernels/common/scratch_pool.h"
#include "kernels/conv/strided_conv.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index most_rows = 288;       // channels x taps of a block
constexpr Index most_positions = 256;  // of a band
constexpr Index tasks_wanted = 4;

// dw by blocks of input x output channels. Where these are few, each shard of the bands of all
// images has sums of its own.
template <class T>
struct Plan {
  Plan(const ConvShape& s, const Kernels& kernels)
      : down(s, 1, false),
        across(s, 2, false),
        taps(volume(s.kernel)),
        panel(kernel_set<T>(kernels).window->panel),
        pitch(across.span(s.out[2])) {
    channels = even_piece(s.in_channels, std::max<Index>(1, most_rows / taps));
    panels = std::min(kernel_set<T>(kernels).window->tap_panels, divide_up(s.out_channels, panel));
    outers = divide_up(s.out_channels, panels * panel);
    while (outers * divide_up(s.in_channels, channels) < tasks_wanted && channels * taps > 96 &&
           channels > 1) {
      channels = divide_up(channels, 2);
    }
    inners = divide_up(s.in_channels, channels);
    band = even_piece(s.out[1], std::max<Index>(1, most_positions / s.out[2]));
    bands = divide_up(s.out[1], band);
    const Index units = s.batch * bands;
    const Index blocks = inners * outers;
    shard = divide_up(units, blocks < tasks_wanted ? std::min(units, tasks_wanted) : 1);
    shards = divide_up(units, shard);
    copy = bytes_of<T>(channels * down.span(band) * pitch);
    dy_panel = (band * s.out[2] + 1) * panel;
    slopes = bytes_of<T>(panels * dy_panel);
    sums_panel = channels * taps * panel;
    sums = bytes_of<T>(panels * sums_panel);
    shared = shards > 1 ? sums * static_cast<std::size_t>(shards * blocks) : 0;
    slot = copy + slopes + (shards > 1 ? 0 : sums);
  }

  WindowAxis down, across;
  Index taps, panel;
  Index pitch;
  Index channels, panels;                        // of a block
  Index inners, outers;                          // blocks
  Index band, bands;                             // rows of positions
  Index shard, shards;                           // bands of one, and how many
  Index dy_panel, sums_panel;                    // elements
  std::size_t copy, slopes, sums, shared, slot;  // bytes
};

template <class T>
void run_shard(const Plan<T>& p, const ConvShape& s, Index block, Index shard, const T* x,
               const T* dy, T* sums, std::byte* scratch, const Kernels& kernels) {
  const auto& set = kernel_set<T>(kernels);
  T* const copy = reinterpret_cast<T*>(scratch);
  T* const slopes = reinterpret_cast<T*>(scratch + p.copy);
  const Index inner = block / p.outers * p.channels;
  const Index outer = block % p.outers * p.panels * p.panel;
  const Index channels = std::min(p.channels, s.in_channels - inner);
  WindowRows r{0, s.out[2], p.across.step, p.down.step * p.pitch, 0, 0};
  r.lanes = std::min(p.panels * p.panel, s.out_channels - outer);
  const Index end = std::min(s.batch * p.bands, (shard + 1) * p.shard);
  for (Index unit = shard * p.shard; unit < end; ++unit) {
    const Index image = unit / p.bands;
    const Index row = unit % p.bands * p.band;
    r.rows = std::min(p.band, s.out[1] - row);
    const WindowCopy c{s.in[1],       s.in[2], row * p.down.step + p.down.low, p.down.span(r.rows),
                       -p.across.low, p.pitch};
    set.window->copy(c, channels, x + (image * s.in_channels + inner) * volume(s.in), copy);
    GemmCall<T> turned{};
    turned.k = r.rows * s.out[2];
    turned.b_row = 1;
    turned.b_col = volume(s.out);
    for (Index i = 0; i < p.panels; ++i) {
      const Index first = outer + i * p.panel;
      turned.n = std::clamp<Index>(s.out_channels - first, 0, p.panel);
      turned.b = dy + (image * s.out_channels + first) * turned.b_col + row * s.out[2];
      if (turned.n > 0) set.gemm->pack_b(turned, slopes + i * p.dy_panel);
    }
    // As many taps at a time as have their offsets here.
    constexpr Index most = 240;
    Index offsets[most];
    for (Index from = 0; from < channels * p.taps; from += most) {
      r.depth = std::min(most, channels * p.taps - from);
      for (Index i = 0; i < r.depth; ++i) {
        const Index k = (from + i) % p.taps;
        offsets[i] = ((from + i) / p.taps * c.rows + p.down.offset(0, k / s.kernel[2])) * p.pitch +
                     p.across.offset(0, k % s.kernel[2]);
      }
      set.window->taps(r, copy, offsets, slopes, p.dy_panel, unit == shard * p.shard,
                       sums + from * p.panel, p.sums_panel);
    }
  }
}

template <class T>
void finish_block(const Plan<T>& p, const ConvShape& s, Index block, const T* sums, T* dw,
                  const Kernels& kernels) {
  const Index inner = block / p.outers * p.channels;
  const Index channels = std::min(p.channels, s.in_channels - inner);
  const Index row = s.in_channels * p.taps;
  for (Index i = 0; i < p.panels; ++i) {
    const Index outer = (block % p.outers * p.panels + i) * p.panel;
    if (outer >= s.out_channels) break;
    kernel_set<T>(kernels).window->finish(sums + i * p.sums_panel, channels * p.taps,
                                          std::min(p.panel, s.out_channels - outer), nullptr,
                                          Activation::none, dw + outer * row + inner * p.taps, row);
  }
}

}  // namespace

template <class T>
std::size_t window_weight_gradient_workspace(const ConvShape& s, int threads,
                                             const Kernels& kernels) {
  const Plan<T> p(s, kernels);
  return p.shared + ScratchPool::bytes(p.slot, threads);
}

template <class T>
void window_weight_gradient(ThreadPool& pool, const ConvShape& s, const T* x, const T* dy, T* dw,
                            Workspace workspace, const Kernels& kernels) {
  const Plan<T> p(s, kernels);
  std::byte* const all = static_cast<std::byte*>(workspace.data);
  const Index blocks = p.inners * p.outers;
  ScratchPool slots({all + p.shared, workspace.bytes - p.shared}, p.slot);
  if (p.shards == 1) {
    return slots.for_chunks(pool, blocks, 1, [&](std::byte* scratch, Index first, Index last) {
      T* const sums = reinterpret_cast<T*>(scratch + p.copy + p.slopes);
      for (Index block = first; block < last; ++block) {
        run_shard(p, s, block, 0, x, dy, sums, scratch, kernels);
        finish_block(p, s, block, sums, dw, kernels);
      }
    });
  }
  const auto sums_of = [&](Index block, Index shard) {
    return reinterpret_cast<T*>(all + static_cast<std::size_t>(block * p.shards + shard) * p.sums);
  };
  slots.for_chunks(pool, blocks * p.shards, 1, [&](std::byte* scratch, Index first, Index last) {
    for (Index task = first; task < last; ++task) {
      const Index block = task / p.shards;
      const Index shard = task % p.shards;
      run_shard(p, s, block, shard, x, dy, sums_of(block, shard), scratch, kernels);
    }
  });
  const Index elements = p.panels * p.sums_panel;
  pool.for_chunks(blocks, 1, [&](Index first, Index last) {
    for (Index block = first; block < last; ++block) {
      T* const sums = sums_of(block, 0);
      for (Index shard = 1; shard < p.shards; ++shard) {
        kernel_set<T>(kernels).vector->add.vv(sums, sums, sums_of(block, shard), elements);
      }
      finish_block(p, s, block, sums, dw, kernels);
    }
  });
}

#define ONDINE_INSTANTIATE(T)                                                                      \
  template std::size_t window_weight_gradient_workspace<T>(const ConvShape&, int, const Kernels&); \
  template void window_weight_gradient<T>(ThreadPool&, const ConvShape&, const T*, const T*, T*,   \
                                          Workspace, const Kernels&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math

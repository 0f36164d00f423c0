#include "kernels/conv/strided_conv.h"

#include <limits>

#include "kernels/common/scratch_pool.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index most_taps = 64;              // of a window
constexpr Index most_panel = 32;             // outer channels
constexpr Index most_copy = Index{1} << 16;  // elements, where a row of positions needs no more
constexpr Index most_positions = 512;        // of a band
constexpr Index piece = 192;                 // of channels x taps at a time: weights stay in cache
constexpr Index weight_bytes = Index{4} << 20;
constexpr Index tasks_wanted = 8;
constexpr Index few_positions = 64;
constexpr Index few_rows = 64;
constexpr Index most_backward = 64;

// Bands of rows of positions of an image, and panels of outer channels.
template <class T>
struct Plan {
  Plan(const ConvShape& s, Pass pass, const Kernels& kernels)
      : d(s, pass),
        down(s, 1, d.backward),
        across(s, 2, d.backward),
        taps(volume(s.kernel)),
        panel(kernel_set<T>(kernels).window->panel),
        panels(divide_up(d.outer, panel)),
        panel_weights((d.inner * taps + 1) * panel),
        width(across.positions(0)),
        pitch(across.span(width)) {
    const Index rows = down.positions(0);
    Index most = std::max<Index>(1, most_positions / width);
    while (most > 1 && copy_elements(most) > most_copy) --most;
    band = even_piece(rows, most);
    bands = divide_up(rows, band);
    chunk =
        even_piece(panels, std::max<Index>(1, weight_bytes / (panel_weights * Index{sizeof(T)})));
    const Index rest = std::max<Index>(1, tasks_wanted / std::max<Index>(1, s.batch * bands));
    group = even_piece(chunk, std::max<Index>(1, chunk / rest));
    weights = bytes_of<T>(chunk * panel_weights);
    copy = bytes_of<T>(copy_elements(band));
    phase_sums = band * width * panel;
    slot = copy + bytes_of<T>(phase_sums * across.phases);
  }
  Index copy_elements(Index rows) const { return d.inner * down.span(rows) * pitch; }

  Direction d;
  WindowAxis down, across;
  Index taps;
  Index panel, panels;
  Index panel_weights;  // elements, with room for what packing writes behind them
  Index width, pitch;
  Index band, bands;
  Index chunk;  // panels whose weights are packed at once
  Index group;  // panels of a task
  Index phase_sums;
  std::size_t weights, copy;  // bytes
  std::size_t slot;
};

// Weights of a panel: for each phase those of its taps, (inner channel, tap) x panel.
template <class T>
void pack_weights(const Plan<T>& p, const ConvShape& s, Index which, const T* w, T* to,
                  const Kernels& kernels) {
  const auto pack = kernel_set<T>(kernels).gemm->pack_b;
  const Index first = which * p.panel;
  GemmCall<T> call{};
  call.n = std::min(p.panel, p.d.outer - first);
  call.b_row = 1;
  if (!p.d.backward) {
    call.k = call.b_col = p.d.inner * p.taps;
    call.b = w + first * call.b_col;
    return pack(call, to);
  }
  call.k = call.b_col = p.taps;
  // A tap meets one phase; there is its first row and how far it is to that of the next channel.
  Index at[most_taps];
  Index step[most_taps];
  Index phase = 0;
  for (Index a = 0; a < p.down.phases; ++a) {
    for (Index b = 0; b < p.across.phases; ++b) {
      const Index count = p.down.meeting(a) * p.across.meeting(b);
      Index row = 0;
      for (Index k = 0; k < p.taps; ++k) {
        if (p.down.offset(a, k / s.kernel[2]) < 0 || p.across.offset(b, k % s.kernel[2]) < 0) {
          continue;
        }
        at[k] = phase + row++ * p.panel;
        step[k] = count * p.panel;
      }
      phase += p.d.inner * count * p.panel;
    }
  }
  alignas(64) T all[(most_taps + 1) * most_panel];
  for (Index inner = 0; inner < p.d.inner; ++inner) {
    call.b = w + (inner * p.d.outer + first) * p.taps;
    pack(call, all);
    for (Index k = 0; k < p.taps; ++k) {
      std::copy_n(all + k * p.panel, p.panel, to + at[k] + inner * step[k]);
    }
  }
}

// One panel of one phase over a band. Returns the number of its weights.
template <class T>
Index phase_products(const Plan<T>& p, const ConvShape& s, Index a, Index b, Index rows,
                     Index lanes, const T* copy, Index plane, const T* weights, T* sums,
                     const StridedConvKernels<T>& set) {
  const Index taps = p.down.meeting(a) * p.across.meeting(b);
  WindowRows r{rows, p.across.positions(b), p.across.step, p.down.step * p.pitch, 0, lanes};
  if (taps == 0) {
    std::fill(sums, sums + rows * r.width * p.panel, T{0});
    return 0;
  }
  if (r.width == 0) return p.d.inner * taps * p.panel;
  const Index channels = std::max<Index>(1, piece / taps);
  Index offsets[std::max(piece, most_taps)];
  Index depth = 0;
  for (Index c = 0; c < std::min(channels, p.d.inner); ++c) {
    for (Index k = 0; k < p.taps; ++k) {
      const Index h = p.down.offset(a, k / s.kernel[2]);
      const Index w = p.across.offset(b, k % s.kernel[2]);
      if (h >= 0 && w >= 0) offsets[depth++] = c * plane + h * p.pitch + w;
    }
  }
  for (Index c = 0; c < p.d.inner; c += channels) {
    r.depth = std::min(channels, p.d.inner - c) * taps;
    set.positions(r, copy + c * plane, offsets, weights + c * taps * p.panel, c == 0, sums);
  }
  return p.d.inner * taps * p.panel;
}

// Panels [first, last) of a band.
template <class T>
void run_band(const Plan<T>& p, const ConvShape& s, Index band, Index first, Index last,
              const T* from, const T* weights, const T* bias, Activation activation, T* to,
              std::byte* scratch, const StridedConvKernels<T>& set) {
  T* const copy = reinterpret_cast<T*>(scratch);
  T* const sums = reinterpret_cast<T*>(scratch + p.copy);
  const Index start = band * p.band;
  const Index most = std::min(p.band, p.down.positions(0) - start);
  const WindowCopy c{p.d.in[1],         p.d.in[2],     start * p.down.step + p.down.low,
                     p.down.span(most), -p.across.low, p.pitch};
  set.copy(c, p.d.inner, from, copy);
  for (Index which = first; which < last; ++which) {
    const T* w = weights + (which - first) * p.panel_weights;
    const Index channel = which * p.panel;
    const Index lanes = std::min(p.panel, p.d.outer - channel);
    const T* const add = bias ? bias + channel : nullptr;
    T* const plane = to + channel * volume(p.d.out);
    for (Index a = 0; a < p.down.phases; ++a) {
      const Index rows = std::min(most, p.down.positions(a) - start);
      for (Index b = 0; b < p.across.phases; ++b) {
        w += phase_products(p, s, a, b, std::max<Index>(0, rows), lanes, copy, c.rows * c.pitch, w,
                            sums + b * p.phase_sums, set);
      }
      if (p.down.phases == 1 && p.across.phases == 1) {
        set.finish(sums, rows * p.width, lanes, add, activation, plane + start * p.width,
                   volume(p.d.out));
        continue;
      }
      for (Index row = 0; row < rows; ++row) {
        T* const y = plane + ((start + row) * p.down.phases + a) * p.d.out[2];
        const T* const even = sums + row * p.width * p.panel;
        if (p.across.phases == 1) {
          set.finish(even, p.width, lanes, add, activation, y, volume(p.d.out));
        } else {
          set.finish_pairs(even, sums + p.phase_sums + row * p.across.positions(1) * p.panel,
                           p.d.out[2], lanes, add, y, volume(p.d.out));
        }
      }
    }
  }
}

}  // namespace

WindowAxis::WindowAxis(const ConvShape& s, std::size_t dim, bool backwards)
    : backward(backwards),
      stride(s.stride[dim]),
      dilation(s.dilation[dim]),
      pad(s.pad[dim]),
      kernel(s.kernel[dim]),
      extent(backwards ? s.in[dim] : s.out[dim]),
      phases(backwards ? stride : 1),
      step(backwards ? 1 : stride),
      low(-pad),
      reach((kernel - 1) * dilation) {
  if (!backward) return;
  low = 0;
  Index least = std::numeric_limits<Index>::max();
  Index most = std::numeric_limits<Index>::min();
  for (Index phase = 0; phase < phases; ++phase) {
    for (Index k = 0; k < kernel; ++k) {
      const Index at = phase + pad - k * dilation;
      if (at % stride != 0) continue;
      least = std::min(least, at / stride);
      most = std::max(most, at / stride);
    }
  }
  low = least;
  reach = most - least;
}

Index WindowAxis::offset(Index phase, Index k) const {
  if (!backward) return k * dilation;
  const Index at = phase + pad - k * dilation;
  return at % stride == 0 ? at / stride - low : -1;
}

Index WindowAxis::meeting(Index phase) const {
  Index count = 0;
  for (Index k = 0; k < kernel; ++k) count += offset(phase, k) >= 0;
  return count;
}

template <class T>
bool takes_window(const ConvShape& s, Pass pass, const Kernels& kernels) {
  const auto& set = kernel_set<T>(kernels);
  if (!set.window || set.window->panel != set.gemm->nr || set.window->panel > most_panel) {
    return false;
  }
  const Direction d(s, pass);
  const bool flat = s.in[0] == 1 && s.out[0] == 1 && s.kernel[0] == 1 && s.pad[0] == 0;
  const Index taps = s.kernel[1] * s.kernel[2];
  if (!flat || s.groups != 1 || is_empty(s) || s.in_channels == 0 || volume(s.in) == 0 ||
      s.kernel[1] > most_taps || s.kernel[2] > most_taps || taps < 2 || taps > most_taps) {
    return false;
  }
  const Index stride = std::max(s.stride[1], s.stride[2]);
  if (stride != 2) return false;
  // With few positions packing the weights counts, with few taps turning dy; the gradient by the
  // input pays where there are few channels to sum over.
  if (s.batch * volume(s.out) < few_positions) return false;
  if (pass == Pass::weight_gradient && s.in_channels * taps < few_rows) return false;
  if (d.backward && s.out_channels > most_backward) return false;
  const Index half = set.window->panel / 2;
  const Index outer = d.backward ? s.in_channels : s.out_channels;
  if (4 * outer < 3 * round_up(outer, half)) return false;
  constexpr Index most_elements = Index{1} << 18;
  constexpr Index far = Index{1} << 20;
  if (std::max({s.pad[1], s.pad[2], s.dilation[1], s.dilation[2]}) > far) return false;
  const WindowAxis across(s, 2, d.backward);
  const WindowAxis down(s, 1, d.backward);
  const Index row = across.span(across.positions(0));
  return row <= most_elements && down.reach < most_elements &&
         down.span(1) <= most_elements / row / std::max<Index>(1, d.inner);
}

template <class T>
std::size_t window_workspace(const ConvShape& s, Pass pass, int threads, const Kernels& kernels) {
  const Plan<T> p(s, pass, kernels);
  return p.weights + ScratchPool::bytes(p.slot, threads);
}

template <class T>
void window(ThreadPool& pool, const ConvShape& s, Pass pass, const T* from, const T* w,
            const T* bias, Activation activation, T* to, Workspace workspace,
            const Kernels& kernels) {
  const Plan<T> p(s, pass, kernels);
  const auto& set = *kernel_set<T>(kernels).window;
  T* const weights = static_cast<T*>(workspace.data);
  const Workspace rest{static_cast<std::byte*>(workspace.data) + p.weights,
                       workspace.bytes - p.weights};
  const Index in_image = p.d.inner * volume(p.d.in);
  const Index out_image = p.d.outer * volume(p.d.out);
  for (Index begin = 0; begin < p.panels; begin += p.chunk) {
    const Index count = std::min(p.chunk, p.panels - begin);
    const Index grain = std::max<Index>(1, (Index{1} << 14) / p.panel_weights);
    pool.for_chunks(count, grain, [&](Index first, Index last) {
      for (Index i = first; i < last; ++i) {
        pack_weights(p, s, begin + i, w, weights + i * p.panel_weights, kernels);
      }
    });
    const Index groups = divide_up(count, p.group);
    const Index work =
        std::max<Index>(1, p.band * p.width * p.across.phases * p.group * p.panel_weights);
    ScratchPool(rest, p.slot)
        .for_chunks(pool, s.batch * p.bands * groups, std::max<Index>(1, (Index{1} << 20) / work),
                    [&](std::byte* scratch, Index first, Index last) {
                      for (Index task = first; task < last; ++task) {
                        const Index image = task / (groups * p.bands);
                        const Index panel = task % groups * p.group;
                        const Index end = std::min(count, panel + p.group);
                        run_band(p, s, task / groups % p.bands, begin + panel, begin + end,
                                 from + image * in_image, weights + panel * p.panel_weights, bias,
                                 activation, to + image * out_image, scratch, set);
                      }
                    });
  }
}

#define ONDINE_INSTANTIATE(T)                                                                \
  template bool takes_window<T>(const ConvShape&, Pass, const Kernels&);                     \
  template std::size_t window_workspace<T>(const ConvShape&, Pass, int, const Kernels&);     \
  template void window<T>(ThreadPool&, const ConvShape&, Pass, const T*, const T*, const T*, \
                          Activation, T*, Workspace, const Kernels&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math

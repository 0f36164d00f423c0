// Strided convolution: a task copies a band of rows of an image with its padding and multiplies
// positions, which read the copy in place, by panels of packed weights.
#include "kernels/conv/algorithms/strided.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index max_copy = Index{1} << 16;  // elements, where a row of positions needs no more
constexpr Index max_positions = 512;        // of a band
constexpr Index chunk_depth = 192;          // channels x taps at a time: weights stay in cache
constexpr Index max_weight_bytes = Index{4} << 20;
constexpr Index wanted_tasks = 8;
constexpr Index min_positions = 64;       // fewer do not pay for packing the weights
constexpr Index min_plane = 32;           // im2col joins images of fewer positions
constexpr Index min_rows = 24;            // of dw: fewer do not pay for transposing dy
constexpr Index max_backward_inner = 64;  // channels that backward_data sums over

template <class T>
class StridedConv final : public ConvAlgorithm<T> {
 public:
  StridedConv(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm<T>(desc, kernels),
        table_(*this->set_.strided_conv),
        d_(desc),
        down_(desc.shape, 1, d_.backward),
        across_(desc.shape, 2, d_.backward),
        pack_(*tables_of<T>(without(kernels, ProductMode::bf16)).gemm),
        taps_(volume(desc.shape.kernel)),
        factors_(divide_up(d_.inner, table_.channels)),
        panel_(table_.panel),
        panels_(divide_up(d_.outer, panel_)),
        panel_weights_((d_.inner * taps_ + 1) * panel_),
        width_(across_.positions(0)),
        pitch_(across_.span(width_)) {
    const Index rows = down_.positions(0);
    Index max_rows = std::max<Index>(1, max_positions / width_);
    while (max_rows > 1 && copy_elements(max_rows) > max_copy) --max_rows;
    band_ = even_chunk(rows, max_rows);
    bands_ = divide_up(rows, band_);
    chunk_ = even_chunk(panels_,
                        std::max<Index>(1, max_weight_bytes / (panel_weights_ * Index{sizeof(T)})));
    const Index batch = desc.shape.batch;
    const Index splits = std::max<Index>(1, wanted_tasks / std::max<Index>(1, batch * bands_));
    group_ = even_chunk(chunk_, std::max<Index>(1, chunk_ / splits));
    grain_ = grain_of(band_ * width_ * across_.phases * group_ * panel_weights_, Index{1} << 20);
    this->shared_bytes_ = bytes_of<T>(chunk_ * panel_weights_);
    copy_bytes_ = bytes_of<T>(copy_elements(band_));
    phase_sums_ = band_ * width_ * panel_;
    this->slot_bytes_ = copy_bytes_ + bytes_of<T>(phase_sums_ * across_.phases);
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    T* const weights = this->shared_of(workspace);
    for (Index begin = 0; begin < panels_; begin += chunk_) {
      const Index count = std::min(chunk_, panels_ - begin);
      const Index grain = std::max<Index>(1, (Index{1} << 14) / panel_weights_);
      pool.for_chunks(count, grain, [&](Index first, Index last) {
        for (Index i = first; i < last; ++i) {
          pack_panel(args.w.plain(), begin + i, weights + i * panel_weights_);
        }
      });
      const Index groups = divide_up(count, group_);
      const Index tasks = this->shape_.batch * bands_ * groups;
      this->for_tasks(pool, workspace, tasks, grain_, [&](Index task, std::byte* slot) {
        const Index first = task % groups * group_;
        const Index last = std::min(count, first + group_);
        run_band(args, task / (groups * bands_), task / groups % bands_,
                 {begin + first, begin + last, weights + first * panel_weights_}, slot);
      });
    }
  }

 private:
  // Panels [first, last) of output channels and their packed weights.
  struct Panels {
    Index first, last;
    const T* weights;
  };

  Index copy_elements(Index rows) const { return factors_ * down_.span(rows) * pitch_; }

  // Weights of a panel: for each phase those of its taps, (inner channel, tap) x panel.
  void pack_panel(const T* w, Index which, T* to) const {
    const Index first = which * panel_;
    GemmCall<T> call{};
    call.n = std::min(panel_, d_.outer - first);
    call.b_row = 1;
    if (d_.backward) return pack_phases(call, w + first * taps_, to);
    call.k = call.b_col = d_.inner * taps_;
    call.b = w + first * call.b_col;
    pack_.pack_b(call, to);
    if (table_.pair_weights != nullptr) table_.pair_weights(d_.inner, taps_, to);
  }

  void pack_phases(GemmCall<T> call, const T* w, T* to) const {
    call.k = call.b_col = taps_;
    // A tap meets one phase: its first row there, and the rows from a channel to the next.
    Index offset[max_strided_taps];
    Index step[max_strided_taps];
    Index phase = 0;
    for (Index a = 0; a < down_.phases; ++a) {
      for (Index b = 0; b < across_.phases; ++b) {
        const Index count = down_.taps_of(a) * across_.taps_of(b);
        Index row = 0;
        for (Index k = 0; k < taps_; ++k) {
          if (tap_offset(a, b, k, 0) < 0) continue;
          offset[k] = phase + row++ * panel_;
          step[k] = count * panel_;
        }
        phase += d_.inner * count * panel_;
      }
    }
    alignas(64) T all[(max_strided_taps + 1) * max_strided_panel];
    for (Index inner = 0; inner < d_.inner; ++inner) {
      call.b = w + inner * d_.outer * taps_;
      pack_.pack_b(call, all);
      for (Index k = 0; k < taps_; ++k) {
        std::copy_n(all + k * panel_, panel_, to + offset[k] + inner * step[k]);
      }
    }
  }

  // Where tap k lies in the copy of a channel that starts at `start`, from a position of phase
  // (a, b) on; -1 where it does not meet the phase.
  Index tap_offset(Index a, Index b, Index k, Index start) const {
    const Index kernel_w = this->shape_.kernel[2];
    const Index h = down_.offset(a, k / kernel_w);
    const Index w = across_.offset(b, k % kernel_w);
    return h < 0 || w < 0 ? -1 : start + h * pitch_ + w;
  }

  // One panel of phase (a, b) over `rows` rows. Returns the number of its weights.
  Index multiply_phase(Index a, Index b, Index rows, Index lanes, const T* copy, Index plane,
                       const T* weights, T* sums) const {
    const Index taps = down_.taps_of(a) * across_.taps_of(b);
    StridedRows r{rows, across_.positions(b), across_.step, down_.step * pitch_, 0, lanes};
    if (taps == 0) {
      std::fill(sums, sums + rows * r.width * panel_, T{0});
      return 0;
    }
    if (r.width == 0) return factors_ * taps * panel_;
    const Index channels = std::max<Index>(1, chunk_depth / taps);
    Index offsets[std::max(chunk_depth, max_strided_taps)];
    Index depth = 0;
    for (Index c = 0; c < std::min(channels, factors_); ++c) {
      for (Index k = 0; k < taps_; ++k) {
        const Index offset = tap_offset(a, b, k, c * plane);
        if (offset >= 0) offsets[depth++] = offset;
      }
    }
    for (Index c = 0; c < factors_; c += channels) {
      r.depth = std::min(channels, factors_ - c) * taps;
      table_.positions(r, copy + c * plane, offsets, weights + c * taps * panel_, c == 0, sums);
    }
    return factors_ * taps * panel_;
  }

  void run_band(const ConvArgs<T>& args, Index image, Index band, const Panels& panels,
                std::byte* slot) const {
    T* const copy = reinterpret_cast<T*>(slot);
    T* const sums = reinterpret_cast<T*>(slot + copy_bytes_);
    const Index start = band * band_;
    const Index max_rows = std::min(band_, down_.positions(0) - start);
    const PlaneCopy c{d_.in[1],     d_.in[2], start * down_.step + down_.low, down_.span(max_rows),
                      -across_.low, pitch_};
    table_.copy(c, d_.inner, d_.source(args).plain() + image * d_.source_image(), copy);
    for (Index which = panels.first; which < panels.last; ++which) {
      const T* w = panels.weights + (which - panels.first) * panel_weights_;
      const Index channel = which * panel_;
      const Index lanes = std::min(panel_, d_.outer - channel);
      const T* const bias = args.bias ? args.bias + channel : nullptr;
      T* const result = args.result.plain() + image * d_.result_image() + channel * volume(d_.out);
      for (Index a = 0; a < down_.phases; ++a) {
        const Index rows = std::max<Index>(0, std::min(max_rows, down_.positions(a) - start));
        for (Index b = 0; b < across_.phases; ++b) {
          w += multiply_phase(a, b, rows, lanes, copy, c.rows * c.pitch, w, sums + b * phase_sums_);
        }
        store_rows(a, start, rows, lanes, sums, bias, result);
      }
    }
  }

  // The epilogue of `rows` rows of phase a, from `start` on.
  void store_rows(Index a, Index start, Index rows, Index lanes, const T* sums, const T* bias,
                  T* result) const {
    const Index plane = volume(d_.out);
    if (down_.phases == 1 && across_.phases == 1) {
      return table_.store_channels(sums, rows * width_, lanes, bias, this->activation_,
                                   result + start * width_, plane);
    }
    for (Index row = 0; row < rows; ++row) {
      T* const y = result + ((start + row) * down_.phases + a) * d_.out[2];
      const T* const even = sums + row * width_ * panel_;
      if (across_.phases == 1) {
        table_.store_channels(even, width_, lanes, bias, this->activation_, y, plane);
      } else {
        table_.store_interleaved(even, sums + phase_sums_ + row * across_.positions(1) * panel_,
                                 d_.out[2], lanes, bias, y, plane);
      }
    }
  }

  const StridedConvKernels<T>& table_;
  DirectedShape d_;
  StridedAxis down_, across_;
  const GemmKernels<T>& pack_;  // of weights as they are
  Index taps_;
  Index factors_;         // inner channels, or pairs of them
  Index panel_, panels_;  // outer channels of a panel, and how many
  Index panel_weights_;   // elements, including what packing writes after them
  Index width_, pitch_;
  Index band_, bands_;  // rows of positions
  Index chunk_;         // panels whose weights are packed at once
  Index group_;         // panels of a task
  Index grain_;
  Index phase_sums_;
  std::size_t copy_bytes_;
};

// Whether channels and positions are enough, for what the direction has to rearrange.
bool is_worth_it(const ConvDesc& desc, const DirectedShape& d, Index panel) {
  const ConvShape& s = desc.shape;
  if (s.batch * volume(s.out) < min_positions || volume(s.out) < min_plane) return false;
  if (desc.direction == ConvDirection::backward_weights &&
      s.in_channels * volume(s.kernel) < min_rows) {
    return false;
  }
  if (d.backward && s.out_channels > max_backward_inner) return false;
  return 4 * d.outer >= 3 * round_up(d.outer, panel / 2);
}

// Whether a row of the copy of all channels stays small.
bool fits_copies(const ConvShape& s, const DirectedShape& d) {
  constexpr Index max_elements = Index{1} << 18;
  constexpr Index max_distance = Index{1} << 20;
  if (std::max({s.pad[1], s.pad[2], s.dilation[1], s.dilation[2]}) > max_distance) return false;
  const StridedAxis across(s, 2, d.backward);
  const StridedAxis down(s, 1, d.backward);
  const Index row = across.span(across.positions(0));
  return row <= max_elements && down.reach < max_elements &&
         down.span(1) <= max_elements / row / std::max<Index>(1, d.inner);
}

}  // namespace

template <class T>
bool supports_strided(const ConvDesc& desc, const SimdTables& kernels) {
  const ConvShape& s = desc.shape;
  const auto& set = tables_of<T>(kernels);
  if (!set.strided_conv || set.strided_conv->panel != set.gemm->nr ||
      set.strided_conv->panel > max_strided_panel) {
    return false;
  }
  if (!is_planar(s) || s.groups != 1 || is_empty(s) || std::max(s.stride[1], s.stride[2]) != 2) {
    return false;
  }
  const Index taps = s.kernel[1] * s.kernel[2];
  if (s.kernel[1] > max_strided_taps || s.kernel[2] > max_strided_taps || taps < 2 ||
      taps > max_strided_taps) {
    return false;
  }
  const DirectedShape d(desc);
  return is_worth_it(desc, d, set.strided_conv->panel) && fits_copies(s, d);
}

template <class T>
MadeConv<T> make_strided(const ConvDesc& desc, const SimdTables& kernels) {
  if (desc.direction == ConvDirection::backward_weights) {
    return make_strided_weights<T>(desc, kernels);
  }
  return std::make_unique<StridedConv<T>>(desc, kernels);
}

ONDINE_INSTANTIATE_CONV(strided);

}  // namespace ondine::math

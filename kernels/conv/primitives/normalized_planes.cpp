// planes: see conv_grads.h.
#include "kernels/conv/algorithms/depthwise.h"
#include "kernels/conv/primitives/conv_grads.h"
#include "kernels/norm/normalized_rows.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

// Bytes of normalized planes, which are to stay in a first cache, or in a second one if channels
// are convolved together.
constexpr Index z_bytes = 24 * 1024, block_bytes = 256 * 1024;

template <class T>
class NormalizedPlanes final : public Implementation<ConvGradsArgs<T>> {
 public:
  NormalizedPlanes(const ConvGradsDesc& desc, const SimdTables& kernels)
      : desc_(desc),
        kernels_(kernels),
        data_(make_depthwise<T>({desc.shape, ConvDirection::backward_data}, kernels).conv),
        weights_(make_depthwise<T>({desc.shape, ConvDirection::backward_weights}, kernels).conv),
        in_(volume(desc.shape.in)),
        out_(volume(desc.shape.out)),
        taps_(volume(desc.shape.kernel)) {
    const ConvShape& s = desc.shape;
    const Index together = std::max(data_->block_channels(), weights_->block_channels());
    const Index bytes = Index{sizeof(T)} * in_;
    if (together == 1) {
      channels_ = std::clamp<Index>(z_bytes / (s.batch * bytes), 1, s.groups);
      images_ = std::clamp<Index>(z_bytes / (bytes * channels_), 1, s.batch);
    } else {
      channels_ = std::min(together, s.groups);
      images_ = std::clamp<Index>(block_bytes / (bytes * channels_), 1, s.batch);
    }
    const bool smooth = desc.norm.activation != Activation::bounds;
    slopes_ = images_ * channels_ * in_;
    z_bytes_ = bytes_of<T>(smooth ? 2 * slopes_ : slopes_);
    dw_bytes_ = bytes_of<T>(channels_ * taps_);
    sum_bytes_ = bytes_of<double>(channels_ * (taps_ + 2));
    slot_bytes_ =
        z_bytes_ + dw_bytes_ + sum_bytes_ + std::max(data_->slot_bytes(), weights_->slot_bytes());
  }

  std::size_t workspace() const override { return ScratchPool::bytes(slot_bytes_, desc_.threads); }

  void run(ThreadPool& pool, const ConvGradsArgs<T>& args) const override {
    const ConvShape& s = desc_.shape;
    const Index grain = grain_of(s.batch * channels_ * in_ * 2 * taps_, depthwise_work);
    ScratchPool(args.workspace, slot_bytes_)
        .for_chunks(pool, divide_up(s.groups, channels_), grain,
                    [&](std::byte* slot, Index first, Index last) {
                      for (Index block = first; block < last; ++block) {
                        const Index c = block * channels_;
                        const Block of{c, std::min(channels_, s.groups - c), slot};
                        visit_elements<T>(desc_.norm.x_stored,
                                          [&]<class X>() { run_block<X>(args, of); });
                      }
                    });
  }

 private:
  struct Block {
    Index first, channels;
    std::byte* slot;
  };

  // For each channel: sums of the taps, sum dv and sum dv (x - mean).
  double* sums_of(const Block& block) const {
    return reinterpret_cast<double*>(block.slot + z_bytes_ + dw_bytes_);
  }

  template <class X>
  void run_block(const ConvGradsArgs<T>& args, const Block& block) const {
    const Index batch = desc_.shape.batch;
    const NormalizedRows<T, X> rows(desc_.norm, kernels_);
    std::fill_n(sums_of(block), block.channels * (taps_ + 2), 0.0);
    for (Index n = 0; n < batch; n += images_) {
      run_images(rows, args, block, n, std::min(batch, n + images_));
    }
    for (Index c = 0; c < block.channels; ++c) finish(rows, args, block, c);
  }

  Index offset(Index n, Index c) const { return (n * desc_.shape.groups + c) * in_; }
  template <class X>
  NormRow<T> row_of(const NormalizedRows<T, X>& rows, const ConvGradsArgs<T>& args, Index c) const {
    return rows.row(args.mean[c], args.variance[c], args.scale[c], args.bias[c]);
  }
  // With the bounds of what counts.
  NormRow<T> counting(NormRow<T> row) const {
    if (desc_.norm.activation == Activation::bounds) row.low = static_cast<T>(desc_.low);
    return row;
  }

  // dw of images [begin, end), and dv in the place of dx, of which there are sums.
  template <class X>
  void run_images(const NormalizedRows<T, X>& rows, const ConvGradsArgs<T>& args,
                  const Block& block, Index begin, Index end) const {
    const Index groups = desc_.shape.groups;
    T* const z = reinterpret_cast<T*>(block.slot);
    T* const dw = reinterpret_cast<T*>(block.slot + z_bytes_);
    std::byte* const slot = block.slot + z_bytes_ + dw_bytes_ + sum_bytes_;
    const X* const x = elements_of<X>(args.x);
    double* const sums = sums_of(block);
    for (Index c = 0; c < block.channels; ++c) {
      const NormRow<T> row = row_of(rows, args, block.first + c);
      for (Index n = begin; n < end; ++n) {
        T* const to = z + ((n - begin) * block.channels + c) * in_;
        const X* const from = x + offset(n, block.first + c);
        // Streams of the hardware end with a plane.
        if (n + 1 < desc_.shape.batch) {
          const Index next = (n + 1) * groups + block.first + c;
          rows.ask_for(x + next * in_, in_ * Index{sizeof(X)});
          rows.ask_for(args.dy + next * out_, out_ * Index{sizeof(T)});
        }
        if (rows.has_bounds()) {
          rows.normalize(row, to, from, nullptr, nullptr, in_);
        } else {
          rows.normalize_smooth(row, to, to + slopes_, from, in_);
        }
      }
    }
    const T* const dy = args.dy + (begin * groups + block.first) * out_;
    weights_->run_block({end - begin, block.channels, block.channels * in_, groups * out_},
                        {.x = z, .dy = dy, .result = dw}, slot);
    for (Index c = 0; c < block.channels; ++c) {
      double* const of = sums + c * (taps_ + 2);
      for (Index k = 0; k < taps_; ++k) of[k] += static_cast<double>(dw[c * taps_ + k]);
    }
    data_->run_block({end - begin, block.channels, groups * in_, groups * out_},
                     {.w = args.w + block.first * taps_,
                      .dy = dy,
                      .result = args.dx + offset(begin, block.first)},
                     slot);
    for (Index c = 0; c < block.channels; ++c) {
      const NormRow<T> row = counting(row_of(rows, args, block.first + c));
      double* const of = sums + c * (taps_ + 2) + taps_;
      for (Index n = begin; n < end; ++n) {
        const Index at = offset(n, block.first + c);
        T* const dv = args.dx + at;
        if (rows.has_bounds()) {
          rows.add_sums(row, dv, dv, x + at, in_, of, of + 1);
        } else {
          const T* const slope = z + slopes_ + ((n - begin) * block.channels + c) * in_;
          rows.add_sums_by_slope(row, dv, slope, x + at, in_, of, of + 1);
        }
      }
    }
  }

  template <class X>
  void finish(const NormalizedRows<T, X>& rows, const ConvGradsArgs<T>& args, const Block& block,
              Index i) const {
    const Index c = block.first + i;
    const double* const sums = sums_of(block) + i * (taps_ + 2);
    for (Index k = 0; k < taps_; ++k) args.dw[c * taps_ + k] = static_cast<T>(sums[k]);
    const double total = sums[taps_], product = sums[taps_ + 1];
    const double inverse = rows.inverse_deviation(args.variance[c]);
    const double a = inverse * static_cast<double>(args.scale[c]);
    if (args.dscale) args.dscale[c] = static_cast<T>(product * inverse);
    if (args.dbias) args.dbias[c] = static_cast<T>(total);
    const auto count = static_cast<double>(desc_.shape.batch * in_);
    const auto by_x = static_cast<T>(-a * product * inverse * inverse / count);
    const auto shift = static_cast<T>(-a * total / count);
    const X* const x = elements_of<X>(args.x);
    const NormRow<T> row = counting(row_of(rows, args, c));
    for (Index n = desc_.shape.batch - 1; n >= 0; --n) {
      T* const dx = args.dx + offset(n, c);
      rows.write_gradient(row, dx, dx, true, x + offset(n, c), by_x, shift, in_);
    }
  }

  ConvGradsDesc desc_;
  const SimdTables& kernels_;
  std::unique_ptr<const DepthwiseConv<T>> data_, weights_;
  Index in_, out_, taps_;            // elements of a plane, of a window
  Index channels_ = 1, images_ = 1;  // of a block; at once
  Index slopes_;                     // where they lie after z, of smooth activations
  std::size_t z_bytes_, dw_bytes_, sum_bytes_, slot_bytes_;
};

bool supports(const ConvGradsDesc& desc, const SimdTables&) {
  return desc.normalized && desc.all && is_depthwise(desc.shape) && is_planar(desc.shape);
}

}  // namespace

template <class T>
ConvGradsEntry<T> planes_grads() {
  return {"planes", &supports,
          &make_implementation<NormalizedPlanes<T>, ConvGradsDesc, ConvGradsArgs<T>>};
}
template ConvGradsEntry<float> planes_grads();
template ConvGradsEntry<double> planes_grads();

}  // namespace ondine::math

// depthwise: see normalized_conv.h.
#include "kernels/conv/algorithms/depthwise.h"
#include "kernels/conv/primitives/normalized_conv.h"
#include "kernels/norm/normalized_rows.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index block_bytes = 256 * 1024;  // of what is to stay in a second cache

template <class T>
class NormalizedDepthwise final : public Implementation<NormalizedConvArgs<T>> {
 public:
  NormalizedDepthwise(const NormalizedConvDesc& desc, const SimdTables& kernels)
      : desc_(desc),
        kernels_(&kernels),
        in_(volume(desc.shape.in)),
        out_(volume(desc.shape.out)),
        taps_(volume(desc.shape.kernel)) {
    if (is_empty(desc.shape)) return;
    MadeDepthwise<T> made = make_depthwise<T>({.shape = desc.shape}, kernels);
    worker_ = made.name;
    conv_ = std::move(made.conv);
    const ConvShape& s = desc.shape;
    const Index bytes = in_ * Index{sizeof(T)};
    const Index together = conv_->block_channels();
    if (together == 1) {
      channels_ = std::clamp<Index>(block_bytes / (s.batch * bytes), 1, s.groups);
    } else {
      // Images share what is made ready for channels that are convolved together.
      channels_ = std::min(together, s.groups);
      images_ = std::clamp<Index>(block_bytes / (bytes * channels_), 1, s.batch);
    }
    z_bytes_ = bytes_of<T>(images_ * channels_ * in_);
    row_bytes_ = bytes_of<NormRow<T>>(channels_);
    slot_bytes_ = z_bytes_ + row_bytes_ + conv_->slot_bytes();
  }

  std::size_t workspace() const override {
    return slot_bytes_ == 0 ? 0 : ScratchPool::bytes(slot_bytes_, desc_.threads);
  }

  std::string_view worker() const override { return worker_; }

  void run(ThreadPool& pool, const NormalizedConvArgs<T>& args) const override {
    const ConvShape& s = desc_.shape;
    const Index grain = grain_of(s.batch * channels_ * out_ * taps_, depthwise_work);
    ScratchPool(args.workspace, slot_bytes_)
        .for_chunks(pool, divide_up(s.groups, channels_), grain,
                    [&](std::byte* slot, Index first, Index last) {
                      for (Index block = first; block < last; ++block) {
                        const Index c = block * channels_;
                        const Index channels = std::min(channels_, s.groups - c);
                        visit_elements<T>(desc_.norm.x_stored, [&]<class X>() {
                          run_block<X>(args, c, channels, slot);
                        });
                      }
                    });
  }

 private:
  template <class X>
  void run_block(const NormalizedConvArgs<T>& args, Index first, Index channels,
                 std::byte* slot) const {
    const ConvShape& s = desc_.shape;
    const NormalizedRows<T, X> rows(desc_.norm, *kernels_);
    const X* const x = elements_of<X>(args.x);
    T* const z = reinterpret_cast<T*>(slot);
    auto* const row = reinterpret_cast<NormRow<T>*>(slot + z_bytes_);  // of each channel
    for (Index i = 0; i < channels; ++i) {
      const Index c = first + i;
      T& mean = args.batch_mean[c];
      T& variance = args.batch_variance[c];
      rows.statistics(x + c * in_, s.batch, s.groups * in_, in_, &mean, &variance);
      if (conv_) row[i] = rows.row(mean, variance, args.scale[c], args.bias[c]);
    }
    // Images that were read last are still in a cache.
    for (Index end = conv_ ? s.batch : 0; end > 0; end -= images_) {
      const Index begin = std::max<Index>(0, end - images_);
      for (Index n = begin; n < end; ++n) {
        for (Index i = 0; i < channels; ++i) {
          const Index at = (n * s.groups + first + i) * in_;
          rows.normalize(row[i], z + ((n - begin) * channels + i) * in_, x + at, nullptr,
                         args.bf16_x ? args.bf16_x + at : nullptr, in_);
        }
      }
      conv_->run_block({end - begin, channels, channels * in_, s.groups * out_},
                       {.x = z,
                        .w = args.w + first * taps_,
                        .result = args.y + (begin * s.groups + first) * out_},
                       slot + z_bytes_ + row_bytes_);
    }
    if (args.y_mean == nullptr) return;
    const NormalizedRows<T, T> results(desc_.norm, *kernels_);
    for (Index c = first; c < first + channels; ++c) {
      results.statistics(args.y + c * out_, s.batch, s.groups * out_, out_, args.y_mean + c,
                         args.y_variance + c);
    }
  }

  NormalizedConvDesc desc_;
  const SimdTables* kernels_;
  std::unique_ptr<const DepthwiseConv<T>> conv_;  // none of no elements
  std::string_view worker_;
  Index in_, out_, taps_;            // elements of a plane, of a window
  Index channels_ = 1, images_ = 1;  // of a block; normalized at once
  std::size_t z_bytes_ = 0, row_bytes_ = 0, slot_bytes_ = 0;
};

bool supports(const NormalizedConvDesc& desc, const SimdTables&) {
  const ConvShape& s = desc.shape;
  return !desc.given && is_planar(s) && (is_depthwise(s) || is_empty(s));
}

}  // namespace

template <class T>
NormalizedConvEntry<T> normalized_depthwise_conv() {
  return {"depthwise", &supports,
          &make_implementation<NormalizedDepthwise<T>, NormalizedConvDesc, NormalizedConvArgs<T>>};
}
template NormalizedConvEntry<float> normalized_depthwise_conv();
template NormalizedConvEntry<double> normalized_depthwise_conv();

}  // namespace ondine::math

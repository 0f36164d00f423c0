// Convolutions of operands without elements: the result is the bias alone.
#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {
namespace {

template <class T>
class BiasOnlyConv final : public ConvAlgorithm<T> {
 public:
  BiasOnlyConv(const ConvDesc& desc, const SimdTables& kernels) : ConvAlgorithm<T>(desc, kernels) {
    const ConvShape& s = desc.shape;
    if (desc.direction == ConvDirection::backward_weights) {
      planes_ = channels_ = s.out_channels;
      spatial_ = s.in_channels / s.groups * volume(s.kernel);
      return;
    }
    const bool forward = desc.direction == ConvDirection::forward;
    channels_ = forward ? s.out_channels : s.in_channels;
    planes_ = s.batch * channels_;
    spatial_ = volume(forward ? s.out : s.in);
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace) const override {
    pool.for_chunks(planes_, 16, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        std::fill_n(args.result.plain() + i * spatial_, spatial_,
                    activated(args.bias ? args.bias[i % channels_] : T{0}));
      }
    });
  }

 private:
  T activated(T v) const {
    if (this->activation_ != Activation::none && v < 0) v = 0;
    return this->activation_ == Activation::relu6 && v > 6 ? T{6} : v;
  }

  std::int64_t planes_, channels_, spatial_;
};

}  // namespace

template <class T>
bool supports_bias_only(const ConvDesc& desc, const SimdTables&) {
  return is_empty(desc.shape);
}

template <class T>
MadeConv<T> make_bias_only(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<BiasOnlyConv<T>>(desc, kernels);
}

ONDINE_INSTANTIATE_CONV(bias_only);

}  // namespace ondine::math

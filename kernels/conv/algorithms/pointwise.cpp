// Windows of one element and stride 1: a product for each image, the weights being shared. The
// gradient by the weights sums products over the images, as im2col does.
#include "kernels/conv/algorithms/im2col.h"

namespace ondine::math {
namespace {

template <class T>
class PointwiseConv final : public ConvImplementation<T> {
 public:
  PointwiseConv(const ConvDesc& desc, const Kernels& kernels)
      : backward_(desc.direction == ConvDirection::backward_data),
        activation_(desc.activation),
        kernels_(kernels) {
    const ConvShape& s = desc.shape;
    const std::int64_t x_image = s.in_channels * volume(s.in);
    const std::int64_t y_image = s.out_channels * volume(s.out);
    product_ = {backward_ ? s.in_channels : s.out_channels,
                volume(s.out),
                backward_ ? s.out_channels : s.in_channels,
                backward_,
                false,
                0,
                0,
                0};
    images_.count = s.batch;
    images_.stride_b = backward_ ? y_image : x_image;
    images_.stride_c = backward_ ? x_image : y_image;
  }

  std::size_t workspace(int threads) const override {
    return gemm_workspace<T>(product_, images_.count, threads, kernels_);
  }
  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    GemmOptions<T> options;
    options.row_bias = args.bias;
    options.activation = activation_;
    gemm(pool, product_, images_, args.w, backward_ ? args.dy : args.x, args.result, options,
         workspace, kernels_);
  }

 private:
  bool backward_;
  Activation activation_;
  const Kernels& kernels_;
  GemmShape product_;
  GemmBatch images_;
};

}  // namespace

template <class T>
bool supports_pointwise(const ConvDesc& desc, const Kernels&) {
  const bool by_weights = desc.direction == ConvDirection::backward_weights;
  return is_pointwise(desc.shape) && !is_empty(desc.shape) &&
         (by_weights || desc.shape.groups == 1);
}

template <class T>
MadeConv<T> make_pointwise(const ConvDesc& desc, const Kernels& kernels) {
  if (desc.direction == ConvDirection::backward_weights) {
    return make_pointwise_weights<T>(desc, kernels);
  }
  return std::make_unique<PointwiseConv<T>>(desc, kernels);
}

ONDINE_INSTANTIATE_CONV(pointwise);

}  // namespace ondine::math

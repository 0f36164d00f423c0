// backward_weights of a pointwise convolution: dw = sum over images of dy x^T. Images of one
// position are the rows of matrices.
#include "kernels/conv/algorithms/joined_images.h"
#include "kernels/conv/algorithms/pointwise.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

template <class T>
class PointwiseWeights final : public ConvImplementation<T> {
 public:
  PointwiseWeights(const ConvDesc& desc, const SimdTables& kernels)
      : shape_(desc.shape),
        kernels_(kernels),
        plane_(volume(desc.shape.out)),
        joined_(desc.shape.batch, plane_) {
    if (joined_.images() == 1 || plane_ == 1) return;
    x_bytes_ = bytes_of<T>(shape_.in_channels * joined_.row());
    dy_bytes_ = bytes_of<T>(shape_.out_channels * joined_.row());
  }

  std::size_t workspace(int threads) const override {
    return x_bytes_ + dy_bytes_ +
           std::max(product_workspace(joined_.images(), threads),
                    product_workspace(joined_.last(), threads));
  }

  bool splits() const override {
    return GemmPrimitive<T>::splits(product(joined_.images()), kernels_);
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    auto* const memory = static_cast<std::byte*>(workspace.data);
    const Workspace rest{memory + x_bytes_ + dy_bytes_, workspace.bytes - x_bytes_ - dy_bytes_};
    for (Index image = 0; image < shape_.batch; image += joined_.images()) {
      const Index count = joined_.images_from(image);
      const T* x = args.x.plain() + image * shape_.in_channels * plane_;
      const T* dy = args.dy + image * shape_.out_channels * plane_;
      if (x_bytes_ > 0) {
        T* const x_rows = reinterpret_cast<T*>(memory);
        T* const dy_rows = reinterpret_cast<T*>(memory + x_bytes_);
        joined_.join(pool, x, shape_.in_channels, count, x_rows);
        joined_.join(pool, dy, shape_.out_channels, count, dy_rows);
        x = x_rows;
        dy = dy_rows;
      }
      GemmOptions<T> options;
      options.beta = image == 0 ? T{0} : T{1};
      gemm<T>(pool, product(count), groups(), dy, x, args.result.plain(), options, rest, kernels_);
    }
  }

 private:
  // Product of one group.
  GemmShape product(Index images) const {
    const bool rows = plane_ == 1;
    return {.m = shape_.out_channels / shape_.groups,
            .n = shape_.in_channels / shape_.groups,
            .k = images * plane_,
            .trans_a = rows,
            .trans_b = !rows,
            .lda = rows ? shape_.out_channels : joined_.row(),
            .ldb = rows ? shape_.in_channels : joined_.row()};
  }
  GemmBatch groups() const {
    const Index m = product(1).m, n = product(1).n;
    const Index row = plane_ == 1 ? 1 : joined_.row();  // of a channel
    return {shape_.groups, m * row, n * row, m * n};
  }
  std::size_t product_workspace(Index images, int threads) const {
    return gemm_workspace<T>(product(images), shape_.groups, threads, kernels_);
  }

  ConvShape shape_;
  const SimdTables& kernels_;
  Index plane_;
  JoinedImages joined_;
  std::size_t x_bytes_ = 0, dy_bytes_ = 0;
};

}  // namespace

template <class T>
MadeConv<T> make_pointwise_weights(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<PointwiseWeights<T>>(desc, kernels);
}

template MadeConv<float> make_pointwise_weights(const ConvDesc&, const SimdTables&);
template MadeConv<double> make_pointwise_weights(const ConvDesc&, const SimdTables&);

}  // namespace ondine::math

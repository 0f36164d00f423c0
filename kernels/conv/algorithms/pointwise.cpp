// Windows of one element and stride 1: a product for each image, or for images of few positions
// joined, the weights being shared. Positions that would leave most lanes of a last vector idle are
// dot products.
#include "kernels/conv/algorithms/pointwise.h"

#include "kernels/conv/algorithms/directed_shape.h"
#include "kernels/conv/algorithms/dot_columns.h"
#include "kernels/conv/algorithms/joined_images.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

template <class T>
class PointwiseConv final : public ConvImplementation<T> {
 public:
  PointwiseConv(const ConvDesc& desc, const SimdTables& kernels)
      : d_(desc),
        activation_(desc.activation),
        x_stored_(desc.x_stored),
        w_stored_(desc.w_stored),
        y_stored_(desc.y_stored),
        kernels_(kernels),
        batch_(desc.shape.batch),
        plane_(volume(desc.shape.out)),
        joined_(batch_, plane_) {
    if (plane_ == 1) return;
    for (const Index images : {joined_.images(), joined_.last()}) {
      if (const Index edge = edge_of(images * plane_); edge > 0) {
        edge_bytes_ = std::max(edge_bytes_, DotColumns(d_.outer, d_.inner, edge, kernels).bytes());
      }
    }
    if (joined_.images() == 1) return;
    source_bytes_ = bytes_of<T>(d_.inner * joined_.row());
    result_bytes_ = bytes_of<T>(d_.outer * joined_.row());
  }

  std::size_t workspace(int threads) const override {
    if (plane_ == 1) return gemm_workspace<T>(rows_product(), 1, threads, kernels_);
    std::size_t product_bytes = 0;
    for (const Index images : {joined_.images(), joined_.last()}) {
      product_bytes = std::max(product_bytes,
                               gemm_workspace<T>(product(images), products(), threads, kernels_));
    }
    return edge_bytes_ + source_bytes_ + result_bytes_ + product_bytes;
  }

  bool splits() const override {
    return GemmPrimitive<T>::splits(plane_ == 1 ? rows_product() : product(joined_.images()),
                                    kernels_);
  }

  ConvRounding rounding() const override {
    if (plane_ == 1 || d_.backward || source_bytes_ > 0) return {};
    const bool rounds = GemmPrimitive<T>::takes_bf16(product(1), kernels_);
    return {rounds, rounds, GemmPrimitive<T>::rounds_result(product(1), kernels_)};
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    GemmOptions<T> options;
    options.activation = activation_;
    (plane_ == 1 ? options.col_bias : options.row_bias) = args.bias;
    if (plane_ == 1) {
      return gemm<T>(pool, rows_product(), d_.source(args), args.w, args.result, options, workspace,
                     kernels_);
    }
    if (source_bytes_ > 0) return run_joined(pool, args, options, workspace);
    multiply(pool, 1, args.w, d_.source(args), args.result, options, workspace);
  }

 private:
  // Product of images of one position, which are the rows of matrices.
  GemmShape rows_product() const { return {batch_, d_.outer, d_.inner, false, !d_.backward}; }
  GemmShape product(Index images) const {
    const Index row = joined_.row();
    const Index columns = images * plane_;
    return {.m = d_.outer,
            .n = columns - edge_of(columns),
            .k = d_.inner,
            .trans_a = d_.backward,
            .ldb = row,
            .ldc = row,
            .a_stored = w_stored_,
            .b_stored = x_stored_,
            .c_stored = y_stored_};
  }
  // Number of products in one gemm() call.
  Index products() const { return joined_.images() == 1 ? batch_ : 1; }

  // How many of the last columns are dot products.
  Index edge_of(Index columns) const {
    if (sizeof(T) != sizeof(float) || d_.backward || rounds_factors<T>(kernels_)) return 0;
    const Index lanes = kernels_.few_positions->unit;
    const Index edge = columns % lanes;
    const bool pays = columns > lanes && edge <= lanes / 4 && DotColumns::pays(d_.inner, edge);
    return pays ? edge : 0;
  }

  // `images` joined ones, or every image by itself.
  void multiply(ThreadPool& pool, Index images, Elements<const T> w, Elements<const T> source,
                Elements<T> result, const GemmOptions<T>& options, Workspace workspace) const {
    const Workspace rest{static_cast<std::byte*>(workspace.data) + edge_bytes_,
                         workspace.bytes - edge_bytes_};
    const GemmBatch batch{products(), 0, d_.source_image(), d_.result_image()};
    gemm<T>(pool, product(images), batch, w, source, result, options, rest, kernels_);
    if constexpr (sizeof(T) == sizeof(float)) {
      const Index row = joined_.row();
      const Index edge = edge_of(images * plane_);
      if (edge == 0) return;
      const DotColumns dots(d_.outer, d_.inner, edge, kernels_);
      auto* const rows = static_cast<float*>(workspace.data);
      for (Index i = 0; i < batch.count; ++i) {
        const Index first = images * plane_ - edge;
        dots.transpose(source.plain() + i * batch.stride_b + first, row, rows);
        dots.multiply(pool, w.plain(), rows, options.row_bias, activation_,
                      result.plain() + i * batch.stride_c + first, row);
      }
    }
  }

  void run_joined(ThreadPool& pool, const ConvArgs<T>& args, const GemmOptions<T>& options,
                  Workspace workspace) const {
    auto* const memory = static_cast<std::byte*>(workspace.data);
    const std::size_t rows_bytes = source_bytes_ + result_bytes_;
    const Workspace rest{memory + rows_bytes, workspace.bytes - rows_bytes};
    T* const source = reinterpret_cast<T*>(memory);
    T* const result = reinterpret_cast<T*>(memory + source_bytes_);
    for (Index image = 0; image < batch_; image += joined_.images()) {
      const Index count = joined_.images_from(image);
      joined_.join(pool, d_.source(args).plain() + image * d_.source_image(), d_.inner, count,
                   source);
      multiply(pool, count, args.w, source, result, options, rest);
      joined_.part(pool, result, d_.outer, count, args.result.plain() + image * d_.result_image());
    }
  }

  DirectedShape d_;
  Activation activation_;
  Storage x_stored_, w_stored_, y_stored_;
  const SimdTables& kernels_;
  Index batch_, plane_;
  JoinedImages joined_;
  std::size_t source_bytes_ = 0, result_bytes_ = 0, edge_bytes_ = 0;
};

}  // namespace

template <class T>
bool supports_pointwise(const ConvDesc& desc, const SimdTables&) {
  const bool by_weights = desc.direction == ConvDirection::backward_weights;
  return is_pointwise(desc.shape) && !is_empty(desc.shape) &&
         (by_weights || desc.shape.groups == 1);
}

template <class T>
MadeConv<T> make_pointwise(const ConvDesc& desc, const SimdTables& kernels) {
  if (desc.direction == ConvDirection::backward_weights) {
    return make_pointwise_weights<T>(desc, kernels);
  }
  if (joins_rounded_images<T>(desc, kernels)) return make_joined_pointwise<T>(desc, kernels);
  return std::make_unique<PointwiseConv<T>>(desc, kernels);
}

ONDINE_INSTANTIATE_CONV(pointwise);

}  // namespace ondine::math

// A pointwise convolution and the depthwise convolution of its result, in float and double: the
// primitive of PointwiseDepthwiseConv. The result of the first is made in bands of rows, of some
// channels at a time, that stay in a second cache until the windows over them are convolved.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/parallel.h"
#include "kernels/common/workspace.h"
#include "kernels/conv/conv_desc.h"

namespace ondine::math {

template <class T>
class DepthwiseConv;

enum class InnerActivation : std::uint8_t {
  none,
  relu,
  relu6,       // min(max(z, 0), 6)
  hard_swish,  // z min(1, max(0, z / 6 + 1/2))
  swish        // z / (1 + e^(-alpha z))
};

struct PointwiseDepthwiseDesc {
  ConvShape shape;                                // of the depthwise convolution
  std::int64_t in_channels = 1;                   // of the pointwise one
  InnerActivation inner = InnerActivation::none;  // between the two
  double alpha = 1;                               // of swish
  Activation activation = Activation::none;       // of y
  // They hold bfloat16: the factors of the product where it rounds them anyway.
  bool x_rounded = false;
  bool pointwise_rounded = false;
  bool y_rounded = false;
};

template <class T>
struct PointwiseDepthwiseArgs {
  const T* x = nullptr;           // [batch, in_channels, height, width]
  const T* pointwise = nullptr;   // weights [channels, in_channels]
  const T* inner_bias = nullptr;  // of each channel; null: none
  const T* depthwise = nullptr;   // weights [channels, taps]
  const T* bias = nullptr;        // of each channel; null: none
  T* y = nullptr;                 // not x
};

// Operands that hold bfloat16 are given as if they were of T. Const and safe to run from several
// threads, each with a workspace of its own.
template <class T>
class PointwiseDepthwise {
 public:
  // A depthwise convolution over planes no window of which lies in the padding; or no results.
  static bool supports(const ConvShape& depthwise);

  // Error(unsupported) where it is not supported. Kernels of lower precision round the factors of
  // the product where it is large enough.
  PointwiseDepthwise(const PointwiseDepthwiseDesc& desc, int threads,
                     const Kernels& kernels = math::kernels());

  // Whether the product rounds its factors, which does not depend on whether they are rounded.
  bool rounds_factors() const noexcept;

  std::size_t workspace() const noexcept { return workspace_; }  // bytes
  void run(ThreadPool& pool, const PointwiseDepthwiseArgs<T>& args, Workspace workspace) const;
  std::string_view name() const noexcept { return name_; }  // of the depthwise convolution
  std::string_view isa() const noexcept { return isa_; }    // of the product

 private:
  // Rows [begin, end) of the planes between, and the results of the windows over them.
  struct Band {
    std::int64_t begin = 0, end = 0;
    std::int64_t kept = 0;  // of these rows the first, which the band before has
    std::int64_t first_result = 0, results = 0;
    std::shared_ptr<const DepthwiseConv<T>> conv;
  };

  // Of `results` rows of results.
  void make_bands(std::int64_t results, const Kernels& kernels);
  // The product of rows of a band, without pointers.
  GemmCall<T> product(std::int64_t channels, std::int64_t rows) const;
  void run_channels(const PointwiseDepthwiseArgs<T>& args, std::int64_t image, std::int64_t first,
                    std::int64_t channels, std::byte* slot) const;
  void make_rows(const GemmCall<T>& call, std::byte* scratch) const;
  void convolve_band(const Band& band, const T* z, const PointwiseDepthwiseArgs<T>& args,
                     std::int64_t image, std::int64_t channel, std::byte* slot) const;

  PointwiseDepthwiseDesc desc_;
  const Kernels* kernels_;  // of the product
  std::string_view name_ = "empty", isa_;
  std::int64_t in_, out_, taps_;  // elements of a plane between, of one of y, of a window
  std::int64_t channels_ = 1;     // of a band
  std::int64_t rows_ = 0;         // of the largest band
  std::vector<Band> bands_;       // of a plane; none where there are no results
  std::size_t band_bytes_ = 0, result_bytes_ = 0, product_bytes_ = 0, slot_bytes_ = 0,
              workspace_ = 0;
};

}  // namespace ondine::math

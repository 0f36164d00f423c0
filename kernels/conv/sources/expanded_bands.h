// The results of a pointwise convolution, some channels and rows of their planes at a time, and the
// depthwise convolution of such bands of rows, in float and double: what PointwiseDepthwise and
// InvertedBottleneck share.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/conv/conv_desc.h"

namespace ondine::math {

template <class T>
class DepthwiseConv;

struct PointwiseDepthwiseDesc {
  ConvShape shape;                           // of the depthwise convolution
  std::int64_t in_channels = 1;              // of the pointwise one
  Activation inner = Activation::none;       // between the two; no bounds
  double alpha = 1;                          // of swish
  Activation activation = Activation::none;  // of y
  // How they are stored: the factors in bfloat16 where the product rounds them anyway.
  Storage x_stored = Storage::plain;
  Storage pointwise_stored = Storage::plain;
  Storage y_stored = Storage::plain;
};

template <class T>
struct PointwiseDepthwiseArgs {
  Elements<const T> x = {};          // [batch, in_channels, height, width]
  Elements<const T> pointwise = {};  // weights [channels, in_channels]
  const T* inner_bias = nullptr;     // of each channel; null: none
  const T* depthwise = nullptr;      // weights [channels, taps]
  const T* bias = nullptr;           // of each channel; null: none
  Elements<T> y = {};                // not x
};

// Const and safe to use from several threads.
template <class T>
class ExpandedBands {
 public:
  // Rows [begin, end) of the planes between, and the results of the windows over them.
  struct Band {
    std::int64_t begin = 0, end = 0;
    std::int64_t kept = 0;  // of these rows the first, which the band before has
    std::int64_t first_result = 0, results = 0;
    std::shared_ptr<const DepthwiseConv<T>> conv;
  };

  // A depthwise convolution over planes no window of which lies in the padding; or no results.
  static bool supports(const ConvShape& depthwise);

  // Error(unsupported) where it is not supported. Kernels of lower precision round the factors of
  // the product where it is large enough.
  ExpandedBands(const PointwiseDepthwiseDesc& desc, const SimdTables& kernels);

  // Cuts planes into bands of `results` rows of results. None where there are no results. `split`:
  // the rows between have their even columns first.
  void cut(std::int64_t results, bool split = false);
  // Whether they may, and rows that do so of rows in order, of elements of 2 or 4 bytes.
  bool takes_split_rows() const;
  void split_rows(std::byte* to, const std::byte* from, std::int64_t rows,
                  std::int64_t element) const;
  // Rows of results for which the rows between of one channel take so many elements at most.
  std::int64_t results_of(std::int64_t elements) const;

  std::span<const Band> bands() const noexcept { return bands_; }
  std::int64_t plane() const noexcept { return rows_ * desc_.shape.in[2]; }  // elements of a band
  std::int64_t most_results() const noexcept { return results_; }            // rows of a band
  std::size_t conv_bytes() const noexcept { return conv_bytes_; }            // of its scratch
  std::string_view name() const noexcept { return name_; }                   // of the convolution
  const SimdTables& kernels() const noexcept { return *kernels_; }           // of the product
  // Scratch memory of the product of the largest bands of `images` images.
  std::size_t product_bytes(std::int64_t channels, std::int64_t images = 1) const;

  // The right factor of the product: rows [begin, end) of an image of x.
  GemmCall<T> rows_of(Elements<const T> x, std::int64_t image, std::int64_t begin,
                      std::int64_t end) const;
  // z = activation(the product + bias) of the channels [first, first + channels), each `plane`
  // elements from the next.
  void expand(GemmCall<T> rows, const PointwiseDepthwiseArgs<T>& args, std::int64_t first,
              std::int64_t channels, T* z, std::int64_t plane, std::byte* scratch) const;
  // The rows of results of one channel.
  void convolve(const Band& band, const T* z, const PointwiseDepthwiseArgs<T>& args,
                std::int64_t channel, T* results, std::byte* scratch) const;

 private:
  PointwiseDepthwiseDesc desc_;
  const SimdTables* kernels_;
  const SimdTables* full_;
  std::string_view name_ = "empty";
  std::vector<Band> bands_;
  std::int64_t rows_ = 0, results_ = 0;  // of the largest band
  std::size_t conv_bytes_ = 0;
};

}  // namespace ondine::math

#include "kernels/conv/sources/expanded_bands.h"

#include "kernels/conv/algorithms/depthwise.h"
#include "kernels/matmul/gemm_call.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

// Rows under a window.
Index rows_of_window(const ConvShape& s) { return s.reach(1) + 1; }

// Activation that the product applies to its results.
Activation epilogue_of(Activation inner) { return is_epilogue(inner) ? inner : Activation::none; }

// The pointwise convolution of an image.
ConvDesc pointwise_of(const PointwiseDepthwiseDesc& desc) {
  ConvDesc pointwise;
  pointwise.shape.in_channels = desc.in_channels;
  pointwise.shape.out_channels = desc.shape.groups;
  pointwise.shape.in = pointwise.shape.out = desc.shape.in;
  return pointwise;
}

}  // namespace

template <class T>
bool ExpandedBands<T>::supports(const ConvShape& s) {
  if (s.batch == 0 || s.out_channels == 0 || volume(s.out) == 0) return true;
  const bool reaches_rows =
      s.pad[1] < rows_of_window(s) && (s.out[1] - 1) * s.stride[1] - s.pad[1] < s.in[1];
  return is_planar(s) && is_depthwise(s) && reaches_rows;
}

template <class T>
ExpandedBands<T>::ExpandedBands(const PointwiseDepthwiseDesc& desc, const SimdTables& given)
    : desc_(desc),
      kernels_(supports_pointwise_bf16<T>(pointwise_of(desc), given)
                   ? &given
                   : &without(given, ProductMode::bf16)),
      full_(&without(given, ProductMode::bf16)) {
  if (!supports(desc.shape)) {
    fail(ErrorCode::unsupported,
         "a convolution of the results of a pointwise one needs planes with a channel of them and "
         "of y for each group, and windows that do not lie in the padding");
  }
}

template <class T>
Index ExpandedBands<T>::results_of(Index elements) const {
  const ConvShape& s = desc_.shape;
  const Index rows = elements / s.in[2];
  return std::clamp<Index>((rows - rows_of_window(s)) / s.stride[1] + 1, 1, s.out[1]);
}

template <class T>
bool ExpandedBands<T>::takes_split_rows() const {
  const ConvShape& s = desc_.shape;
  return s.stride[2] == 2 && full_->depthwise_strips->forward_split != nullptr &&
         supports_depthwise_strips<T>({.shape = s}, *full_);
}

template <class T>
void ExpandedBands<T>::split_rows(std::byte* to, const std::byte* from, Index rows,
                                  Index element) const {
  full_->depthwise_strips->split_rows(to, from, rows, desc_.shape.in[2], element);
}

template <class T>
void ExpandedBands<T>::cut(Index results, bool split) {
  const ConvShape& s = desc_.shape;
  if (is_empty(s)) return;
  for (Index first = 0; first < s.out[1]; first += results) {
    const Index count = std::min(results, s.out[1] - first);
    const Index top = first * s.stride[1] - s.pad[1];  // may lie in the padding, as the bottom may
    const Index bottom = top + (count - 1) * s.stride[1] + rows_of_window(s);
    Band band;
    band.begin = std::clamp<Index>(top, 0, s.in[1]);
    band.end = std::clamp<Index>(bottom, band.begin, s.in[1]);
    if (!bands_.empty()) band.kept = std::max<Index>(0, bands_.back().end - band.begin);
    band.first_result = first;
    band.results = count;
    ConvDesc conv{.shape = s, .activation = desc_.activation};
    conv.shape.in[1] = band.end - band.begin;
    conv.shape.out[1] = count;
    conv.shape.pad[1] = band.begin - top;
    conv.shape.batch = 1;
    conv.x_split = split;
    MadeDepthwise<T> made = make_depthwise_of_planes<T>(conv, *full_);
    name_ = made.name;
    band.conv = std::move(made.conv);
    rows_ = std::max(rows_, band.end - band.begin);
    results_ = std::max(results_, count);
    conv_bytes_ = std::max(conv_bytes_, band.conv->slot_bytes());
    bands_.push_back(std::move(band));
  }
}

template <class T>
GemmCall<T> ExpandedBands<T>::rows_of(Elements<const T> x, Index image, Index begin,
                                      Index end) const {
  const Index width = desc_.shape.in[2], plane = volume(desc_.shape.in);
  GemmCall<T> call{};
  call.n = (end - begin) * width;
  call.k = desc_.in_channels;
  call.b_row = plane;
  call.b_col = 1;
  call.b = x;
  if (x) call.b += image * desc_.in_channels * plane + begin * width;
  return call;
}

template <class T>
std::size_t ExpandedBands<T>::product_bytes(Index channels, Index images) const {
  GemmCall<T> call = rows_of(Elements<const T>(desc_.x_stored), 0, 0, rows_);
  call.m = channels;
  call.n *= images;
  call.a_row = call.k;
  call.a_col = 1;
  call.a = Elements<const T>(desc_.pointwise_stored);
  call.ldc = call.n;
  call.alpha = 1;
  return align_up(scratch_of(call, tables_of<T>(*kernels_)));
}

template <class T>
void ExpandedBands<T>::expand(GemmCall<T> call, const PointwiseDepthwiseArgs<T>& args, Index first,
                              Index channels, T* z, Index plane, std::byte* scratch) const {
  call.m = channels;
  call.a_row = call.k;
  call.a_col = 1;
  call.a = args.pointwise + first * call.k;
  pair_rows(call);
  call.c = z;
  call.ldc = plane;
  call.alpha = 1;
  call.activation = epilogue_of(desc_.inner);
  call.row_bias = args.inner_bias ? args.inner_bias + first : nullptr;
  const SimdTablesOf<T>& set = tables_of<T>(*kernels_);
  set.gemm->run(call, scratch);
  for (Index c = 0; c < channels; ++c, z += plane) {
    if (desc_.inner == Activation::swish) {
      set.vector->swish(z, z, static_cast<T>(desc_.alpha), call.n);
    } else if (desc_.inner == Activation::hard_swish) {
      set.vector->hard_swish(z, z, call.n);
    }
  }
}

template <class T>
void ExpandedBands<T>::convolve(const Band& band, const T* z, const PointwiseDepthwiseArgs<T>& args,
                                Index channel, T* results, std::byte* scratch) const {
  band.conv->run_block({1, 1, 0, 0},
                       {.x = z,
                        .w = args.depthwise + channel * volume(desc_.shape.kernel),
                        .bias = args.bias ? args.bias + channel : nullptr,
                        .result = results},
                       scratch);
}

template class ExpandedBands<float>;
template class ExpandedBands<double>;

}  // namespace ondine::math

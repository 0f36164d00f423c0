#include "kernels/conv/pointwise_depthwise.h"

#include "kernels/conv/algorithms/depthwise.h"
#include "kernels/simd/vector/convert_table.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index most_bytes = 256 * 1024;  // of a band, which is to stay in a second cache
constexpr Index most_channels = 24;       // more leave a band few rows

// Rows under a window.
Index rows_of_window(const ConvShape& s) { return s.reach(1) + 1; }

// What the product does to its results.
Activation epilogue_of(InnerActivation inner) {
  if (inner == InnerActivation::relu) return Activation::relu;
  return inner == InnerActivation::relu6 ? Activation::relu6 : Activation::none;
}

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
bool PointwiseDepthwise<T>::supports(const ConvShape& s) {
  if (s.batch == 0 || s.out_channels == 0 || volume(s.out) == 0) return true;
  const bool reaches_rows =
      s.pad[1] < rows_of_window(s) && (s.out[1] - 1) * s.stride[1] - s.pad[1] < s.in[1];
  return is_planar(s) && is_depthwise(s) && reaches_rows;
}

template <class T>
PointwiseDepthwise<T>::PointwiseDepthwise(const PointwiseDepthwiseDesc& desc, int threads,
                                          const Kernels& given)
    : desc_(desc),
      kernels_(supports_pointwise_bf16<T>(pointwise_of(desc), given) ? &given
                                                                     : &full_precision(given)),
      isa_(isa_name(*kernels_)),
      in_(volume(desc.shape.in)),
      out_(volume(desc.shape.out)),
      taps_(volume(desc.shape.kernel)) {
  const ConvShape& s = desc.shape;
  if (!supports(s)) {
    fail(ErrorCode::unsupported,
         "a convolution of the results of a pointwise one needs planes with a channel of them and "
         "of "
         "y for each group, and windows that do not lie in the padding");
  }
  if (is_empty(s)) return;
  channels_ = even_chunk(s.groups, most_channels);
  const Index most_rows = most_bytes / (channels_ * s.in[2] * Index{sizeof(T)});
  const Index results =
      std::clamp<Index>((most_rows - rows_of_window(s)) / s.stride[1] + 1, 1, s.out[1]);
  make_bands(even_chunk(s.out[1], results), full_precision(given));
  band_bytes_ = bytes_of<T>(channels_ * rows_ * s.in[2]);
  product_bytes_ = align_up(scratch_of(product(channels_, rows_), kernel_set<T>(*kernels_)));
  if (desc.y_rounded) {
    Index rows = 0;  // of results of a band
    for (const Band& band : bands_) rows = std::max(rows, band.results);
    result_bytes_ = bytes_of<T>(rows * s.out[2]);
  }
  std::size_t conv_bytes = 0;
  for (const Band& band : bands_) conv_bytes = std::max(conv_bytes, band.conv->slot_bytes());
  slot_bytes_ = band_bytes_ + result_bytes_ + product_bytes_ + conv_bytes;
  workspace_ = ScratchPool::bytes(slot_bytes_, threads);
}

template <class T>
bool PointwiseDepthwise<T>::rounds_factors() const noexcept {
  return !bands_.empty() && math::rounds_factors<T>(*kernels_);
}

template <class T>
void PointwiseDepthwise<T>::make_bands(Index results, const Kernels& kernels) {
  const ConvShape& s = desc_.shape;
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
    MadeDepthwise<T> made = make_depthwise_of_planes<T>(conv, kernels);
    name_ = made.name;
    band.conv = std::move(made.conv);
    rows_ = std::max(rows_, band.end - band.begin);
    bands_.push_back(std::move(band));
  }
}

template <class T>
GemmCall<T> PointwiseDepthwise<T>::product(Index channels, Index rows) const {
  const Index width = desc_.shape.in[2];
  GemmCall<T> call{};
  call.m = channels;
  call.n = rows * width;
  call.k = desc_.in_channels;
  call.a_row = call.k;
  call.a_col = 1;
  call.b_row = in_;
  call.b_col = 1;
  call.ldc = rows_ * width;
  call.alpha = 1;
  call.activation = epilogue_of(desc_.inner);
  call.a_rounded = desc_.pointwise_rounded;
  call.b_rounded = desc_.x_rounded;
  return call;
}

template <class T>
void PointwiseDepthwise<T>::run(ThreadPool& pool, const PointwiseDepthwiseArgs<T>& args,
                                Workspace workspace) const {
  if (bands_.empty()) return;
  const ConvShape& s = desc_.shape;
  const Index blocks = divide_up(s.groups, channels_);
  const Index work = channels_ * (in_ * desc_.in_channels + out_ * taps_);
  ScratchPool(workspace, slot_bytes_)
      .for_chunks(pool, s.batch * blocks, grain_of(work, depthwise_work),
                  [&](std::byte* slot, Index first, Index last) {
                    for (Index task = first; task < last; ++task) {
                      const Index c = task % blocks * channels_;
                      run_channels(args, task / blocks, c, std::min(channels_, s.groups - c), slot);
                    }
                  });
}

template <class T>
void PointwiseDepthwise<T>::make_rows(const GemmCall<T>& call, std::byte* scratch) const {
  const KernelSet<T>& set = kernel_set<T>(*kernels_);
  set.gemm->run(call, scratch);
  for (Index c = 0; c < call.m; ++c) {
    T* const z = call.c + c * call.ldc;
    if (desc_.inner == InnerActivation::swish) {
      set.vector->swish(z, z, static_cast<T>(desc_.alpha), call.n);
    } else if (desc_.inner == InnerActivation::hard_swish) {
      set.vector->hard_swish(z, z, call.n);
    }
  }
}

template <class T>
void PointwiseDepthwise<T>::run_channels(const PointwiseDepthwiseArgs<T>& args, Index image,
                                         Index first, Index channels, std::byte* slot) const {
  const ConvShape& s = desc_.shape;
  const Index width = s.in[2];
  const Index plane = rows_ * width;  // of a band
  T* const z = reinterpret_cast<T*>(slot);
  Index begin = 0;  // of the rows of z
  for (const Band& band : bands_) {
    if (band.kept > 0 && band.begin > begin) {
      const T* const from = z + (band.begin - begin) * width;
      for (Index c = 0; c < channels; ++c) {
        std::copy_n(from + c * plane, band.kept * width, z + c * plane);
      }
    }
    begin = band.begin;
    const Index missing = begin + band.kept;
    if (missing < band.end) {
      GemmCall<T> call = product(channels, band.end - missing);
      call.a = args.pointwise;
      call.a = a_element(call, first * desc_.in_channels);
      call.b = args.x;
      call.b = b_element(call, image * desc_.in_channels * in_ + missing * width);
      call.c = z + band.kept * width;
      call.row_bias = args.inner_bias ? args.inner_bias + first : nullptr;
      if (call.a_rounded && call.k % 2 == 0) {
        call.a_rounded = false;
        call.a_paired = true;
        call.a_row /= 2;
      }
      make_rows(call, slot + band_bytes_ + result_bytes_);
    }
    for (Index c = 0; c < channels; ++c) {
      convolve_band(band, z + c * plane, args, image, first + c, slot);
    }
  }
}

// One channel, from rows z.
template <class T>
void PointwiseDepthwise<T>::convolve_band(const Band& band, const T* z,
                                          const PointwiseDepthwiseArgs<T>& args, Index image,
                                          Index channel, std::byte* slot) const {
  const ConvShape& s = desc_.shape;
  const Index at = (image * s.groups + channel) * out_ + band.first_result * s.out[2];
  T* const wide = reinterpret_cast<T*>(slot + band_bytes_);
  band.conv->run_block({1, 1, 0, 0},
                       {.x = z,
                        .w = args.depthwise + channel * taps_,
                        .bias = args.bias ? args.bias + channel : nullptr,
                        .result = desc_.y_rounded ? wide : args.y + at},
                       slot + band_bytes_ + result_bytes_ + product_bytes_);
  if constexpr (sizeof(T) == sizeof(float)) {
    if (!desc_.y_rounded) return;
    auto* const y = reinterpret_cast<std::uint16_t*>(args.y) + at;
    kernels_->convert->float_to_bfloat16(y, wide, band.results * s.out[2]);
  }
}

template class PointwiseDepthwise<float>;
template class PointwiseDepthwise<double>;

}  // namespace ondine::math

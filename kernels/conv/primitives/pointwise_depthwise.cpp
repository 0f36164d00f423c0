#include "kernels/conv/primitives/pointwise_depthwise.h"

#include "kernels/common/stored_elements.h"
#include "kernels/conv/algorithms/depthwise.h"
#include "kernels/simd/vector/convert_table.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index most_bytes = 256 * 1024;  // of a band, which is to stay in a second cache
constexpr Index most_channels = 24;       // more leave a band few rows

}  // namespace

template <class T>
PointwiseDepthwise<T>::PointwiseDepthwise(const PointwiseDepthwiseDesc& desc, int threads,
                                          const SimdTables& kernels)
    : desc_(desc), bands_(desc, kernels) {
  const ConvShape& s = desc.shape;
  if (is_empty(s)) return;
  channels_ = even_chunk(s.groups, most_channels);
  const Index most = bands_.results_of(most_bytes / (channels_ * Index{sizeof(T)}));
  bands_.cut(even_chunk(s.out[1], most));
  band_bytes_ = bytes_of<T>(channels_ * bands_.plane());
  if (desc.y_stored == Storage::bf16) result_bytes_ = bytes_of<T>(bands_.most_results() * s.out[2]);
  slot_bytes_ =
      band_bytes_ + result_bytes_ + std::max(bands_.product_bytes(channels_), bands_.conv_bytes());
  workspace_ = ScratchPool::bytes(slot_bytes_, threads);
}

template <class T>
bool PointwiseDepthwise<T>::rounds_factors() const noexcept {
  return !bands_.bands().empty() && math::rounds_factors<T>(bands_.kernels());
}

template <class T>
void PointwiseDepthwise<T>::run(ThreadPool& pool, const PointwiseDepthwiseArgs<T>& args,
                                Workspace workspace) const {
  if (bands_.bands().empty()) return;
  require_stored(args.x, desc_.x_stored);
  require_stored(args.pointwise, desc_.pointwise_stored);
  require_stored(args.y, desc_.y_stored);
  const ConvShape& s = desc_.shape;
  const Index blocks = divide_up(s.groups, channels_);
  const Index work =
      channels_ * (volume(s.in) * desc_.in_channels + volume(s.out) * volume(s.kernel));
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
void PointwiseDepthwise<T>::run_channels(const PointwiseDepthwiseArgs<T>& args, Index image,
                                         Index first, Index channels, std::byte* slot) const {
  const Index width = desc_.shape.in[2];
  const Index plane = bands_.plane();
  T* const z = reinterpret_cast<T*>(slot);
  Index begin = 0;  // of the rows of z
  for (const auto& band : bands_.bands()) {
    if (band.kept > 0 && band.begin > begin) {
      const T* const from = z + (band.begin - begin) * width;
      for (Index c = 0; c < channels; ++c) {
        std::copy_n(from + c * plane, band.kept * width, z + c * plane);
      }
    }
    begin = band.begin;
    const Index missing = begin + band.kept;
    if (missing < band.end) {
      bands_.expand(bands_.rows_of(args.x, image, missing, band.end), args, first, channels,
                    z + band.kept * width, plane, slot + band_bytes_ + result_bytes_);
    }
    for (Index c = 0; c < channels; ++c) {
      convolve_band(band, z + c * plane, args, image, first + c, slot);
    }
  }
}

// One channel, from rows z.
template <class T>
void PointwiseDepthwise<T>::convolve_band(const typename ExpandedBands<T>::Band& band, const T* z,
                                          const PointwiseDepthwiseArgs<T>& args, Index image,
                                          Index channel, std::byte* slot) const {
  const ConvShape& s = desc_.shape;
  const Index at = (image * s.groups + channel) * volume(s.out) + band.first_result * s.out[2];
  const Elements<T> y = args.y + at;
  T* const wide = reinterpret_cast<T*>(slot + band_bytes_);
  bands_.convolve(band, z, args, channel, y.is_bf16() ? wide : y.plain(),
                  slot + band_bytes_ + result_bytes_);
  if constexpr (sizeof(T) == sizeof(float)) {
    if (!y.is_bf16()) return;
    bands_.kernels().convert->float_to_bfloat16(y.bf16(), wide, band.results * s.out[2]);
  }
}

template class PointwiseDepthwise<float>;
template class PointwiseDepthwise<double>;

}  // namespace ondine::math

// Depthwise convolutions by 3 x 3 taps, and 5 x 5 but for gradients by the weights: strips of
// columns that read planes where they lie. Stride 1 over planes of the size of their results or,
// forward by 3 x 3 taps, stride 2. Forward, planes may be bands of rows of larger ones.
#include "kernels/conv/algorithms/depthwise.h"
#include "kernels/simd/vector/convert_table.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

template <class T>
class DepthwiseStrips final : public DepthwiseConv<T> {
 public:
  DepthwiseStrips(const ConvDesc& desc, const SimdTables& kernels)
      : DepthwiseConv<T>(desc, kernels),
        x_stored_(desc.x_stored),
        y_stored_(desc.y_stored),
        x_split_(desc.x_split),
        table_(*kernels.depthwise_strips),
        convert_(*kernels.convert) {
    constexpr Index elements = 4096;  // of planes at a time
    planes_ = std::clamp<Index>(elements / in_, 1, this->shape_.groups);
    if (x_stored_ == Storage::bf16) x_bytes_ = bytes_of<T>(planes_ * in_);
    if (y_stored_ == Storage::bf16) this->slot_bytes_ = bytes_of<T>(planes_ * out_);
    this->slot_bytes_ += x_bytes_;
  }

  ConvRounding rounding() const override {
    const bool forward = direction_ == ConvDirection::forward;
    return {.reads_x = forward, .writes_y = forward};
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    if (x_stored_ == Storage::bf16 || y_stored_ == Storage::bf16) {
      return run_widened(pool, args, workspace);
    }
    const Index batch = this->shape_.batch, channels = this->shape_.groups;
    if (direction_ == ConvDirection::backward_weights) {
      const Index grain = grain_of(batch * out_ * taps_, depthwise_work);
      return pool.for_chunks(channels, grain, [&](Index first, Index last) {
        const ChannelBlock block{batch, last - first, channels * in_, channels * out_};
        run_block(block, this->from(args, 0, first), nullptr);
      });
    }
    // Planes of all images.
    const Index grain = grain_of(out_ * taps_, depthwise_work);
    pool.for_chunks(batch * channels, grain, [&](Index first, Index last) {
      while (first < last) {
        const Index image = first / channels, c = first % channels;
        const Index planes = std::min(last - first, channels - c);
        run_block({1, planes, 0, 0}, this->from(args, image, c), nullptr);
        first += planes;
      }
    });
  }

  void run_block(const ChannelBlock& b, const ConvArgs<T>& args, std::byte*) const override {
    if constexpr (sizeof(T) == sizeof(float)) {
      if (direction_ == ConvDirection::backward_weights) {
        for (Index c = 0; c < b.channels; ++c) {
          table_.backward_weights(plane_, b.images, {b.x_image, b.y_image},
                                  args.x.plain() + c * in_, args.dy + c * out_,
                                  args.result.plain() + c * taps_);
        }
        return;
      }
      const bool flip = direction_ == ConvDirection::backward_data;
      const T* const source = flip ? args.dy : args.x.plain();
      for (Index image = 0; image < b.images; ++image) {
        const Index x = image * b.x_image, y = image * b.y_image;
        if (x_split_) {
          table_.forward_split(plane_, b.channels, source + x, args.w.plain(), args.bias,
                               this->activation_, args.result.plain() + y);
          continue;
        }
        table_.forward(plane_, b.channels, flip, source + (flip ? y : x), args.w.plain(), args.bias,
                       this->activation_, args.result.plain() + (flip ? x : y));
      }
    }
  }

 private:
  // Some planes at a time in float32, which stay in a first or second cache.
  void run_widened(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const {
    if constexpr (sizeof(T) == sizeof(float)) {
      const Index channels = this->shape_.groups;
      const Index blocks = divide_up(channels, planes_);
      const auto run = [&](Index task, std::byte* slot) {
        const Index c = task % blocks * planes_;
        const Index planes = std::min(planes_, channels - c);
        const Index first = task / blocks * channels + c;
        const Elements<const T> x = args.x + first * in_;
        const Elements<T> y = args.result + first * out_;
        auto* const wide_x = reinterpret_cast<float*>(slot);
        auto* const wide_y = reinterpret_cast<float*>(slot + x_bytes_);
        ConvArgs<T> block;
        block.w = args.w + c * taps_;
        block.bias = args.bias ? args.bias + c : nullptr;
        block.x = x.is_bf16() ? wide_x : x;
        block.result = y.is_bf16() ? wide_y : y;
        if (x.is_bf16()) convert_.bfloat16_to_float(wide_x, x.bf16(), planes * in_);
        run_block({1, planes, 0, 0}, block, nullptr);
        if (y.is_bf16()) convert_.float_to_bfloat16(y.bf16(), wide_y, planes * out_);
      };
      this->for_tasks(pool, workspace, this->shape_.batch * blocks,
                      grain_of(planes_ * out_ * taps_, depthwise_work), run);
    }
  }

  using DepthwiseConv<T>::direction_;
  using DepthwiseConv<T>::plane_;
  using DepthwiseConv<T>::in_;
  using DepthwiseConv<T>::out_;
  using DepthwiseConv<T>::taps_;

  Storage x_stored_, y_stored_;
  bool x_split_;
  const DepthwiseStripKernels& table_;
  const ConvertKernels& convert_;
  Index planes_ = 1;         // at a time, where operands are bfloat16
  std::size_t x_bytes_ = 0;  // of a slot, before planes of y
};

// Whether rows are padded as the kernels take it.
bool has_rows_of_strips(const ConvShape& s, bool forward) {
  const Index half = s.kernel[1] / 2, before = s.pad[1];
  if (s.stride[1] == 2) {
    return before <= 1 && s.out[1] == divide_up(s.in[1] + before - 1, Index{2});
  }
  const Index after = s.out[1] + 2 * half - s.in[1] - before;
  return forward ? before <= half && after <= half : before == half && after == half;
}

}  // namespace

template <class T>
bool supports_depthwise_strips(const ConvDesc& desc, const SimdTables& kernels) {
  const ConvShape& s = desc.shape;
  const DepthwiseStripKernels& strips = *kernels.depthwise_strips;
  if (sizeof(T) != sizeof(float) || strips.lanes == 0) return false;
  const SpatialDims ones{1, 1, 1}, twos{1, 2, 2};
  const Index taps = s.kernel[1];
  const bool forward = desc.direction == ConvDirection::forward;
  const bool strided = taps == 3 && s.stride == twos && forward;
  const bool larger = taps == 5 && desc.direction != ConvDirection::backward_weights;
  if (!strided && (s.stride != ones || (taps != 3 && !larger))) return false;
  const StripLimits& pays = strided  ? strips.strided
                            : larger ? strips.window_5x5
                                     : strips.window_3x3;
  const Index plane = volume(s.in) * Index{sizeof(T)};
  const bool cached = plane * s.batch * s.groups <= StripLimits::cached_bytes;
  if (s.in[2] < pays.min_width) return false;
  if (plane > (cached ? pays.max_cached_bytes : pays.max_bytes)) return false;
  return is_depthwise(s) && is_planar(s) && s.kernel == SpatialDims{1, taps, taps} &&
         s.dilation == ones && s.pad[2] == taps / 2 &&
         s.out[2] == divide_up(s.in[2], s.stride[2]) && has_rows_of_strips(s, forward);
}

template <class T>
MadeConv<T> make_depthwise_strips(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<DepthwiseStrips<T>>(desc, kernels);
}

ONDINE_INSTANTIATE_CONV(depthwise_strips);

}  // namespace ondine::math

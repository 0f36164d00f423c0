// Few positions of the window, as deep layers of small images have: what lies under the window is
// laid out position by position, then weights and positions are multiplied as dot products.
#include "kernels/conv/algorithms/dot_columns.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

class FewPositionsConv final : public ConvAlgorithm<float> {
 public:
  FewPositionsConv(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm(desc, kernels),
        pointwise_(is_pointwise(desc.shape)),
        taps_(volume(desc.shape.kernel)),
        positions_(volume(desc.shape.out)),
        columns_(desc.shape.out_channels, desc.shape.in_channels * taps_, positions_, kernels) {
    shared_bytes_ = columns_.bytes();
  }

  void run(ThreadPool& pool, const ConvArgs<float>& args, Workspace workspace) const override {
    const ConvShape& s = shape_;
    float* const rows = shared_of(workspace);
    for (Index image = 0; image < s.batch; ++image) {
      const float* const x = args.x.plain() + image * s.in_channels * volume(s.in);
      float* const y = args.result.plain() + image * s.out_channels * positions_;
      if (pointwise_) {
        columns_.transpose(x, positions_, rows);
      } else {
        gather(x, rows);
      }
      columns_.multiply(pool, args.w.plain(), rows, args.bias, activation_, y, positions_);
    }
  }

 private:
  // Gathers the elements under the window at each position.
  void gather(const float* x, float* rows) const {
    const ConvShape& s = shape_;
    std::fill_n(rows, columns_.elements(), 0.0F);
    for (Index p = 0; p < positions_; ++p, rows += columns_.row()) {
      const Index at[] = {p / (s.out[2] * s.out[1]), p / s.out[2] % s.out[1], p % s.out[2]};
      const auto from = [&](std::size_t dim) { return at[dim] * s.stride[dim] - s.pad[dim]; };
      for (Index kd = 0; kd < s.kernel[0]; ++kd) {
        for (Index kh = 0; kh < s.kernel[1]; ++kh) {
          const Index d = from(0) + kd * s.dilation[0];
          const Index h = from(1) + kh * s.dilation[1];
          if (d < 0 || d >= s.in[0] || h < 0 || h >= s.in[1]) continue;
          copy_line(x + (d * s.in[1] + h) * s.in[2], from(2),
                    rows + (kd * s.kernel[1] + kh) * s.kernel[2]);
        }
      }
    }
  }

  // The taps of a line of the window that lie inside, of all channels.
  void copy_line(const float* x, Index w, float* to) const {
    const ConvShape& s = shape_;
    const Index plane = volume(s.in);
    for (Index k = 0; k < s.kernel[2]; ++k, w += s.dilation[2]) {
      if (w < 0 || w >= s.in[2]) continue;
      for (Index c = 0; c < s.in_channels; ++c) to[c * taps_ + k] = x[c * plane + w];
    }
  }

  bool pointwise_;  // x is the matrix of columns
  Index taps_;      // of the window
  Index positions_;
  DotColumns columns_;
};

}  // namespace

template <class T>
bool supports_few_positions(const ConvDesc& desc, const SimdTables& kernels) {
  const ConvShape& s = desc.shape;
  // Images of one position are the rows of a matrix.
  if (s.batch > 1 && is_pointwise(s) && volume(s.out) == 1) return false;
  return sizeof(T) == sizeof(float) && desc.direction == ConvDirection::forward && !is_empty(s) &&
         s.groups == 1 && volume(s.out) <= kernels.few_positions->max_positions &&
         DotColumns::pays(s.in_channels * volume(s.kernel), volume(s.out));
}

template <class T>
MadeConv<T> make_few_positions(const ConvDesc& desc, const SimdTables& kernels) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return std::make_unique<FewPositionsConv>(desc, kernels);
  } else {
    return nullptr;
  }
}

ONDINE_INSTANTIATE_CONV(few_positions);

}  // namespace ondine::math

// Few positions of the window, as deep layers of small images have: what lies under the window is
// laid out position by position, then weights and positions are multiplied as dot products.
#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index task_channels = 32;
constexpr Index task_work = Index{1} << 18;

class FewPositionsConv final : public ConvAlgorithm<float> {
 public:
  FewPositionsConv(const ConvDesc& desc, const Kernels& kernels)
      : ConvAlgorithm(desc, kernels),
        kernels_(*kernels.few_positions),
        pointwise_(is_pointwise(desc.shape)),
        taps_(volume(desc.shape.kernel)),
        depth_(desc.shape.in_channels * taps_),
        row_(round_up(depth_, kernels_.unit)),
        positions_(volume(desc.shape.out)),
        tasks_(divide_up(desc.shape.out_channels, task_channels)),
        grain_(grain_of(task_channels * depth_ * positions_, task_work)) {
    shared_bytes_ = bytes_of<float>(positions_ * row_);
  }

  void run(ThreadPool& pool, const ConvArgs<float>& args, Workspace workspace) const override {
    const ConvShape& s = shape_;
    float* const rows = shared_of(workspace);
    for (Index image = 0; image < s.batch; ++image) {
      const float* const x = args.x + image * s.in_channels * volume(s.in);
      float* const y = args.result + image * s.out_channels * positions_;
      if (pointwise_) {
        kernels_.transpose(depth_, positions_, x, rows);
      } else {
        gather(x, rows);
      }
      for_tasks(pool, workspace, tasks_, grain_, [&](Index task, std::byte*) {
        const Index channel = task * task_channels;
        kernels_.forward(depth_, positions_, std::min(task_channels, s.out_channels - channel),
                         args.w + channel * depth_, rows, args.bias ? args.bias + channel : nullptr,
                         activation_, y + channel * positions_);
      });
    }
  }

 private:
  // What lies under the window at each position.
  void gather(const float* x, float* rows) const {
    const ConvShape& s = shape_;
    std::fill_n(rows, positions_ * row_, 0.0F);
    for (Index p = 0; p < positions_; ++p, rows += row_) {
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

  const FewPositionsKernels& kernels_;
  bool pointwise_;  // x is the matrix of columns
  Index taps_;      // of the window
  Index depth_;     // weights of an output channel
  Index row_;       // elements from a position to the next
  Index positions_;
  Index tasks_, grain_;
};

// Whether the lanes that a product with positions in them would leave idle cost more than adding up
// the lanes of the dot products.
bool pays(Index depth, Index positions) {
  constexpr Index lanes = 16;
  return depth >= 2 * lanes && depth * (lanes - positions) >= 4 * lanes * positions;
}

}  // namespace

template <class T>
bool supports_few_positions(const ConvDesc& desc, const Kernels& kernels) {
  const ConvShape& s = desc.shape;
  // Images of one position are the rows of a matrix.
  if (s.batch > 1 && is_pointwise(s) && volume(s.out) == 1) return false;
  return sizeof(T) == sizeof(float) && desc.direction == ConvDirection::forward && !is_empty(s) &&
         s.groups == 1 && volume(s.out) <= kernels.few_positions->max_positions &&
         pays(s.in_channels * volume(s.kernel), volume(s.out));
}

template <class T>
MadeConv<T> make_few_positions(const ConvDesc& desc, const Kernels& kernels) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return std::make_unique<FewPositionsConv>(desc, kernels);
  } else {
    return nullptr;
  }
}

ONDINE_INSTANTIATE_CONV(few_positions);

}  // namespace ondine::math

// Depthwise convolutions of planes that fit a second cache: a task convolves all images of as many
// channels as vectors have lanes.
#include "kernels/conv/algorithms/depthwise.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

template <class T>
class DepthwiseChannelsConv final : public ConvAlgorithm<T> {
 public:
  DepthwiseChannelsConv(const ConvDesc& desc, const Kernels& kernels)
      : ConvAlgorithm<T>(desc, kernels),
        direction_(desc.direction),
        table_(*this->set_.depthwise_channels),
        plane_(plane_of(desc.shape)),
        in_(volume(desc.shape.in)),
        out_(volume(desc.shape.out)),
        taps_(volume(desc.shape.kernel)),
        blocks_(divide_up(desc.shape.groups, table_.lanes)),
        grain_(grain_of(desc.shape.batch * table_.lanes * taps_ * std::max(in_, out_),
                        depthwise_work)) {
    this->slot_bytes_ = static_cast<std::size_t>(table_.scratch_bytes(plane_));
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    this->for_tasks(pool, workspace, blocks_, grain_, [&](Index task, std::byte* slot) {
      run_block(args, task * table_.lanes, slot);
    });
  }

 private:
  void run_block(const ConvArgs<T>& args, Index c, std::byte* slot) const {
    const Index channels = this->shape_.groups;
    const ChannelBlock block{this->shape_.batch, std::min(table_.lanes, channels - c),
                             channels * in_, channels * out_};
    const T* const bias = args.bias ? args.bias + c : nullptr;
    switch (direction_) {
      case ConvDirection::forward:
        return table_.forward(plane_, block, args.x + c * in_, args.w + c * taps_, bias,
                              this->activation_, args.result + c * out_, slot);
      case ConvDirection::backward_data:
        return table_.backward_data(plane_, block, args.dy + c * out_, args.w + c * taps_, bias,
                                    args.result + c * in_, slot);
      case ConvDirection::backward_weights:
        return table_.backward_weights(plane_, block, args.x + c * in_, args.dy + c * out_,
                                       args.result + c * taps_, slot);
    }
  }

  ConvDirection direction_;
  const DepthwiseChannelKernels<T>& table_;
  ConvPlane plane_;
  Index in_, out_;  // elements of a plane
  Index taps_;
  Index blocks_, grain_;
};

}  // namespace

template <class T>
bool supports_depthwise_channels(const ConvDesc& desc, const Kernels& kernels) {
  const ConvShape& s = desc.shape;
  if (!is_depthwise(s) || s.in[0] != 1) return false;
  // Larger planes pay with a stride, where depthwise_rows moves more.
  const bool strided = s.stride != SpatialDims{1, 1, 1};
  const Index max_bytes = (strided ? 1100 : 450) * 1024;
  const auto& table = *kernel_set<T>(kernels).depthwise_channels;
  return s.groups >= table.lanes && table.scratch_bytes(plane_of(s)) <= max_bytes;
}

template <class T>
MadeConv<T> make_depthwise_channels(const ConvDesc& desc, const Kernels& kernels) {
  return std::make_unique<DepthwiseChannelsConv<T>>(desc, kernels);
}

ONDINE_INSTANTIATE_CONV(depthwise_channels);

}  // namespace ondine::math

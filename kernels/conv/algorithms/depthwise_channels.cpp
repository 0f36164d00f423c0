// Depthwise convolutions of planes that fit a second cache: a task convolves all images of as many
// channels as vectors have lanes.
#include "core/stop.h"
#include "kernels/conv/algorithms/depthwise.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

template <class T>
class DepthwiseChannelsConv final : public DepthwiseConv<T> {
 public:
  DepthwiseChannelsConv(const ConvDesc& desc, const SimdTables& kernels)
      : DepthwiseConv<T>(desc, kernels),
        table_(*this->set_.depthwise_channels),
        blocks_(divide_up(desc.shape.groups, table_.lanes)),
        grain_(grain_of(desc.shape.batch * table_.lanes * taps_ * std::max(in_, out_),
                        depthwise_work)) {
    this->slot_bytes_ = bytes_of<std::byte>(table_.scratch_bytes(plane_));
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    const Index channels = this->shape_.groups;
    this->for_tasks(pool, workspace, blocks_, grain_, [&](Index task, std::byte* slot) {
      const Index c = task * table_.lanes;
      const ChannelBlock block{this->shape_.batch, std::min(table_.lanes, channels - c),
                               channels * in_, channels * out_};
      run_images(block, this->from(args, 0, c), slot);
    });
  }

  // All images of the channels; some at a time where they do not share a result.
  void run_images(const ChannelBlock& block, const ConvArgs<T>& args, std::byte* slot) const {
    if (direction_ == ConvDirection::backward_weights) return run_block(block, args, slot);
    const bool forward = direction_ == ConvDirection::forward;
    const Index work = 1 + block.channels * taps_ * std::max(in_, out_) / 16;
    for_pieces(block.images, work, [&](Index first, Index last) {
      ConvArgs<T> part = args;
      if (forward) {
        part.x += first * block.x_image;
      } else {
        part.dy += first * block.y_image;
      }
      part.result += first * (forward ? block.y_image : block.x_image);
      run_block({last - first, block.channels, block.x_image, block.y_image}, part, slot);
    });
  }

  Index block_channels() const override { return table_.lanes; }

  void run_block(const ChannelBlock& block, const ConvArgs<T>& args,
                 std::byte* slot) const override {
    switch (direction_) {
      case ConvDirection::forward:
        return table_.forward(plane_, block, args.x.plain(), args.w.plain(), args.bias,
                              this->activation_, args.result.plain(), slot);
      case ConvDirection::backward_data:
        return table_.backward_data(plane_, block, args.dy, args.w.plain(), args.bias,
                                    args.result.plain(), slot);
      case ConvDirection::backward_weights:
        return table_.backward_weights(plane_, block, args.x.plain(), args.dy, args.result.plain(),
                                       slot);
    }
  }

 private:
  using DepthwiseConv<T>::direction_;
  using DepthwiseConv<T>::plane_;
  using DepthwiseConv<T>::in_;
  using DepthwiseConv<T>::out_;
  using DepthwiseConv<T>::taps_;

  const DepthwiseChannelKernels<T>& table_;
  Index blocks_, grain_;
};

}  // namespace

template <class T>
bool supports_depthwise_channels(const ConvDesc& desc, const SimdTables& kernels) {
  const ConvShape& s = desc.shape;
  if (!is_depthwise(s) || s.in[0] != 1) return false;
  // Larger planes pay with a stride, where depthwise_rows moves more.
  const bool strided = s.stride != SpatialDims{1, 1, 1};
  const Index max_bytes = (strided ? 1100 : 450) * 1024;
  const auto& table = *tables_of<T>(kernels).depthwise_channels;
  return s.groups >= table.lanes && table.scratch_bytes(plane_of(s)) <= max_bytes;
}

template <class T>
MadeConv<T> make_depthwise_channels(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<DepthwiseChannelsConv<T>>(desc, kernels);
}

ONDINE_INSTANTIATE_CONV(depthwise_channels);

}  // namespace ondine::math

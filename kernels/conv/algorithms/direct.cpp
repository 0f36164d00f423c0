// Windows of stride 1 over few channels, or groups of few channels, computed from copies of the
// planes with zeros around them.
#include "core/stop.h"
#include "kernels/conv/algorithms/directed_shape.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index max_copy_bytes = 48 * 1024;      // of an image
constexpr Index max_group_bytes = 160 * 1024;    // of a copy of a group
constexpr Index max_gradient_bytes = 64 * 1024;  // of the copies at a time
constexpr Index task_work = Index{1} << 19;      // multiplications
constexpr Index most_work = Index{1} << 27;      // multiplications between two checkpoints
constexpr Index max_shards = 4;
constexpr Index min_width = 8;  // of a result
constexpr Index min_group_width = 5;
constexpr Index min_group = 4;  // channels

ConvPlane plane_of(const ConvShape& s, const DirectedShape& d) {
  return {d.in[1], d.in[2], s.kernel[1],   s.kernel[2],   d.out[1], d.out[2],
          1,       1,       s.dilation[1], s.dilation[2], d.pad_h,  d.pad_w};
}

// A task computes a group of an image.
template <class T>
class DirectConv final : public ConvAlgorithm<T> {
 public:
  DirectConv(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm<T>(desc, kernels),
        group_(group_of(desc.shape)),
        d_(group_, desc.direction),
        direct_(*this->set_.direct),
        plane_(plane_of(group_, d_)),
        taps_(volume(group_.kernel)),
        panels_(round_up(d_.outer, direct_.rows) * d_.inner * taps_),
        grain_(grain_of(volume(d_.out) * d_.outer * d_.inner * taps_, task_work)) {
    this->shared_bytes_ = bytes_of<T>(desc.shape.groups * panels_);
    this->slot_bytes_ = bytes_of<T>(direct_.copy_elements(plane_, d_.inner));
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    T* const panels = this->shared_of(workspace);
    const Index groups = this->shape_.groups;
    for (Index group = 0; group < groups; ++group) {
      direct_.weights(weights_of(group_, d_), taps_, d_.backward,
                      args.w.plain() + group * d_.outer * d_.inner * taps_,
                      panels + group * panels_);
    }
    const T* const source = d_.source(args).plain();
    const Index tasks = this->shape_.batch * groups;
    this->for_tasks(pool, workspace, tasks, grain_, [&](Index task, std::byte* slot) {
      T* const copy = reinterpret_cast<T*>(slot);
      const Index group = task % groups;
      direct_.copy(plane_, d_.inner, source + task * d_.source_image(), copy);
      const T* const bias = args.bias ? args.bias + group * d_.outer : nullptr;
      const Index row = d_.inner * taps_;  // weights of a channel
      const Index plane = volume(d_.out);
      // In whole panels.
      const Index most =
          std::max<Index>(1, most_work / (row * plane * direct_.rows)) * direct_.rows;
      for (Index first = 0; first < d_.outer; first += most) {
        const Index channels = std::min(most, d_.outer - first);
        checkpoint(channels * row * plane / 8);
        direct_.forward(plane_, d_.inner, channels, copy, panels + group * panels_ + first * row,
                        bias ? bias + first : nullptr, this->activation_,
                        args.result.plain() + task * d_.result_image() + first * plane);
      }
    });
  }

 private:
  ConvShape group_;
  DirectedShape d_;  // of a group
  const DirectKernels<T>& direct_;
  ConvPlane plane_;
  Index taps_;
  Index panels_;  // elements of the weights of a group
  Index grain_;
};

// Each shard of the images has sums of its own.
template <class T>
class DirectConvWeights final : public ConvAlgorithm<T> {
 public:
  DirectConvWeights(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm<T>(desc, kernels),
        direct_(*this->set_.direct),
        plane_(math::plane_of(desc.shape)) {
    const ConvShape& s = desc.shape;
    copy_ = direct_.copy_elements(plane_, s.in_channels);
    dy_copy_ = direct_.dy_elements(plane_, s.out_channels);
    weights_ = s.out_channels * s.in_channels * volume(s.kernel);
    const Index shards_worth = s.batch * volume(s.out) * weights_ / (4 * task_work);
    shard_ = even_chunk(
        s.batch, std::max<Index>(1, s.batch / std::clamp<Index>(shards_worth, 1, max_shards)));
    shards_ = divide_up(s.batch, shard_);
    const Index image_bytes = (copy_ + dy_copy_) * Index{sizeof(T)};
    images_ = std::clamp<Index>(max_gradient_bytes / image_bytes, 1, shard_);
    sums_ = weights_ * direct_.lanes;
    this->shared_bytes_ = bytes_of<T>(shards_ * sums_);
    this->slot_bytes_ = bytes_of<T>(images_ * copy_) + bytes_of<T>(images_ * dy_copy_);
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    T* const sums = this->shared_of(workspace);
    this->for_tasks(pool, workspace, shards_, 1, [&](Index shard, std::byte* slot) {
      run_shard(args, shard, sums + shard * sums_, slot);
    });
    direct_.backward_weights(weights_, shards_, sums_, sums, args.result.plain());
  }

 private:
  void run_shard(const ConvArgs<T>& args, Index shard, T* sums, std::byte* slot) const {
    const ConvShape& s = this->shape_;
    const Index x_image = s.in_channels * volume(s.in);
    const Index dy_image = s.out_channels * volume(s.out);
    T* const copies = reinterpret_cast<T*>(slot);
    T* const dy_copies = reinterpret_cast<T*>(slot + bytes_of<T>(images_ * copy_));
    this->set_.vector->fill(sums, T{0}, sums_);
    const Index last = std::min(s.batch, (shard + 1) * shard_);
    for (Index image = shard * shard_; image < last; image += images_) {
      const Index count = std::min(images_, last - image);
      for (Index i = 0; i < count; ++i) {
        direct_.copy(plane_, s.in_channels, args.x.plain() + (image + i) * x_image,
                     copies + i * copy_);
        direct_.copy_dy(plane_, s.out_channels, args.dy + (image + i) * dy_image,
                        dy_copies + i * dy_copy_);
      }
      checkpoint(count * weights_ * volume(s.out) / 8);
      direct_.weight_sums(plane_, s.in_channels, s.out_channels, count, copies, dy_copies, sums);
    }
  }

  const DirectKernels<T>& direct_;
  ConvPlane plane_;
  Index copy_, dy_copy_;  // elements of an image
  Index weights_, sums_;  // elements
  Index shard_, shards_;  // images of one, and how many
  Index images_;          // at a time
};

}  // namespace

template <class T>
bool supports_direct(const ConvDesc& desc, const SimdTables& kernels) {
  const bool grouped = desc.shape.groups > 1;
  if (grouped && desc.direction == ConvDirection::backward_weights) return false;
  const ConvShape s = group_of(desc.shape);
  if (!is_mirrorable(s) || volume(s.kernel) == 1) return false;
  const DirectedShape d(s, desc.direction);
  const auto& direct = *tables_of<T>(kernels).direct;
  // Groups of fewer channels leave lanes of the rows idle.
  const Index fewest = std::min(s.in_channels, s.out_channels);
  if (fewest > 16 || (grouped && fewest < min_group)) return false;
  return d.inner * volume(s.kernel) <= direct.max_depth &&
         d.out[2] >= (grouped ? min_group_width : min_width) &&
         direct.copy_elements(plane_of(s, d), d.inner) * Index{sizeof(T)} <=
             (grouped ? max_group_bytes : max_copy_bytes);
}

template <class T>
MadeConv<T> make_direct(const ConvDesc& desc, const SimdTables& kernels) {
  if (desc.direction == ConvDirection::backward_weights) {
    return std::make_unique<DirectConvWeights<T>>(desc, kernels);
  }
  return std::make_unique<DirectConv<T>>(desc, kernels);
}

ONDINE_INSTANTIATE_CONV(direct);

}  // namespace ondine::math

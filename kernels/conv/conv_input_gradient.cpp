// dx: columns = w^T dy, then scattered. A task owns some channels of an image, so that tasks never
// write to the same place.
#include "kernels/common/scratch_pool.h"
#include "kernels/conv/conv_direct.h"
#include "kernels/conv/conv_primitive.h"
#include "kernels/conv/conv_winograd.h"
#include "kernels/conv/strided_conv.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index block_rows = 256;
constexpr Index block_positions = 256;

GemmShape pointwise_shape(const ConvShape& s) {
  return {s.in_channels, volume(s.out), s.out_channels, true, false, 0, 0, 0};
}

template <class T>
GemmCall<T> tile_call(const ConvPlan& plan, Index channels, Index positions) {
  GemmCall<T> call{};
  call.m = channels * plan.taps;
  call.n = positions;
  call.k = plan.out_group;
  call.a_row = 1;
  call.a_col = plan.depth;
  call.b_row = plan.out_plane;
  call.b_col = 1;
  call.ldc = plan.tile;
  call.alpha = 1;
  return call;
}

template <class T>
struct General {
  General(const ConvShape& s, const Kernels& kernels)
      : plan(s, block_rows, block_positions, kernel_set<T>(kernels).gemm->nr),
        columns(
            align_up(static_cast<std::size_t>(plan.channels * plan.taps * plan.tile) * sizeof(T))),
        bytes(columns + scratch_of(tile_call<T>(plan, plan.channels, plan.tile), kernels)) {}
  ConvPlan plan;
  std::size_t columns;  // bytes
  std::size_t bytes;
};

template <class T>
void run_general(ThreadPool& pool, const ConvShape& s, const T* dy, const T* w, const T* bias,
                 T* dx, Workspace workspace, const Kernels& kernels) {
  const General<T> general(s, kernels);
  const ConvPlan& p = general.plan;
  const auto& set = kernel_set<T>(kernels);
  const auto body = [&](std::byte* scratch, Index begin, Index end) {
    T* const columns = reinterpret_cast<T*>(scratch);
    for (Index task = begin; task < end; ++task) {
      const Index image = task / (p.blocks * s.groups);
      const Index group = task / p.blocks % s.groups;
      const Index channel = task % p.blocks * p.channels;
      const Index count = std::min(p.channels, p.in_group - channel);
      const Index in_channel = group * p.in_group + channel;
      T* const target = dx + (image * s.in_channels + in_channel) * p.in_plane;
      for (Index c = 0; c < count; ++c) {
        set.vector->fill(target + c * p.in_plane, bias ? bias[in_channel + c] : T{0}, p.in_plane);
      }
      for (Index first = 0; first < p.out_plane; first += p.tile) {
        const Index last = std::min(p.out_plane, first + p.tile);
        auto call = tile_call<T>(p, count, last - first);
        call.a = w + group * p.out_group * p.depth + channel * p.taps;
        call.b = dy + (image * s.out_channels + group * p.out_group) * p.out_plane + first;
        call.c = columns;
        set.gemm->run(call, scratch + general.columns);
        set.columns->scatter(column_block(s, count, first, last, p.tile), columns, target);
      }
    }
  };
  const Index work = std::max<Index>(1, p.out_group * p.channels * p.taps * p.out_plane);
  ScratchPool(workspace, general.bytes)
      .for_chunks(pool, s.batch * s.groups * p.blocks, std::max<Index>(1, (Index{1} << 20) / work),
                  body);
}

template <class T>
void run_lanes(ThreadPool& pool, const ConvShape& s, const T* dy, const T* w, const T* bias, T* dx,
               Workspace workspace, const Kernels& kernels) {
  const auto& lanes = *kernel_set<T>(kernels).lanes;
  const Plane plane = plane_of(s);
  const LaneTasks<T> tasks(s, kernels);
  tasks.run(pool, workspace, [&](Index c, std::byte* scratch) {
    lanes.input_gradient(plane, tasks.block(c), dy + c * tasks.out, w + c * volume(s.kernel),
                         bias ? bias + c : nullptr, dx + c * tasks.in, scratch);
  });
}

template <class T>
void run_depthwise(ThreadPool& pool, const ConvShape& s, const T* dy, const T* w, const T* bias,
                   T* dx, Workspace workspace, const Kernels& kernels) {
  if (takes_lanes<T>(s, kernels)) {
    return run_lanes(pool, s, dy, w, bias, dx, workspace, kernels);
  }
  const auto& planes = *kernel_set<T>(kernels).planes;
  const Plane plane = plane_of(s);
  const Index in = plane.in_h * plane.in_w;
  const Index out = plane.out_h * plane.out_w;
  const Index taps = volume(s.kernel);
  const auto body = [&](std::byte* scratch, Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      const Index channel = i / layers(s) % s.groups;
      planes.input_gradient(plane, dy + i * out, w + channel * taps, bias ? bias[channel] : T{0},
                            dx + i * in, scratch);
    }
  };
  const Index grain = std::max<Index>(1, (Index{1} << 17) / std::max<Index>(1, in * taps));
  ScratchPool(workspace, depthwise_bytes<T>(s, kernels))
      .for_chunks(pool, s.batch * s.groups * layers(s), grain, body);
}

bool has_no_input(const ConvShape& s) {
  return s.batch == 0 || s.in_channels == 0 || volume(s.in) == 0;
}

}  // namespace

template <class T>
std::size_t conv_input_gradient_workspace(const ConvShape& s, int threads, const Kernels& kernels) {
  if (has_no_input(s)) return 0;
  if (takes_direct<T>(s, Pass::input_gradient, kernels)) {
    return direct_workspace<T>(s, Pass::input_gradient, threads, kernels);
  }
  if (takes_winograd<T>(s, kernels)) {
    return winograd_workspace<T>(s, Pass::input_gradient, threads, kernels);
  }
  if (takes_window<T>(s, Pass::input_gradient, kernels)) {
    return window_workspace<T>(s, Pass::input_gradient, threads, kernels);
  }
  switch (path_of(s)) {
    case ConvPath::pointwise:
      return gemm_workspace<T>(pointwise_shape(s), s.batch, threads, kernels);
    case ConvPath::depthwise:
      return ScratchPool::bytes(depthwise_bytes<T>(s, kernels), threads);
    case ConvPath::general:
      break;
  }
  return ScratchPool::bytes(General<T>(s, kernels).bytes, threads);
}

template <class T>
void conv_input_gradient(ThreadPool& pool, const ConvShape& s, const T* dy, const T* w,
                         const T* bias, T* dx, Workspace workspace, const Kernels& kernels) {
  if (has_no_input(s)) return;
  if (takes_direct<T>(s, Pass::input_gradient, kernels)) {
    return direct(pool, s, Pass::input_gradient, dy, w, bias, Activation::none, dx, workspace,
                  kernels);
  }
  if (takes_winograd<T>(s, kernels)) {
    return winograd(pool, s, Pass::input_gradient, dy, w, bias, Activation::none, dx, workspace,
                    kernels);
  }
  if (takes_window<T>(s, Pass::input_gradient, kernels)) {
    return window(pool, s, Pass::input_gradient, dy, w, bias, Activation::none, dx, workspace,
                  kernels);
  }
  switch (path_of(s)) {
    case ConvPath::pointwise: {
      GemmBatch batch;
      batch.count = s.batch;
      batch.stride_b = s.out_channels * volume(s.out);
      batch.stride_c = s.in_channels * volume(s.in);
      GemmOptions<T> options;
      options.row_bias = bias;
      gemm(pool, pointwise_shape(s), batch, w, dy, dx, options, workspace, kernels);
      return;
    }
    case ConvPath::depthwise:
      return run_depthwise(pool, s, dy, w, bias, dx, workspace, kernels);
    case ConvPath::general:
      return run_general(pool, s, dy, w, bias, dx, workspace, kernels);
  }
}

#define ONDINE_INSTANTIATE(T)                                                                   \
  template std::size_t conv_input_gradient_workspace<T>(const ConvShape&, int, const Kernels&); \
  template void conv_input_gradient<T>(ThreadPool&, const ConvShape&, const T*, const T*,       \
                                       const T*, T*, Workspace, const Kernels&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math

#include "kernels/conv/conv_primitive.h"

#include "kernels/common/scratch_pool.h"
#include "kernels/conv/conv_direct.h"
#include "kernels/conv/conv_winograd.h"
#include "kernels/conv/strided_conv.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index block_rows = 512;
constexpr Index block_positions = 256;

// Pointwise: a product for each image, the weights being shared.
GemmShape pointwise_shape(const ConvShape& s) {
  return {s.out_channels, volume(s.out), s.in_channels, false, false, 0, 0, 0};
}

template <class T>
GemmCall<T> tile_call(const ConvPlan& plan, Index channels, Index positions) {
  GemmCall<T> call{};
  call.m = plan.out_group;
  call.n = positions;
  call.k = channels * plan.taps;
  call.a_row = plan.depth;
  call.a_col = 1;
  call.b_col = 1;
  call.b_packed = true;
  call.ldc = plan.out_plane;
  call.alpha = 1;
  return call;
}

template <class T>
struct General {
  General(const ConvShape& s, const Kernels& kernels)
      : plan(s, block_rows, block_positions, kernel_set<T>(kernels).gemm->nr),
        columns(align_up(static_cast<std::size_t>(plan.channels * plan.taps * plan.tile + 64) *
                         sizeof(T))),
        bytes(columns + scratch_of(tile_call<T>(plan, plan.channels, plan.tile), kernels)) {}
  ConvPlan plan;
  std::size_t columns;  // bytes
  std::size_t bytes;
};

template <class T>
void run_general(ThreadPool& pool, const ConvShape& s, const T* x, const T* w, const T* bias, T* y,
                 Activation activation, Workspace workspace, const Kernels& kernels) {
  const General<T> general(s, kernels);
  const ConvPlan& p = general.plan;
  const auto& set = kernel_set<T>(kernels);
  const auto body = [&](std::byte* scratch, Index begin, Index end) {
    T* const columns = reinterpret_cast<T*>(scratch);
    for (Index task = begin; task < end; ++task) {
      const Index image = task / (p.tiles * s.groups);
      const Index group = task / p.tiles % s.groups;
      const Index first = task % p.tiles * p.tile;
      const Index last = std::min(p.out_plane, first + p.tile);
      for (Index channel = 0; channel < p.in_group; channel += p.channels) {
        const Index count = std::min(p.channels, p.in_group - channel);
        const bool done = channel + count == p.in_group;
        set.columns->gather(column_block(s, count, first, last, set.gemm->nr),
                            x + (image * s.in_channels + group * p.in_group + channel) * p.in_plane,
                            columns);
        auto call = tile_call<T>(p, count, last - first);
        call.a = w + group * p.out_group * p.depth + channel * p.taps;
        call.b = columns;
        call.c = y + (image * s.out_channels + group * p.out_group) * p.out_plane + first;
        call.beta = channel == 0 ? T{0} : T{1};
        call.row_bias = done && bias ? bias + group * p.out_group : nullptr;
        call.activation = done ? activation : Activation::none;
        set.gemm->run(call, scratch + general.columns);
      }
    }
  };
  const Index work = std::max<Index>(1, p.out_group * p.depth * p.tile);
  ScratchPool(workspace, general.bytes)
      .for_chunks(pool, s.batch * s.groups * p.tiles, std::max<Index>(1, (Index{1} << 20) / work),
                  body);
}

template <class T>
void run_lanes(ThreadPool& pool, const ConvShape& s, const T* x, const T* w, const T* bias, T* y,
               Activation activation, Workspace workspace, const Kernels& kernels) {
  const auto& lanes = *kernel_set<T>(kernels).lanes;
  const Plane plane = plane_of(s);
  const LaneTasks<T> tasks(s, kernels);
  tasks.run(pool, workspace, [&](Index c, std::byte* scratch) {
    lanes.forward(plane, tasks.block(c), x + c * tasks.in, w + c * volume(s.kernel),
                  bias ? bias + c : nullptr, activation, y + c * tasks.out, scratch);
  });
}

template <class T>
void run_depthwise(ThreadPool& pool, const ConvShape& s, const T* x, const T* w, const T* bias,
                   T* y, Activation activation, Workspace workspace, const Kernels& kernels) {
  if (takes_lanes<T>(s, kernels)) {
    return run_lanes(pool, s, x, w, bias, y, activation, workspace, kernels);
  }
  const auto& planes = *kernel_set<T>(kernels).planes;
  const Plane plane = plane_of(s);
  const Index in = plane.in_h * plane.in_w;
  const Index out = plane.out_h * plane.out_w;
  const Index taps = volume(s.kernel);
  const auto body = [&](std::byte* scratch, Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      const Index channel = i / layers(s) % s.groups;
      planes.forward(plane, x + i * in, w + channel * taps, bias ? bias[channel] : T{0}, activation,
                     y + i * out, scratch);
    }
  };
  const Index grain = std::max<Index>(1, (Index{1} << 17) / std::max<Index>(1, out * taps));
  ScratchPool(workspace, depthwise_bytes<T>(s, kernels))
      .for_chunks(pool, s.batch * s.groups * layers(s), grain, body);
}

}  // namespace

template <class T>
std::size_t conv_workspace(const ConvShape& s, int threads, const Kernels& kernels) {
  if (is_empty(s)) return 0;
  if (takes_direct<T>(s, Pass::forward, kernels)) {
    return direct_workspace<T>(s, Pass::forward, threads, kernels);
  }
  if (takes_winograd<T>(s, kernels)) {
    return winograd_workspace<T>(s, Pass::forward, threads, kernels);
  }
  if (takes_window<T>(s, Pass::forward, kernels)) {
    return window_workspace<T>(s, Pass::forward, threads, kernels);
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
void conv(ThreadPool& pool, const ConvShape& s, const T* x, const T* w, const T* bias, T* y,
          Activation activation, Workspace workspace, const Kernels& kernels) {
  if (is_empty(s)) return;
  if (takes_direct<T>(s, Pass::forward, kernels)) {
    return direct(pool, s, Pass::forward, x, w, bias, activation, y, workspace, kernels);
  }
  if (takes_winograd<T>(s, kernels)) {
    return winograd(pool, s, Pass::forward, x, w, bias, activation, y, workspace, kernels);
  }
  if (takes_window<T>(s, Pass::forward, kernels)) {
    return window(pool, s, Pass::forward, x, w, bias, activation, y, workspace, kernels);
  }
  switch (path_of(s)) {
    case ConvPath::pointwise: {
      GemmBatch batch;
      batch.count = s.batch;
      batch.stride_b = s.in_channels * volume(s.in);
      batch.stride_c = s.out_channels * volume(s.out);
      GemmOptions<T> options;
      options.row_bias = bias;
      options.activation = activation;
      gemm(pool, pointwise_shape(s), batch, w, x, y, options, workspace, kernels);
      return;
    }
    case ConvPath::depthwise:
      return run_depthwise(pool, s, x, w, bias, y, activation, workspace, kernels);
    case ConvPath::general:
      return run_general(pool, s, x, w, bias, y, activation, workspace, kernels);
  }
}

#define ONDINE_INSTANTIATE(T)                                                            \
  template std::size_t conv_workspace<T>(const ConvShape&, int, const Kernels&);         \
  template void conv<T>(ThreadPool&, const ConvShape&, const T*, const T*, const T*, T*, \
                        Activation, Workspace, const Kernels&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math

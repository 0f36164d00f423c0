// dw = sum over images and tiles of dy columns^T. A task owns some rows and columns of dw and adds
// all images in order, so that the number of threads changes no bit.
#include "kernels/common/scratch_pool.h"
#include "kernels/conv/conv_direct.h"
#include "kernels/conv/conv_primitive.h"
#include "kernels/conv/conv_winograd.h"
#include "kernels/conv/strided_conv.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index block_positions = 512;

// Columns of dw of a task: enough tasks for a few threads, but not so few columns that packing dy
// counts.
Index block_rows(const ConvShape& s) {
  const Index depth = s.in_channels / s.groups * volume(s.kernel);
  return std::clamp<Index>(depth * s.groups / 8, 96, 320);
}

template <class T>
GemmCall<T> tile_call(const ConvPlan& plan, bool pointwise, Index rows, Index channels,
                      Index positions) {
  GemmCall<T> call{};
  call.m = rows;
  call.n = channels * plan.taps;
  call.k = positions;
  call.a_row = plan.out_plane;
  call.a_col = 1;
  call.b_row = 1;
  call.b_col = pointwise ? plan.in_plane : plan.tile;
  call.ldc = plan.depth;
  call.alpha = 1;
  return call;
}

template <class T>
struct General {
  General(const ConvShape& s, const Kernels& kernels)
      : plan(s, block_rows(s), block_positions, 16),
        pointwise(is_pointwise(s)),
        rows(even_piece(plan.out_group, 512)),
        columns(pointwise
                    ? 0
                    : align_up(static_cast<std::size_t>(plan.channels * plan.taps * plan.tile) *
                               sizeof(T))),
        bytes(columns +
              scratch_of(tile_call<T>(plan, pointwise, rows, plan.channels, plan.tile), kernels)) {}
  ConvPlan plan;
  bool pointwise;
  Index rows;           // of dw, of a task
  std::size_t columns;  // bytes
  std::size_t bytes;
};

template <class T>
void run_general(ThreadPool& pool, const ConvShape& s, const T* x, const T* dy, T* dw,
                 Workspace workspace, const Kernels& kernels) {
  const General<T> general(s, kernels);
  const ConvPlan& p = general.plan;
  const auto& set = kernel_set<T>(kernels);
  const Index row_blocks = (p.out_group + general.rows - 1) / general.rows;
  const auto body = [&](std::byte* scratch, Index begin, Index end) {
    T* const columns = reinterpret_cast<T*>(scratch);
    for (Index task = begin; task < end; ++task) {
      const Index group = task / (row_blocks * p.blocks);
      const Index row = task / p.blocks % row_blocks * general.rows;
      const Index rows = std::min(general.rows, p.out_group - row);
      const Index channel = task % p.blocks * p.channels;
      const Index count = std::min(p.channels, p.in_group - channel);
      for (Index image = 0; image < s.batch; ++image) {
        const T* const source =
            x + (image * s.in_channels + group * p.in_group + channel) * p.in_plane;
        for (Index first = 0; first < p.out_plane; first += p.tile) {
          const Index last = std::min(p.out_plane, first + p.tile);
          auto call = tile_call<T>(p, general.pointwise, rows, count, last - first);
          if (general.pointwise) {
            call.b = source + first;
          } else {
            set.columns->gather(column_block(s, count, first, last, p.tile), source, columns);
            call.b = columns;
          }
          call.a = dy + (image * s.out_channels + group * p.out_group + row) * p.out_plane + first;
          call.c = dw + (group * p.out_group + row) * p.depth + channel * p.taps;
          call.beta = image == 0 && first == 0 ? T{0} : T{1};
          set.gemm->run(call, scratch + general.columns);
        }
      }
    }
  };
  const Index work = std::max<Index>(1, general.rows * p.channels * p.taps * p.out_plane * s.batch);
  ScratchPool(workspace, general.bytes)
      .for_chunks(pool, s.groups * row_blocks * p.blocks,
                  std::max<Index>(1, (Index{1} << 20) / work), body);
}

template <class T>
void run_lanes(ThreadPool& pool, const ConvShape& s, const T* x, const T* dy, T* dw,
               Workspace workspace, const Kernels& kernels) {
  const auto& lanes = *kernel_set<T>(kernels).lanes;
  const Plane plane = plane_of(s);
  const LaneTasks<T> tasks(s, kernels);
  tasks.run(pool, workspace, [&](Index c, std::byte* scratch) {
    lanes.weight_gradient(plane, tasks.block(c), x + c * tasks.in, dy + c * tasks.out,
                          dw + c * volume(s.kernel), scratch);
  });
}

template <class T>
void run_depthwise(ThreadPool& pool, const ConvShape& s, const T* x, const T* dy, T* dw,
                   Workspace workspace, const Kernels& kernels) {
  if (takes_lanes<T>(s, kernels)) {
    return run_lanes(pool, s, x, dy, dw, workspace, kernels);
  }
  const auto& planes = *kernel_set<T>(kernels).planes;
  const Plane plane = plane_of(s);
  const Index in = plane.in_h * plane.in_w;
  const Index out = plane.out_h * plane.out_w;
  const Index taps = volume(s.kernel);
  const auto body = [&](std::byte* scratch, Index first, Index last) {
    for (Index channel = first; channel < last; ++channel) {
      T* const target = dw + channel * taps;
      for (Index i = 0; i < taps; ++i) target[i] = 0;
      for (Index image = 0; image < s.batch; ++image) {
        for (Index layer = 0; layer < layers(s); ++layer) {
          const Index i = (image * s.groups + channel) * layers(s) + layer;
          planes.weight_gradient(plane, x + i * in, dy + i * out, target, scratch);
        }
      }
    }
  };
  const Index work = std::max<Index>(1, out * layers(s) * taps * s.batch);
  ScratchPool(workspace, depthwise_bytes<T>(s, kernels))
      .for_chunks(pool, s.groups, std::max<Index>(1, (Index{1} << 17) / work), body);
}

}  // namespace

template <class T>
std::size_t conv_weight_gradient_workspace(const ConvShape& s, int threads,
                                           const Kernels& kernels) {
  if (is_empty(s)) return 0;
  if (takes_direct<T>(s, Pass::weight_gradient, kernels)) {
    return direct_weight_gradient_workspace<T>(s, threads, kernels);
  }
  if (takes_winograd<T>(s, kernels)) {
    return winograd_weight_gradient_workspace<T>(s, threads, kernels);
  }
  if (takes_window<T>(s, Pass::weight_gradient, kernels)) {
    return window_weight_gradient_workspace<T>(s, threads, kernels);
  }
  if (path_of(s) == ConvPath::depthwise) {
    return ScratchPool::bytes(depthwise_bytes<T>(s, kernels), threads);
  }
  return ScratchPool::bytes(General<T>(s, kernels).bytes, threads);
}

template <class T>
void conv_weight_gradient(ThreadPool& pool, const ConvShape& s, const T* x, const T* dy, T* dw,
                          Workspace workspace, const Kernels& kernels) {
  if (is_empty(s)) {
    const Index weights = s.out_channels * (s.in_channels / s.groups) * volume(s.kernel);
    kernel_set<T>(kernels).vector->fill(dw, T{0}, weights);
    return;
  }
  if (takes_direct<T>(s, Pass::weight_gradient, kernels)) {
    return direct_weight_gradient(pool, s, x, dy, dw, workspace, kernels);
  }
  if (takes_winograd<T>(s, kernels)) {
    return winograd_weight_gradient(pool, s, x, dy, dw, workspace, kernels);
  }
  if (takes_window<T>(s, Pass::weight_gradient, kernels)) {
    return window_weight_gradient(pool, s, x, dy, dw, workspace, kernels);
  }
  if (path_of(s) == ConvPath::depthwise) {
    return run_depthwise(pool, s, x, dy, dw, workspace, kernels);
  }
  run_general(pool, s, x, dy, dw, workspace, kernels);
}

#define ONDINE_INSTANTIATE(T)                                                                    \
  template std::size_t conv_weight_gradient_workspace<T>(const ConvShape&, int, const Kernels&); \
  template void conv_weight_gradient<T>(ThreadPool&, const ConvShape&, const T*, const T*, T*,   \
                                        Workspace, const Kernels&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math

// max_roi_pool.cpp — MaxRoiPool: the maximum over the cells of regions on whole pixels.
// MaxRoiPoolGrad (ai.ondine): (dy, x, rois) -> dx. Regions have no derivative.
#include <cmath>

#include "core/stop.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/image/region_of_interest.h"

namespace ondine::kernels::ops {
namespace {

// MaxRoiPool: a region is (image, x0, y0, x1, y1) with both corners inside.
struct PoolMode {
  std::vector<std::int64_t> pooled;
  double scale;

  explicit PoolMode(const NodeView& node)
      : pooled(node.attr_ints("pooled_shape")), scale(double{node.attr_float("spatial_scale", 1)}) {
    if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1) {
      fail(ErrorCode::mismatch, "pooled_shape must hold two sizes above 0");
    }
  }
};

struct Span {
  std::int64_t first, last;
};

// Pixels of cell `at` of `cells` along one axis.
Span cell_span(double low, double high, std::int64_t at, std::int64_t cells, double scale,
               std::int64_t pixels) {
  const double start = std::round(low * scale);
  const double size =
      std::max(std::round(high * scale) - start + 1, 1.0) / static_cast<double>(cells);
  const auto bound = [&](double p) {
    return static_cast<std::int64_t>(
        std::min(std::max(p + start, 0.0), static_cast<double>(pixels)));
  };
  return {bound(std::floor(static_cast<double>(at) * size)),
          bound(std::ceil(static_cast<double>(at + 1) * size))};
}

void infer_max(InferContext& context) {
  const PoolMode mode(context);
  require_same_dtype(context, {0, 1});
  const Dims x = dims_of_rank(context, 0, 4, "X");
  const Dims rois = dims_of_rank(context, 1, 2, "rois");
  unify(rois[1], 5, "coordinates of a region");
  context.set_output(0, context.dtype(0), Dims{rois[0], x[1], mode.pooled[0], mode.pooled[1]});
}

// The pixel of the maximum of a cell; -1 for an empty one.
std::int64_t max_pixel(const PoolMode& mode, const Regions& r, const double* roi, std::int64_t cell,
                       const double* plane) {
  const Span y = cell_span(roi[2], roi[4], cell / r.columns, r.rows, mode.scale, r.height);
  const Span x = cell_span(roi[1], roi[3], cell % r.columns, r.columns, mode.scale, r.width);
  std::int64_t best = -1;
  checkpoint(32);
  for (std::int64_t i = y.first; i < y.last; ++i) {
    checkpoint(x.last - x.first);
    for (std::int64_t j = x.first; j < x.last; ++j) {
      const std::int64_t pixel = i * r.width + j;
      if (best < 0 || plane[pixel] > plane[best]) best = pixel;
    }
  }
  return best;
}

void require_finite(const double* rois, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(std::abs(rois[i]) < 0x1p40)) fail(ErrorCode::mismatch, "a region holds ", rois[i]);
  }
}

template <bool gradient>
Kernel bind_max(BindContext& context) {
  const PoolMode mode(context);
  const std::size_t at = gradient ? 1 : 0;
  const Shape shape = context.shape(at);
  const Regions r{context.shape(at + 1)[0], shape[1],       shape[2], shape[3],
                  mode.pooled[0],           mode.pooled[1], shape[0]};
  const std::int64_t out_size = r.count * r.channels * r.cells();
  if (gradient && context.shape(0).size() != out_size) {
    fail(ErrorCode::mismatch, "dy has shape ", context.shape(0));
  }
  Scratch scratch;
  const ComputeIn<double> dy(context, scratch, 0);
  const ComputeIn<double> x(context, scratch, at);
  const ComputeIn<double> rois(context, scratch, at + 1);
  const std::int64_t size = gradient ? shape.size() : out_size;
  const ComputeOut<double> out(context, scratch, 0, size);
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* from = gradient ? dy(call) : nullptr;
    const double* in = x(call);
    const double* regions = rois(call);
    require_finite(regions, r.count * 5);
    double* to = out.data(call);
    std::fill_n(to, size, 0.0);
    call.pool().for_chunks(r.channels, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto c = first; c < last; ++c) {
        for (std::int64_t n = 0; n < r.count; ++n) {
          const double* roi = regions + n * 5;
          const std::int64_t plane = (r.image(roi[0]) * r.channels + c) * r.plane();
          for (std::int64_t cell = 0; cell < r.cells(); ++cell) {
            const std::int64_t pixel = max_pixel(mode, r, roi, cell, in + plane);
            const std::int64_t y = (n * r.channels + c) * r.cells() + cell;
            if (pixel < 0) continue;
            if (gradient) {
              to[plane + pixel] += from[y];
            } else {
              to[y] = in[plane + pixel];
            }
          }
        }
      }
    });
    out.store(call);
  };
}

std::vector<Val> grad_max(GradContext& g) {
  return {g.builder().node("MaxRoiPoolGrad", {g.dy(0), g.x(0), g.x(1)}, g.node().attributes,
                           ondine_domain)};
}

}  // namespace

extern const OpDef max_roi_pool{.name = "MaxRoiPool",
                                .infer = infer_max,
                                .bind = bind_max<false>,
                                .grad = grad_max,
                                .no_gradient = 0b10};
extern const OpDef max_roi_pool_grad{.name = "MaxRoiPoolGrad",
                                     .domain = ondine_domain,
                                     .infer = infer_like_second,
                                     .bind = bind_max<true>};

}  // namespace ondine::kernels::ops

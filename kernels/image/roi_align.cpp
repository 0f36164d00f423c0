// roi_align.cpp — RoiAlign: each cell of each region is the mean (or the largest weighted corner)
// of points that are interpolated in x; 16 added coordinate_transformation_mode (half_pixel since
// then, output_half_pixel before). RoiAlignGrad (ai.ondine): (dy, x, rois, batch_indices) -> dx.
// Regions have no derivative.
#include <cmath>
#include <limits>

#include "core/checked.h"
#include "core/stop.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/image/region_of_interest.h"
#include "kernels/image/roi_align.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

AlignMode::AlignMode(const NodeView& node)
    : rows(node.attr_int("output_height", 1)),
      columns(node.attr_int("output_width", 1)),
      sampling(node.attr_int("sampling_ratio", 0)),
      scale(double{node.attr_float("spatial_scale", 1)}) {
  if (rows < 1 || columns < 1 || sampling < 0) {
    fail(ErrorCode::mismatch, "output dims ", rows, " and ", columns, ", sampling_ratio ",
         sampling);
  }
  const std::string transformation = node.attr_string(
      "coordinate_transformation_mode", node.version() >= 16 ? "half_pixel" : "output_half_pixel");
  half_pixel = transformation == "half_pixel";
  if (!half_pixel && transformation != "output_half_pixel") {
    fail(ErrorCode::invalid_model, "unknown coordinate_transformation_mode ",
         ondine::quoted(transformation));
  }
  const std::string mode = node.attr_string("mode", "avg");
  maximum = mode == "max";
  if (!maximum && mode != "avg") {
    fail(ErrorCode::invalid_model, "unknown mode ", ondine::quoted(mode));
  }
}

}  // namespace ondine::kernels

namespace ondine::kernels::ops {
namespace {

struct Corner {
  std::int64_t pixel;
  double weight;
};

// The two neighbours of p along an axis; false where p is too far outside.
bool neighbours(double p, std::int64_t size, Corner (&two)[2]) {
  if (!(p >= -1 && p <= static_cast<double>(size))) return false;
  p = std::max(p, 0.0);
  auto low = static_cast<std::int64_t>(p);
  if (low >= size - 1) {
    low = size - 1;
    p = static_cast<double>(low);
  }
  const double part = p - static_cast<double>(low);
  two[0] = {low, 1 - part};
  two[1] = {std::min(low + 1, size - 1), part};
  return true;
}

// Calls body(corners of one sample) for all samples of a cell; returns how many there are.
template <class Body>
double for_samples(const AlignMode& mode, const Regions& r, const double* roi, std::int64_t cell,
                   Body&& body) {
  const double shift = mode.half_pixel ? 0.5 : 0;
  const double x0 = roi[0] * mode.scale - shift;
  const double y0 = roi[1] * mode.scale - shift;
  double w = roi[2] * mode.scale - shift - x0;
  double h = roi[3] * mode.scale - shift - y0;
  if (!mode.half_pixel) {
    w = std::max(w, 1.0);
    h = std::max(h, 1.0);
  }
  const double cell_h = h / static_cast<double>(r.rows);
  const double cell_w = w / static_cast<double>(r.columns);
  const auto samples = [&](double size) {
    if (mode.sampling > 0) return mode.sampling;
    if (!(size < 0x1p20)) fail(ErrorCode::limit, "a region whose cells span ", size, " pixels");
    return static_cast<std::int64_t>(std::max(0.0, std::ceil(size)));
  };
  const std::int64_t grid_h = samples(cell_h);
  const std::int64_t grid_w = samples(cell_w);
  constexpr std::int64_t max_samples = std::int64_t{1} << 24;
  if (grid_h > max_samples || grid_w > max_samples || grid_h * grid_w > max_samples) {
    fail(ErrorCode::limit, "a cell of a region with ", grid_h, " x ", grid_w, " samples");
  }
  const auto row = static_cast<double>(cell / r.columns);
  const auto column = static_cast<double>(cell % r.columns);
  checkpoint(32);
  for (std::int64_t i = 0; i < grid_h; ++i) {
    const double y =
        y0 + (row + (static_cast<double>(i) + 0.5) / static_cast<double>(grid_h)) * cell_h;
    for_pieces(grid_w, 32, [&](std::int64_t first, std::int64_t last) {
      for (auto j = first; j < last; ++j) {
        const double x =
            x0 + (column + (static_cast<double>(j) + 0.5) / static_cast<double>(grid_w)) * cell_w;
        Corner vertical[2], horizontal[2];
        Corner corners[4]{};
        if (neighbours(y, r.height, vertical) && neighbours(x, r.width, horizontal)) {
          for (int k = 0; k < 4; ++k) {
            const Corner& v = vertical[k / 2];
            const Corner& u = horizontal[k % 2];
            corners[k] = {v.pixel * r.width + u.pixel, v.weight * u.weight};
          }
        }
        body(corners);
      }
    });
  }
  return static_cast<double>(std::max<std::int64_t>(grid_h * grid_w, 1));
}

// The samples of a cell in one plane: their sum and number, and the greatest weighted corner.
struct Cell {
  double sum = 0;
  double samples = 0;
  double maximum = -std::numeric_limits<double>::infinity();
  Corner at{0, 0};
};
Cell read_cell(const AlignMode& mode, const Regions& r, const double* roi, std::int64_t cell,
               const double* plane) {
  Cell result;
  result.samples = for_samples(mode, r, roi, cell, [&](const Corner(&corners)[4]) {
    for (const Corner& corner : corners) {
      const double part = corner.weight * plane[corner.pixel];
      result.sum += part;
      if (part > result.maximum) {
        result.maximum = part;
        result.at = corner;
      }
    }
  });
  return result;
}

void infer_align(InferContext& context) {
  const AlignMode mode(context);
  require_same_dtype(context, {0, 1});
  const Dims x = dims_of_rank(context, 0, 4, "X");
  const Dims rois = dims_of_rank(context, 1, 2, "rois");
  const Dims indices = dims_of_rank(context, 2, 1, "batch_indices");
  if (context.dtype(2) != DType::int64) context.reject("batch_indices must be int64");
  unify(rois[1], 4, "coordinates of a region");
  const Dim count = unify(rois[0], indices[0], "numbers of regions");
  context.set_output(0, context.dtype(0), Dims{count, x[1], mode.rows, mode.columns});
}

Regions align_regions(const AlignMode& mode, const Shape& x, const Shape& rois) {
  if (x[2] == 0 || x[3] == 0) fail(ErrorCode::mismatch, "regions of an empty image ", x);
  return {rois[0], x[1], x[2], x[3], mode.rows, mode.columns, x[0]};
}

Kernel bind_align(BindContext& context) {
  const AlignMode mode(context);
  const Regions r = align_regions(mode, context.shape(0), context.shape(1));
  Scratch scratch;
  const ComputeIn<double> x(context, scratch, 0);
  const ComputeIn<double> rois(context, scratch, 1);
  const ComputeOut<double> y(context, scratch, 0, r.count * r.channels * r.cells());
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* in = x(call);
    const double* regions = rois(call);
    double* out = y.data(call);
    call.pool().for_chunks(r.count, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto n = first; n < last; ++n) {
        const std::int64_t image = r.image(static_cast<double>(call.in<std::int64_t>(2)[n]));
        for (std::int64_t c = 0; c < r.channels; ++c) {
          const double* plane = in + (image * r.channels + c) * r.plane();
          for (std::int64_t cell = 0; cell < r.cells(); ++cell) {
            const Cell read = read_cell(mode, r, regions + n * 4, cell, plane);
            const double maximum = std::isfinite(read.maximum) ? read.maximum : 0;
            out[(n * r.channels + c) * r.cells() + cell] =
                mode.maximum ? maximum : read.sum / read.samples;
          }
        }
      }
    });
    y.store(call);
  };
}

std::vector<Val> grad_align(GradContext& g) {
  return {g.builder().node(
      "RoiAlignGrad", {g.dy(0), g.x(0), g.x(1), g.x(2)},
      [&] {
        Attributes attributes = g.node().attributes;
        if (g.version() < 16) {
          attributes.emplace_back("coordinate_transformation_mode",
                                  std::string("output_half_pixel"));
        }
        return attributes;
      }(),
      ondine_domain)};
}

// The mean is linear in x.
std::vector<Val> grad_of_align_grad(GradContext& g) {
  if (g.attr_string("mode", "avg") != "avg") {
    fail(ErrorCode::unsupported, "RoiAlign has no second derivative in mode max");
  }
  return {g.builder().node("RoiAlign", {g.dy(0), g.x(2), g.x(3)}, g.node().attributes)};
}

Kernel bind_align_grad(BindContext& context) {
  const AlignMode mode(context);
  const Regions r = align_regions(mode, context.shape(1), context.shape(2));
  if (context.shape(0).size() != r.count * r.channels * r.cells()) {
    fail(ErrorCode::mismatch, "dy has shape ", context.shape(0));
  }
  const std::int64_t size = context.shape(1).size();
  Scratch scratch;
  const ComputeIn<double> dy(context, scratch, 0);
  const ComputeIn<double> x(context, scratch, 1);
  const ComputeIn<double> rois(context, scratch, 2);
  const ComputeOut<double> dx(context, scratch, 0, size);
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* from = dy(call);
    const double* in = x(call);
    const double* regions = rois(call);
    double* to = dx.data(call);
    std::fill_n(to, size, 0.0);
    // Regions may overlap, channels do not.
    call.pool().for_chunks(r.channels, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto c = first; c < last; ++c) {
        for (std::int64_t n = 0; n < r.count; ++n) {
          const std::int64_t image = r.image(static_cast<double>(call.in<std::int64_t>(3)[n]));
          const std::int64_t plane = (image * r.channels + c) * r.plane();
          for (std::int64_t cell = 0; cell < r.cells(); ++cell) {
            const double d = from[(n * r.channels + c) * r.cells() + cell];
            const Cell read = read_cell(mode, r, regions + n * 4, cell, in + plane);
            if (mode.maximum) {
              to[plane + read.at.pixel] += read.at.weight * d;
              continue;
            }
            for_samples(mode, r, regions + n * 4, cell, [&](const Corner(&corners)[4]) {
              for (const Corner& corner : corners) {
                to[plane + corner.pixel] += corner.weight * d / read.samples;
              }
            });
          }
        }
      }
    });
    dx.store(call);
  };
}

}  // namespace

extern const OpDef roi_align{.name = "RoiAlign",
                             .infer = infer_align,
                             .bind = bind_align,
                             .grad = grad_align,
                             .no_gradient = 0b110};
extern const OpDef roi_align_grad{.name = "RoiAlignGrad",
                                  .domain = ondine_domain,
                                  .infer = infer_like_second,
                                  .bind = bind_align_grad,
                                  .grad = grad_of_align_grad,
                                  .expand = expand_align_grad,
                                  .no_gradient = 0b1110};

}  // namespace ondine::kernels::ops

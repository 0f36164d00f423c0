// deform_conv.cpp — a convolution over 2 axes whose window elements are moved by `offset` and
// weighted by `mask`; between pixels x is interpolated linearly, outside it is 0. It expands into
// DeformColumns and a product with W. Version 22 added bfloat16.
// DeformColumns (ai.ondine): (x, offset, mask, kernel extents) -> [N, C kernel, outputs];
// DeformColumnsGrad: (dcolumns, x, offset, mask, kernel extents) -> dx, doffset, dmask, which has
// no derivative itself.
#include <cmath>

#include "core/checked.h"
#include "kernels/ops/infer_help.h"
#include "kernels/ops/op.h"
#include "kernels/ops/wide.h"
#include "kernels/ops/window.h"

namespace ondine::kernels::ops {
namespace {

std::int64_t count_of(const NodeView& node, const char* name) {
  const std::int64_t count = node.attr_int(name, 1);
  if (count < 1)
    fail(ErrorCode::mismatch, std::string_view(name), " is ", count, ", must be 1 or more");
  return count;
}

void infer(InferContext& context) {
  require_same_dtype(context, {0, 1, 2, 3, 4});
  const std::int64_t group = count_of(context, "group");
  const std::int64_t offset_group = count_of(context, "offset_group");
  for (std::size_t i = 0; i < 3; ++i) {
    if (context.ranked(i) && context.rank(i) != 4) {
      fail(ErrorCode::unsupported, "DeformConv over ", context.rank(i), " dims, 4 are needed");
    }
  }
  const Dims x = dims_of_rank(context, 0, 4, "X");
  const Dims w = dims_of_rank(context, 1, 4, "W");
  const Dims offset = dims_of_rank(context, 2, 4, "offset");
  unify(x[1], multiply(w[1], group), "channels of X and of W times group");
  if (w[0].known() && w[0].size() % group != 0) {
    context.reject(w[0].size(), " output channels do not divide into ", group, " groups");
  }
  if (x[1].known() && x[1].size() % offset_group != 0) {
    context.reject(x[1].size(), " channels do not divide into ", offset_group, " offset groups");
  }
  Dims y{unify(x[0], offset[0], "batches"), w[0], offset[2], offset[3]};
  if (w[2].known() && w[3].known()) {
    const std::vector<std::int64_t> kernel{w[2].size(), w[3].size()};
    const auto given = context.attr_ints("kernel_shape");
    if (!given.empty() && given != kernel) context.reject("kernel_shape is not that of W");
    const Window window = read_window(context, kernel);
    for (std::size_t i = 0; i < 2; ++i) {
      y[2 + i] = unify(y[2 + i], window_extent(window.axes[i], x[2 + i], AutoPad::notset, false),
                       "output extents and those of offset");
    }
    const std::int64_t elements = checked_mul(offset_group, checked_mul(kernel[0], kernel[1]));
    unify(offset[1], checked_mul(2, elements), "channels of offset");
    if (context.has_input(4)) {
      const Dims mask = dims_of_rank(context, 4, 4, "mask");
      unify(mask[0], x[0], "batches");
      unify(mask[1], elements, "channels of mask");
      unify(mask[2], y[2], "extents of mask");
      unify(mask[3], y[3], "extents of mask");
    }
  }
  if (context.has_input(3)) unify(dims_of_rank(context, 3, 1, "B")[0], w[0], "output channels");
  context.set_output(0, context.dtype(0), y);
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val w = context.x(1);
  const std::int64_t group = count_of(context, "group");
  Attributes attributes = context.node().attributes;
  std::erase_if(attributes,
                [](const Attribute& a) { return a.name == "group" || a.name == "kernel_shape"; });
  const Val kernel = graph::slice(graph::shape_of(w), 2, 4, 0);
  const Val columns = b.node("DeformColumns", {context.x(0), context.x(2), context.x(4), kernel},
                             attributes, ondine_domain);
  // [N, group, C / group kernel, outputs] and [group, M / group, C / group kernel].
  const Val depth = graph::dim_of(columns, 1) / b.int64(group);
  const Val outputs[] = {graph::dim_of(columns, 0), b.int64s({group}), depth,
                         graph::dim_of(columns, 2)};
  const Val grouped = graph::reshape(columns, graph::concat(outputs, 0));
  const Val rows[] = {b.int64s({group}), graph::dim_of(w, 0) / b.int64(group), depth};
  const Val y = graph::matmul(graph::reshape(w, graph::concat(rows, 0)), grouped);
  const Val shape[] = {graph::dim_of(columns, 0), graph::dim_of(w, 0),
                       graph::slice(graph::shape_of(context.x(2)), 2, 4, 0)};
  const Val image = graph::reshape(y, graph::concat(shape, 0));
  return {context.x(3) ? image + graph::unsqueeze(context.x(3), {1, 2}) : image};
}

struct Columns {
  std::int64_t batch, channels, groups, height, width, kernel_h, kernel_w, out_h, out_w;
  WindowAxis vertical, horizontal;

  Columns(const NodeView& node, const Shape& x, const Shape& offset,
          std::span<const std::int64_t> kernel)
      : batch(x[0]),
        channels(x[1]),
        groups(count_of(node, "offset_group")),
        height(x[2]),
        width(x[3]),
        kernel_h(kernel[0]),
        kernel_w(kernel[1]),
        out_h(offset[2]),
        out_w(offset[3]) {
    const Window window = read_window(node, kernel);
    vertical = window.axes[0];
    horizontal = window.axes[1];
    if (channels % groups != 0 || offset[0] != batch ||
        offset[1] != 2 * groups * kernel_h * kernel_w) {
      fail(ErrorCode::mismatch, "offset ", offset, " does not fit x ", x);
    }
  }
  std::int64_t kernel() const noexcept { return kernel_h * kernel_w; }
  std::int64_t outputs() const noexcept { return out_h * out_w; }
  std::int64_t plane() const noexcept { return height * width; }
};

// The four pixels around a point: weights and their derivatives by row and column.
struct Pixel {
  std::int64_t at;
  double weight, by_row, by_column;
};

template <class Body>
void for_pixels(const Columns& c, double row, double column, Body&& body) {
  const bool far = !(row > -1 && column > -1 && row < static_cast<double>(c.height) &&
                     column < static_cast<double>(c.width));
  if (far) return;
  const double top = std::floor(row);
  const double left = std::floor(column);
  const double v = row - top;
  const double h = column - left;
  for (int k = 0; k < 4; ++k) {
    const bool low = k >= 2;
    const bool right = k % 2 == 1;
    const std::int64_t i = static_cast<std::int64_t>(top) + (low ? 1 : 0);
    const std::int64_t j = static_cast<std::int64_t>(left) + (right ? 1 : 0);
    if (i < 0 || j < 0 || i >= c.height || j >= c.width) continue;
    const double wv = low ? v : 1 - v;
    const double wh = right ? h : 1 - h;
    body(Pixel{i * c.width + j, wv * wh, low ? wh : -wh, right ? wv : -wv});
  }
}

// For every window element of every output in offset group g: where it lies, its place among the
// offsets and the mask.
template <class Body>
void for_points(const Columns& c, const double* offset, std::int64_t n, std::int64_t g,
                Body&& body) {
  for (std::int64_t k = 0; k < c.kernel(); ++k) {
    const std::int64_t element = (n * c.groups + g) * c.kernel() + k;
    for (std::int64_t o = 0; o < c.outputs(); ++o) {
      const std::int64_t by_row = 2 * element * c.outputs() + o;
      const std::int64_t by_column = by_row + c.outputs();
      const std::int64_t i =
          o / c.out_w * c.vertical.stride - c.vertical.begin + k / c.kernel_w * c.vertical.dilation;
      const std::int64_t j = o % c.out_w * c.horizontal.stride - c.horizontal.begin +
                             k % c.kernel_w * c.horizontal.dilation;
      body(static_cast<double>(i) + offset[by_row], static_cast<double>(j) + offset[by_column], k,
           o, by_row, by_column, element * c.outputs() + o);
    }
  }
}

std::vector<std::int64_t> kernel_extents(const BindContext& context, std::size_t i) {
  const Tensor* tensor = context.constant(i);
  if (tensor == nullptr || tensor->size() != 2) {
    fail(ErrorCode::unsupported, "kernel extents must be known when the node is bound");
  }
  const auto values = tensor->values<std::int64_t>();
  return {values.begin(), values.end()};
}

void infer_columns(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  const Dims x = dims_of_rank(context, 0, 4, "x");
  const Dims offset = dims_of_rank(context, 1, 4, "offset");
  const auto kernel = spelled_dims(context, 3);
  if (kernel && kernel->size() != 2) context.reject("two kernel extents are needed");
  const Dim elements = kernel ? product(*kernel) : Dim();
  context.set_output(0, context.dtype(0),
                     Dims{x[0], multiply(x[1], elements), multiply(offset[2], offset[3])});
}

Kernel bind_columns(BindContext& context) {
  const Columns c(context, context.shape(0), context.shape(1), kernel_extents(context, 3));
  Scratch scratch;
  const WideIn<double> x(context, scratch, 0);
  const WideIn<double> offset(context, scratch, 1);
  const WideIn<double> mask(context, scratch, 2);
  const WideOut<double> y(context, scratch, 0, c.batch * c.channels * c.kernel() * c.outputs());
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* from = x(call);
    const double* moved = offset(call);
    const double* weights = mask(call);
    double* to = y.data(call);
    const std::int64_t share = c.channels / c.groups;
    call.pool().for_chunks(c.batch * c.groups, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto at = first; at < last; ++at) {
        const std::int64_t n = at / c.groups;
        const std::int64_t g = at % c.groups;
        for_points(c, moved, n, g,
                   [&](double row, double column, std::int64_t k, std::int64_t o, std::int64_t,
                       std::int64_t, std::int64_t m) {
                     for (std::int64_t s = 0; s < share; ++s) {
                       const std::int64_t plane = n * c.channels + g * share + s;
                       double sum = 0;
                       for_pixels(c, row, column, [&](const Pixel& p) {
                         sum += p.weight * from[plane * c.plane() + p.at];
                       });
                       if (weights != nullptr) sum *= weights[m];
                       to[(plane * c.kernel() + k) * c.outputs() + o] = sum;
                     }
                   });
      }
    });
    y.store(call);
  };
}

std::vector<Val> grad_columns(GradContext& g) {
  const std::vector<Val> inputs{g.dy(0), g.x(0), g.x(1), g.x(2), g.x(3)};
  const auto parts = g.builder().nodes("DeformColumnsGrad", inputs, g.node().attributes,
                                       g.x(2) ? 3 : 2, ondine_domain);
  return {parts[0], parts[1], parts.size() > 2 ? parts[2] : Val()};
}

void infer_columns_grad(InferContext& context) {
  require_same_dtype(context, {0, 1, 2, 3});
  context.set_output(0, context.input(1));
  context.set_output(1, context.input(2));
  if (context.has_input(3)) context.set_output(2, context.input(3));
}

Kernel bind_columns_grad(BindContext& context) {
  const Columns c(context, context.shape(1), context.shape(2), kernel_extents(context, 4));
  const std::int64_t size = c.batch * c.channels * c.kernel() * c.outputs();
  if (context.shape(0).size() != size) {
    fail(ErrorCode::mismatch, "dcolumns has shape ", context.shape(0));
  }
  const std::int64_t elements = c.batch * c.groups * c.kernel() * c.outputs();
  Scratch scratch;
  const WideIn<double> dy(context, scratch, 0);
  const WideIn<double> x(context, scratch, 1);
  const WideIn<double> offset(context, scratch, 2);
  const WideIn<double> mask(context, scratch, 3);
  const WideOut<double> dx(context, scratch, 0, context.shape(1).size(), true);
  const WideOut<double> doffset(context, scratch, 1, 2 * elements, true);
  const WideOut<double> dmask(context, scratch, 2, elements, true);
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* from = dy(call);
    const double* image = x(call);
    const double* moved = offset(call);
    const double* weights = mask(call);
    double* to = dx.data(call);
    double* to_offset = doffset.data(call);
    double* to_mask = dmask.data(call);
    std::fill_n(to, c.batch * c.channels * c.plane(), 0.0);
    const std::int64_t share = c.channels / c.groups;
    call.pool().for_chunks(c.batch * c.groups, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto at = first; at < last; ++at) {
        const std::int64_t n = at / c.groups;
        const std::int64_t g = at % c.groups;
        for_points(c, moved, n, g,
                   [&](double row, double column, std::int64_t k, std::int64_t o,
                       std::int64_t by_row, std::int64_t by_column, std::int64_t m) {
                     const double weight = weights != nullptr ? weights[m] : 1;
                     double row_sum = 0;
                     double column_sum = 0;
                     double value_sum = 0;
                     for (std::int64_t s = 0; s < share; ++s) {
                       const std::int64_t plane = n * c.channels + g * share + s;
                       const double d = from[(plane * c.kernel() + k) * c.outputs() + o];
                       for_pixels(c, row, column, [&](const Pixel& p) {
                         const double v = image[plane * c.plane() + p.at];
                         to[plane * c.plane() + p.at] += d * weight * p.weight;
                         row_sum += d * v * p.by_row;
                         column_sum += d * v * p.by_column;
                         value_sum += d * v * p.weight;
                       });
                     }
                     to_offset[by_row] = weight * row_sum;
                     to_offset[by_column] = weight * column_sum;
                     to_mask[m] = value_sum;
                   });
      }
    });
    dx.store(call);
    doffset.store(call);
    if (weights != nullptr) dmask.store(call);
  };
}

}  // namespace

extern const OpDef deform_conv{.name = "DeformConv", .infer = infer, .expand = expand};
extern const OpDef deform_columns{.name = "DeformColumns",
                                  .domain = ondine_domain,
                                  .infer = infer_columns,
                                  .bind = bind_columns,
                                  .grad = grad_columns,
                                  .no_gradient = 0b1000};
extern const OpDef deform_columns_grad{.name = "DeformColumnsGrad",
                                       .domain = ondine_domain,
                                       .infer = infer_columns_grad,
                                       .bind = bind_columns_grad};

}  // namespace ondine::kernels::ops

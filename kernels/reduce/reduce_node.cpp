#include "kernels/reduce/reduce_node.h"

#include "kernels/common/kernel_output.h"
#include "kernels/common/kernel_scratch.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

struct Options {
  bool keepdims;
  bool noop;

  explicit Options(const NodeView& node)
      : keepdims(node.attr_int("keepdims", 1) != 0),
        noop(node.attr_int("noop_with_empty_axes", 0) != 0) {}
};

std::vector<bool> reduced_axes(std::span<const std::int64_t> axes, std::size_t rank, bool noop) {
  if (axes.empty()) return std::vector<bool>(rank, !noop);
  std::vector<bool> reduced(rank);
  for (const std::size_t axis : normalize_axes(axes, rank)) reduced[axis] = true;
  return reduced;
}

template <class Result, class Source>
Result result(const Source& x, const std::vector<bool>& reduced, bool keepdims) {
  Result out;
  for (std::size_t a = 0; a < reduced.size(); ++a) {
    if (!reduced[a]) out.push_back(x[a]);
    if (reduced[a] && keepdims) out.push_back(1);
  }
  return out;
}

}  // namespace

void infer_reduce(InferContext& context, std::int64_t input_from) {
  const Options options(context);
  const IntegerParameter axes(context, "axes", input_from, 1);
  const DType dtype = context.dtype(0);
  if (!axes.known()) {
    std::optional<Dims> unknown;
    if (context.ranked(0) && options.keepdims) unknown.emplace(context.rank(0));
    const auto count = axes.count();
    if (context.ranked(0) && !options.keepdims && count) {
      const auto n = static_cast<std::int64_t>(context.rank(0));
      if (*count > n) context.reject(*count, " axes for rank ", n);
      unknown.emplace(static_cast<std::size_t>(n - *count));
    }
    return context.set_output(0, dtype, unknown);
  }
  const auto values = axes.values();
  if (!context.ranked(0)) {
    const bool scalar = values.empty() && !options.noop && !options.keepdims;
    return context.set_output(0, dtype, scalar ? std::optional(Dims{}) : std::nullopt);
  }
  const auto reduced = reduced_axes(values, context.rank(0), options.noop);
  context.set_output(0, dtype, result<Dims>(context.dims(0), reduced, options.keepdims));
}

Kernel bind_reduce(BindContext& context, std::int64_t input_from, RunReduction run,
                   std::int64_t extra) {
  const Options options(context);
  const IntegerParameter axes(context, "axes", input_from, 1);
  const Shape x = context.shape(0);
  const Output output(context, 0);
  const auto scratch_size = [extra](const Reduction& r) {
    return r.partials() + r.outputs() * extra;
  };
  if (axes.known()) {
    const auto reduced = reduced_axes(axes.values(), x.rank(), options.noop);
    const Reduction reduction(x, reduced);
    const auto y = result<Shape>(x, reduced, options.keepdims);
    Scratch scratch;
    scratch.add<double>(scratch_size(reduction));
    scratch.request(context);
    return [=](KernelContext& call) {
      run(call, reduction, output.memory(call, y), call.workspace<double>());
    };
  }
  return [=](KernelContext& call) {
    const auto reduced = reduced_axes(axes.read(call), x.rank(), options.noop);
    const Reduction reduction(x, reduced);
    std::vector<double> scratch(static_cast<std::size_t>(scratch_size(reduction)));
    const auto y = result<Shape>(x, reduced, options.keepdims);
    run(call, reduction, output.memory(call, y), scratch.data());
  };
}

ReduceGrad::ReduceGrad(GradContext& g, std::int64_t input_from) : g_(&g) {
  const Options options(g);
  keepdims_ = options.keepdims;
  noop_ = options.noop;
  if (g.version() >= input_from) {
    axes_ = g.x(1);
  } else if (g.has_attr("axes")) {
    axes_ = g.builder().int64s(g.attr_ints("axes"));
  }
  known_axes_ = constant_integers(axes_);
}

Val ReduceGrad::keep(Val reduced) const {
  // Without axes the result is a scalar or, with noop_with_empty_axes, of x's shape.
  if (keepdims_ || (known_axes_ && known_axes_->empty())) return reduced;
  return reduced.builder().node("Unsqueeze", {reduced, axes_});
}

Val ReduceGrad::again(std::string_view op, Val x) const {
  return x.builder().node(
      op, {x, axes_},
      {{"keepdims", std::int64_t{1}}, {"noop_with_empty_axes", std::int64_t{noop_}}});
}

bool ReduceGrad::nothing() const { return noop_ && known_axes_ && known_axes_->empty(); }

}  // namespace ondine::kernels

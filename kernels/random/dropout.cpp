// dropout.cpp — training: y = x / (1 - ratio) where kept, 0 elsewhere, each element dropped with
// probability ratio; otherwise y = x and everything is kept.  dx = dy / (1 - ratio) where kept.
// 1 and 6: training unless is_test; 7 and 10: never (10: bool mask); 12: inputs ratio and
// training_mode, attribute seed.
#include <limits>

#include "kernels/common/convert_rows.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/op.h"
#include "kernels/common/scalar_input.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/random/random_rows.h"

namespace ondine::kernels::ops {
namespace {

bool by_inputs(const NodeView& node) { return node.version() >= 12; }
bool training_attribute(const NodeView& node) {
  return node.version() < 7 && node.attr_int("is_test", 0) == 0;
}

void check_ratio(double ratio) {
  if (!(ratio >= 0 && ratio < 1)) {
    fail(ErrorCode::mismatch, "ratio of Dropout is ", ratio, ", needed: 0 or more and below 1");
  }
}

// Reads the ratio and whether to drop at all.
struct Settings {
  bool inputs = false;
  bool has_training = false;
  bool training = false;
  bool wants_mask = false;
  double ratio = 0.5;
  ConvertRow read_ratio = nullptr;

  explicit Settings(const BindContext& context)
      : inputs(by_inputs(context)),
        has_training(inputs && context.has_input(2)),
        training(training_attribute(context)),
        wants_mask(context.has_output(1)) {
    if (!inputs) ratio = context.attr_float("ratio", 0.5F);
    if (has_training) require_one_element(context, 2, "training_mode");
    if (inputs && context.has_input(1)) {
      require_one_element(context, 1, "the ratio");
      read_ratio = row_to_double(context.dtype(1));
    }
  }

  template <class Mask>
  Mask* mask(const KernelContext& call) const {
    return wants_mask ? call.out<Mask>(1) : nullptr;
  }

  // The probability of dropping an element.
  double dropped(const KernelContext& call) const {
    if (!(has_training ? *call.in<bool>(2) : training)) return 0;
    double p = ratio;
    if (read_ratio != nullptr) read_ratio(&p, call.in<void>(1), 1);
    check_ratio(p);
    return p;
  }
};

template <class T, class Mask>
void drop(KernelContext& call, Mask* mask, const RandomRun& run, double p, std::int64_t n) {
  using Compute = compute_t<T>;
  const T* x = call.in<T>(0);
  T* y = call.out<T>(0);
  const auto scale = static_cast<Compute>(1 / (1 - p));
  const auto dropped = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(threshold(p), std::numeric_limits<std::uint32_t>::max()));
  call.pool().for_chunks(n, elementwise_grain, [&](std::int64_t first, std::int64_t last) {
    for_random_bits(run, first, last, [&](std::int64_t at, std::int64_t count, const auto* bits) {
#pragma GCC ivdep  // y may be x
      for (std::int64_t k = 0; k < count; ++k) {
        const Compute scaled = load(x[at + k]) * scale;
        y[at + k] = store<T>(bits[k] >= dropped ? scaled : Compute(0));
      }
      if (mask == nullptr) return;
      for (std::int64_t k = 0; k < count; ++k) {
        if constexpr (std::is_same_v<Mask, bool>) {
          mask[at + k] = bits[k] >= dropped;
        } else {
          mask[at + k] = store<T>(bits[k] >= dropped ? Compute(1) : Compute(0));
        }
      }
    });
  });
}

template <class T, class Mask>
void keep_all(KernelContext& call, Mask* mask, std::int64_t n) {
  const T* x = call.in<T>(0);
  T* y = call.out<T>(0);
  if (x != y) std::copy_n(x, n, y);
  if (mask == nullptr) return;
  if constexpr (std::is_same_v<Mask, bool>) {
    std::fill_n(mask, n, true);
  } else {
    std::fill_n(mask, n, store<T>(compute_t<T>(1)));
  }
}

void infer(InferContext& context) {
  context.set_output(0, context.input(0));
  Type mask = context.input(0);
  if (context.version() >= 10) mask.dtype = DType::boolean;
  context.set_output(1, std::move(mask));
  if (!by_inputs(context)) return check_ratio(context.attr_float("ratio", 0.5F));
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    if (!context.has_input(i) || !context.ranked(i)) continue;
    const Dim size = product(context.dims(i));
    if (size.known() && size.size() != 1) {
      context.reject("input ", i, " must be a scalar, found ", to_string(context.dims(i)));
    }
  }
}

Kernel bind(BindContext& context) {
  const Settings settings(context);
  const auto seed = seed_attribute(context);
  const std::int64_t n = context.shape(0).size();
  const bool bools = context.version() >= 10;
  return visit(context.dtype(0), Floats{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const double p = settings.dropped(call);
      const auto run = [&](auto* mask) {
        if (p == 0) return keep_all<T>(call, mask, n);
        drop<T>(call, mask, random_run(call, seed, n), p, n);
      };
      if (bools) {
        run(settings.mask<bool>(call));
      } else {
        run(settings.mask<T>(call));
      }
    };
  });
}

// 1 / (1 - ratio) as a value.
Val scale_of(const GradContext& g) {
  const DType dtype = g.dy(0).dtype();
  if (!by_inputs(g)) {
    return g.builder().scalar(1 / (1 - double{g.attr_float("ratio", 0.5F)}), dtype);
  }
  if (!g.x(1)) return g.builder().scalar(2, dtype);
  const Val ratio = graph::reshape(graph::cast(g.x(1), dtype), std::vector<std::int64_t>{});
  return 1.0 / (1.0 - ratio);
}

std::vector<Val> grad(GradContext& g) {
  const Val dy = g.dy(0);
  const bool may_drop = by_inputs(g) ? g.has_input(2) : training_attribute(g);
  if (!may_drop) return {dy};
  Val scale = scale_of(g);
  if (by_inputs(g)) {
    const Tensor& training = g.builder().graph()[g.x(2).id()].constant;
    if (training.defined() && training.size() == 1) {
      if (!training.values<bool>()[0]) return {dy};
    } else {
      const Val flag = graph::reshape(g.x(2), std::vector<std::int64_t>{});
      scale = where(flag, scale, g.builder().scalar(1, dy.dtype()));
    }
  }
  const Val mask = graph::cast(g.y(1), DType::boolean);
  return {where(mask, dy * scale, scalar_like(dy, 0))};
}

}  // namespace

extern const OpDef dropout{.name = "Dropout",
                           .infer = infer,
                           .bind = bind,
                           .grad = grad,
                           .traits = {.inplace = 1, .random = true},
                           .no_gradient = 6};

}  // namespace ondine::kernels::ops

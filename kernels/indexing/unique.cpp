// unique.cpp — the different elements of flat x, or the different slices along an axis, sorted or
// in order of appearance, with first positions, inverse and counts. y = x gathered at the first
// positions, so dx = zeros with dy added there (GatherGrad).
#include <algorithm>
#include <numeric>

#include "core/stop.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels::ops {
namespace {

using UniqueTypes =
    Types<float, double, float16, bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
          std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, std::string>;

// A total order: NaN, equal to itself, comes last.
template <class T>
int compare(const T& left, const T& right) {
  if constexpr (std::is_same_v<T, std::string>) {
    return left.compare(right);
  } else {
    const auto a = load(left);
    const auto b = load(right);
    if (a < b) return -1;
    if (b < a) return 1;
    return a == b ? 0 : (a != a) - (b != b);
  }
}

void infer(InferContext& context) {
  std::optional<Dims> dims = Dims{Dim()};
  if (context.has_attr("axis")) {
    dims = context.input(0).dims;
    if (dims) (*dims)[NodeView::normalize_axis(context.attr_int("axis", 0), dims->size())] = Dim();
  }
  context.set_output(0, context.dtype(0), std::move(dims));
  for (std::size_t i = 1; i < 4; ++i) context.set_output(i, DType::int64, Dims{Dim()});
}

struct Groups {
  std::vector<std::int64_t> first;    // position of the first member of each group
  std::vector<std::int64_t> count;    // members
  std::vector<std::int64_t> inverse;  // group of each position
};

// Slices a and b along the axis of `values`, elements of T.
template <class T>
int compare_slices(const void* values, const AxisView& view, std::int64_t a, std::int64_t b) {
  const T* x = static_cast<const T*>(values);
  for (std::int64_t o = 0; o < view.outer; ++o) {
    const T* left = x + (o * view.dim + a) * view.inner;
    const T* right = x + (o * view.dim + b) * view.inner;
    checkpoint(4);
    for (std::int64_t k = 0; k < view.inner; ++k) {
      if (const int order = compare(left[k], right[k]); order != 0) return order;
      if (k % 1024 == 1023) checkpoint(4 * 1024);
    }
  }
  return 0;
}
using CompareSlices = decltype(&compare_slices<float>);

// Groups equal slices, in the order that attribute `sorted` asks for. One function for all types:
// sorting takes much code.
Groups group(const void* values, CompareSlices order_of, const AxisView& view, bool sorted) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(view.dim));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return order_of(values, view, a, b) < 0;
  });
  Groups groups;
  groups.inverse.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || order_of(values, view, order[i - 1], order[i]) != 0) {
      groups.first.push_back(order[i]);  // the lowest position, since the sort is stable
      groups.count.push_back(0);
    }
    ++groups.count.back();
    groups.inverse[static_cast<std::size_t>(order[i])] =
        static_cast<std::int64_t>(groups.first.size()) - 1;
  }
  if (sorted) return groups;
  std::vector<std::size_t> by_first(groups.first.size());
  std::iota(by_first.begin(), by_first.end(), std::size_t{0});
  const auto earlier = [&](std::size_t a, std::size_t b) {
    return groups.first[a] < groups.first[b];
  };
  sort_checked(view.dim, earlier,
               [&](const auto& less) { std::sort(by_first.begin(), by_first.end(), less); });
  Groups renamed = groups;
  std::vector<std::int64_t> name(by_first.size());
  for (std::size_t i = 0; i < by_first.size(); ++i) {
    renamed.first[i] = groups.first[by_first[i]];
    renamed.count[i] = groups.count[by_first[i]];
    name[by_first[i]] = static_cast<std::int64_t>(i);
  }
  for (std::int64_t& g : renamed.inverse) g = name[static_cast<std::size_t>(g)];
  return renamed;
}

Kernel bind(BindContext& context) {
  const bool flat = !context.has_attr("axis");
  const Shape x = flat ? Shape{context.shape(0).size()} : context.shape(0);
  const std::size_t axis = NodeView::normalize_axis(context.attr_int("axis", 0), x.rank());
  const AxisView view(x, axis);
  const bool sorted = context.attr_int("sorted", 1) != 0;
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < 4; ++i) outputs.emplace_back(context, i);
  const CompareSlices order_of =
      visit(context.dtype(0), UniqueTypes{}, []<class T>() { return &compare_slices<T>; });
  return visit_size(context.dtype(0), [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const T* values = call.in<T>(0);
      const Groups groups = group(values, order_of, view, sorted);
      const auto n = static_cast<std::int64_t>(groups.first.size());
      Shape shape = x;
      shape[axis] = n;
      if (T* y = outputs[0].memory<T>(call, shape)) {
        for (std::int64_t row = 0; row < view.outer * n; ++row) {
          checkpoint(8 + view.inner);
          const std::int64_t source =
              row / n * view.dim + groups.first[static_cast<std::size_t>(row % n)];
          std::copy_n(values + source * view.inner, view.inner, y + row * view.inner);
        }
      }
      const std::vector<std::int64_t>* lists[3] = {&groups.first, &groups.inverse, &groups.count};
      for (std::size_t i = 0; i < 3; ++i) {
        const Shape length{static_cast<std::int64_t>(lists[i]->size())};
        auto* to = outputs[i + 1].memory<std::int64_t>(call, length);
        if (to != nullptr) std::copy(lists[i]->begin(), lists[i]->end(), to);
      }
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  const Val x = g.x(0);
  const bool flat = !g.has_attr("axis");
  const Val shape = flat ? graph::reshape(graph::size_of(x), {1}) : shape_of(x);
  const Val dx = g.builder().node("GatherGrad", {g.dy(0), g.y(1), shape},
                                  {{"axis", g.attr_int("axis", 0)}}, ondine_domain);
  return {flat ? reshape_like(dx, x) : dx};
}

}  // namespace

extern const OpDef unique_op{.name = "Unique", .infer = infer, .bind = bind, .grad = grad};

}  // namespace ondine::kernels::ops

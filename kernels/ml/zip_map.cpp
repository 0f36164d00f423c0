// zip_map.cpp — a sequence with one map for each row of x, from the labels to the row's elements.
#include <optional>

#include "core/budget.h"
#include "core/stop.h"
#include "core/value_bytes.h"
#include "kernels/common/op.h"
#include "kernels/ml/row_model.h"

namespace ondine::kernels::ops {
namespace {

ClassLabels labels_of(const NodeView& node) {
  return {node, "classlabels_int64s", "classlabels_strings"};
}

void infer(InferContext& context) {
  const ClassLabels labels = labels_of(context);
  if (context.ranked(0)) {
    const Dims& dims = context.dims(0);
    if (dims.empty() || dims.size() > 2 ||
        (dims.back().known() && dims.back().size() != static_cast<std::int64_t>(labels.count()))) {
      context.reject("x has shape ", graph::to_string(dims), ", needed: [N, ", labels.count(),
                     "] for as many labels");
    }
  }
  context.set_output(
      0, Type::sequence(Type::map(labels.dtype(), Type::tensor(DType::float32, Dims{}))));
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const std::int64_t width = x.back();
  const std::int64_t rows = x.rank() == 1 ? 1 : x[0];
  return [=, keys = labels_of(context).tensor()](KernelContext& call) {
    // All scalars share one block of memory.
    const auto all = std::make_shared<Tensor>(DType::float32, x, call.budget());
    std::copy_n(call.in<float>(0), rows * width, static_cast<float*>(all->mutable_data()));
    auto* element = static_cast<float*>(all->mutable_data());
    std::optional<BudgetShare> share(call.budget());
    share->add(static_cast<std::uint64_t>(rows) *
               (compound_bytes + held_value_bytes * static_cast<std::uint64_t>(width + 1)));
    std::vector<Value> maps;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::vector<Value> values;
      checkpoint(128 * (width + 1));
      for (std::int64_t k = 0; k < width; ++k) {
        values.emplace_back(Tensor::share(DType::float32, {}, element++, all));
      }
      maps.push_back(Value::map(keys, std::move(values)));
    }
    share.reset();  // the result is charged for its elements
    call.set_value(0, Value::sequence(std::move(maps)));
  };
}

}  // namespace

extern const OpDef zip_map{.name = "ZipMap", .domain = ml_domain, .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops

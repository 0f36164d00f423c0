// sequence_add.cpp — ai.ondine SequenceAdd(a, b): the sums of the elements of two sequences of
// equal shapes, how derivatives by a sequence add up;  da = db = dy.
#include "kernels/ops/convert.h"
#include "kernels/ops/sequence.h"

namespace ondine::kernels::ops {
namespace {

Tensor sum(KernelContext& call, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) {
    fail(ErrorCode::mismatch, "elements of shapes ", a.shape(), " and ", b.shape(), " and dtypes ",
         a.dtype(), " and ", b.dtype(), " do not add up");
  }
  Tensor out(a.dtype(), a.shape(), call.budget());
  visit(a.dtype(), Floats{}, [&]<class T>() {
    const auto left = a.values<T>();
    const auto right = b.values<T>();
    const auto target = out.mutable_values<T>();
    for (std::size_t i = 0; i < target.size(); ++i) {
      target[i] = store<T>(load(left[i]) + load(right[i]));
    }
  });
  return out;
}

Kernel bind(BindContext&) {
  return [](KernelContext& call) {
    std::vector<Value> elements = sequence_elements(call, 0);
    const std::vector<Value> others = sequence_elements(call, 1);
    if (elements.size() != others.size()) {
      fail(ErrorCode::mismatch, "sequences of ", elements.size(), " and ", others.size(),
           " elements do not add up");
    }
    for (std::size_t i = 0; i < elements.size(); ++i) {
      elements[i] = sum(call, elements[i].tensor(), others[i].tensor());
    }
    call.set_value(0, Value::sequence(std::move(elements)));
  };
}

std::vector<Val> grad(GradContext& g) { return {g.dy(0), g.dy(0)}; }

}  // namespace

extern const OpDef sequence_add{.name = "SequenceAdd",
                                .domain = ondine_domain,
                                .infer = infer_same_as_input,
                                .bind = bind,
                                .grad = grad};

}  // namespace ondine::kernels::ops

#include "kernels/common/nested_gradient.h"

#include "core/message.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/op.h"

namespace ondine::kernels {
namespace {

Tensor sum(const Tensor& a, const Tensor& b, const std::shared_ptr<MemoryBudget>& budget) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) {
    fail(ErrorCode::mismatch, "elements of shapes ", a.shape(), " and ", b.shape(), " and dtypes ",
         a.dtype(), " and ", b.dtype(), " cannot be added");
  }
  Tensor out(a.dtype(), a.shape(), budget);
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

// A value of the kind of `like` around these elements.
Value rebuild(const Value& like, std::vector<Value> elements) {
  if (like.kind() == Value::Kind::sequence) return Value::sequence(std::move(elements));
  if (like.kind() != Value::Kind::optional) {
    fail(ErrorCode::unsupported, "there is no derivative by a ", to_string(like.kind()));
  }
  return elements.empty() ? Value::optional() : Value::optional(std::move(elements[0]));
}

}  // namespace

Value zero_value(const Value& like, const std::shared_ptr<MemoryBudget>& budget) {
  if (like.is_tensor()) return Tensor(like.tensor().dtype(), like.tensor().shape(), budget);
  std::vector<Value> elements;
  for (const Value& element : like.elements()) elements.push_back(zero_value(element, budget));
  return rebuild(like, std::move(elements));
}

Value add_values(const Value& a, const Value& b, const std::shared_ptr<MemoryBudget>& budget) {
  if (a.is_tensor() && b.is_tensor()) return sum(a.tensor(), b.tensor(), budget);
  if (a.kind() != b.kind() || a.elements().size() != b.elements().size()) {
    fail(ErrorCode::mismatch, "a ", to_string(a.kind()), " and a ", to_string(b.kind()),
         " of different structure do not add up");
  }
  std::vector<Value> elements;
  for (std::size_t i = 0; i < a.elements().size(); ++i) {
    elements.push_back(add_values(a.elements()[i], b.elements()[i], budget));
  }
  return rebuild(a, std::move(elements));
}

}  // namespace ondine::kernels

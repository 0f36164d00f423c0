#include <ondine/value.h>

#include <atomic>
#include <optional>

#include "core/budget.h"
#include "core/hidden.h"
#include "core/message.h"
#include "core/value_bytes.h"

namespace ondine {

struct ONDINE_HIDDEN Value::Compound {
  Compound() = default;
  Compound(std::vector<Value> elements_of, Tensor keys_of, const Shape& shape)
      : elements(std::move(elements_of)), keys(std::move(keys_of)), dense_shape(shape) {}

  std::vector<Value> elements;
  Tensor keys;
  Shape dense_shape;
  mutable std::atomic<bool> is_charged{false};
  mutable std::optional<BudgetShare> share;
};

Value::Value(Tensor tensor) : kind_(Kind::tensor), tensor_(std::move(tensor)) {}

Value Value::sequence(std::vector<Value> elements) {
  Value result;
  result.kind_ = Kind::sequence;
  result.compound_ = std::make_shared<const Compound>(std::move(elements), Tensor(), Shape());
  return result;
}

Value Value::map(Tensor keys, std::vector<Value> values) {
  if (keys.shape().rank() != 1 || keys.size() != static_cast<std::int64_t>(values.size())) {
    fail(ErrorCode::mismatch, "map has keys of shape ", keys.shape(), " and ", values.size(),
         " values");
  }
  Value result;
  result.kind_ = Kind::map;
  result.compound_ = std::make_shared<const Compound>(std::move(values), std::move(keys), Shape());
  return result;
}

Value Value::optional() {
  Value result;
  result.kind_ = Kind::optional;
  result.compound_ = std::make_shared<const Compound>();
  return result;
}

Value Value::optional(Value element) {
  Value result = sequence({std::move(element)});
  result.kind_ = Kind::optional;
  return result;
}

Value Value::sparse(Tensor values, Tensor indices, const Shape& dense_shape) {
  Value result;
  result.kind_ = Kind::sparse_tensor;
  result.tensor_ = std::move(values);
  result.compound_ =
      std::make_shared<const Compound>(std::vector<Value>(), std::move(indices), dense_shape);
  return result;
}

const Tensor& Value::tensor() const& {
  if (kind_ != Kind::tensor && kind_ != Kind::sparse_tensor) {
    fail(ErrorCode::mismatch, "value is a ", to_string(kind_), ", not a tensor");
  }
  return tensor_;
}

Tensor& Value::tensor() & { return const_cast<Tensor&>(std::as_const(*this).tensor()); }
Tensor Value::tensor() && { return std::move(tensor()); }

const std::vector<Value>& Value::elements() const& { return compound().elements; }
std::vector<Value> Value::elements() && { return compound().elements; }
const Tensor& Value::keys() const& { return compound().keys; }
Tensor Value::keys() && { return compound().keys; }
const Shape& Value::dense_shape() const { return compound().dense_shape; }

void Value::charge_holders(const std::shared_ptr<MemoryBudget>& budget) const {
  if (!compound_ || !budget || compound_->is_charged.exchange(true)) return;
  compound_->share.emplace(budget);
  static_assert(sizeof(Compound) <= compound_bytes);
  compound_->share->add(compound_bytes + compound_->elements.size() * held_value_bytes);
  for (const Value& element : compound_->elements) element.charge_holders(budget);
}

const Value::Compound& Value::compound() const {
  if (!compound_) {
    fail(ErrorCode::mismatch, "value is a ", to_string(kind_), ", which has no elements");
  }
  return *compound_;
}

const char* to_string(Value::Kind kind) noexcept {
  switch (kind) {
    case Value::Kind::none:
      return "nothing";
    case Value::Kind::tensor:
      return "tensor";
    case Value::Kind::sparse_tensor:
      return "sparse tensor";
    case Value::Kind::sequence:
      return "sequence";
    case Value::Kind::map:
      return "map";
    case Value::Kind::optional:
      return "optional";
  }
  return "nothing";
}

}  // namespace ondine

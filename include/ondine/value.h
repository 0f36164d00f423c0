// Values of graph inputs and outputs: a tensor, a sparse tensor, a sequence, a map or an optional.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ondine/export.h>
#include <ondine/tensor.h>

namespace ondine {

class ONDINE_API Value {
 public:
  enum class Kind : std::uint8_t { none, tensor, sparse_tensor, sequence, map, optional };

  Value() = default;
  Value(Tensor tensor);  // NOLINT: a tensor is a value
  static Value sequence(std::vector<Value> elements);
  // Keys: a rank-1 tensor of integers or strings; one value each.
  static Value map(Tensor keys, std::vector<Value> values);
  static Value optional();
  static Value optional(Value element);
  // COO: `values` [nnz], `indices` [nnz] linear or [nnz, rank].
  static Value sparse(Tensor values, Tensor indices, const Shape& dense_shape);

  Kind kind() const noexcept { return kind_; }
  bool is_tensor() const noexcept { return kind_ == Kind::tensor; }
  // Each throws Error(mismatch) for another kind.
  const Tensor& tensor() const&;
  Tensor& tensor() &;
  Tensor tensor() &&;
  // Elements of a sequence, values of a map, none or one of an optional.
  const std::vector<Value>& elements() const&;
  std::vector<Value> elements() &&;
  // Keys of a map, indices of a sparse tensor.
  const Tensor& keys() const&;
  Tensor keys() &&;
  const Shape& dense_shape() const;
  bool has_element() const { return !elements().empty(); }
  // Charges what holds the elements of a sequence, map or optional to `budget`, which gets it back
  // when the last copy goes. Does nothing for other kinds, where it was charged before, and without
  // a budget. Throws Error(limit) when it does not fit.
  void charge_holders(const std::shared_ptr<MemoryBudget>& budget) const;

 private:
  struct Compound;
  const Compound& compound() const;

  Kind kind_ = Kind::none;
  Tensor tensor_;
  std::shared_ptr<const Compound> compound_;
};

// "tensor", "sequence", ...
ONDINE_API const char* to_string(Value::Kind kind) noexcept;

using NamedValue = std::pair<std::string, Value>;
// Values by name, in the caller's order.
using NamedValues = std::vector<NamedValue>;

}  // namespace ondine

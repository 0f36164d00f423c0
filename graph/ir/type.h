// Static types: kind, element dtype and a shape whose extents may be open.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ondine/dtype.h>
#include <ondine/shape.h>

namespace ondine::graph {

// One extent: known, named (the same name is the same size everywhere in a model) or open.
class Dim {
 public:
  Dim() = default;                         // open
  Dim(std::int64_t size) : code_(size) {}  // NOLINT: an extent is a dim. size >= 0
  static Dim named(std::uint32_t symbol) { return Dim(Code{-2 - std::int64_t{symbol}}); }

  bool known() const noexcept { return code_ >= 0; }
  std::int64_t size() const noexcept { return code_; }  // known() only
  bool is_named() const noexcept { return code_ <= -2; }
  std::uint32_t symbol() const noexcept { return static_cast<std::uint32_t>(-2 - code_); }

  // The same size for certain: both known and equal, or the same name.
  bool same(Dim other) const noexcept { return code_ != -1 && code_ == other.code_; }
  // Bitwise equality of the description; two open dims are equal here.
  friend bool operator==(Dim, Dim) = default;

 private:
  struct Code {
    std::int64_t value;
  };
  explicit Dim(Code code) : code_(code.value) {}
  std::int64_t code_ = -1;
};

using Dims = std::vector<Dim>;

Dims to_dims(const Shape& shape);
// The shape when every extent is known.
std::optional<Shape> to_shape(const Dims& dims);

enum class TypeKind : std::uint8_t { unknown, tensor, sparse_tensor, sequence, map, optional };

struct Type {
  TypeKind kind = TypeKind::unknown;
  DType dtype = DType::undefined;       // element type of tensors, key type of maps
  std::optional<Dims> dims;             // tensors; absent: the rank is open
  std::shared_ptr<const Type> element;  // of a sequence or optional, value type of a map

  static Type tensor(DType dtype) { return {TypeKind::tensor, dtype, {}, {}}; }
  static Type tensor(DType dtype, Dims dims) {
    return {TypeKind::tensor, dtype, std::move(dims), {}};
  }
  static Type tensor(DType dtype, const Shape& shape) { return tensor(dtype, to_dims(shape)); }
  static Type sequence(Type element);
  static Type optional(Type element);
  static Type map(DType key, Type value);

  bool is_tensor() const noexcept { return kind == TypeKind::tensor; }
  bool ranked() const noexcept { return dims.has_value(); }
  std::size_t rank() const { return dims->size(); }
  // The shape when it is a tensor with every extent known.
  std::optional<Shape> shape() const;

  friend bool operator==(const Type& a, const Type& b);
};

// Whether one value could have both types: equal kinds and dtypes, no two different known extents.
bool compatible(const Type& a, const Type& b);
// The more precise of both, extent by extent. Requires compatible(a, b).
Type merge(const Type& a, const Type& b);
// What is true of values of either type: differing extents become open. nullopt when kinds or
// dtypes differ.
std::optional<Type> join(const Type& a, const Type& b);

// "tensor(float)[N, 3]"; named dims as "?k", open ones as "?".
std::string to_string(const Type& type);
std::string to_string(const Dims& dims);

}  // namespace ondine::graph

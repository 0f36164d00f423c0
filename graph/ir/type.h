// Static types: kind, element dtype and dims, which may be symbolic or dynamic.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ondine/dtype.h>
#include <ondine/shape.h>

#include "graph/ir/boxed.h"

namespace ondine::graph {

// One dimension: known, symbolic (the same symbol has the same size everywhere in a model) or
// dynamic.
class Dim {
 public:
  Dim() = default;                         // dynamic
  Dim(std::int64_t size) : code_(size) {}  // NOLINT: implicit. size >= 0
  static Dim symbolic(std::uint32_t symbol) { return multiple(1, symbol); }
  // `factor` times the size of a symbol; dynamic unless 0 < factor < 2^30.
  static Dim multiple(std::int64_t factor, std::uint32_t symbol) {
    if (factor <= 0 || factor >> 30 != 0) return {};
    return Dim(Code{-2 - std::int64_t{symbol} - ((factor - 1) << 32)});
  }

  bool known() const noexcept { return code_ >= 0; }
  std::int64_t size() const noexcept { return code_; }  // known() only
  bool is_symbolic() const noexcept { return has_symbol() && factor() == 1; }
  bool has_symbol() const noexcept { return code_ <= -2; }  // times a factor
  std::uint32_t symbol() const noexcept { return static_cast<std::uint32_t>(-2 - code_); }
  std::int64_t factor() const noexcept { return ((-2 - code_) >> 32) + 1; }

  // Whether both certainly have the same size: known and equal, or the same multiple of a symbol.
  bool same(Dim other) const noexcept { return code_ != -1 && code_ == other.code_; }
  // Equality of the representation; two dynamic dims compare equal.
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
// nullopt unless every dim is known.
std::optional<Shape> to_shape(const Dims& dims);

enum class TypeKind : std::uint8_t { unknown, tensor, sparse_tensor, sequence, map, optional };

struct Type {
  TypeKind kind = TypeKind::unknown;
  DType dtype = DType::undefined;  // element type of tensors, key type of maps
  std::optional<Dims> dims;        // tensors; absent: the rank is unknown
  Boxed<Type> element;             // of a sequence or optional, value type of a map

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
  // nullopt unless it is a tensor whose dims are all known.
  std::optional<Shape> shape() const;

  friend bool operator==(const Type& a, const Type& b);
};

// Whether one value could have both types: equal kinds and dtypes, no dim with two known sizes.
bool compatible(const Type& a, const Type& b);
// The more precise type, dim by dim. Requires compatible(a, b).
Type merge(const Type& a, const Type& b);
// The most precise type that covers both: dims that differ become dynamic. nullopt when kinds or
// dtypes differ.
std::optional<Type> join(const Type& a, const Type& b);

// "tensor(float)[?0, 3, 4*?0, ?]": symbolic dims as "?k", dynamic ones as "?".
std::string to_string(const Type& type);
std::string to_string(const Dims& dims);

}  // namespace ondine::graph

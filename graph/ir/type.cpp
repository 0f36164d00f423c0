#include "graph/ir/type.h"

namespace ondine::graph {
namespace {

// Combines dims of equal rank one by one; `pick` is called with dims that are not the same.
template <class Pick>
std::optional<Dims> combine_dims(const std::optional<Dims>& a, const std::optional<Dims>& b,
                                 Pick pick) {
  Dims out;
  for (std::size_t i = 0; i < a->size(); ++i) {
    const Dim x = (*a)[i];
    const Dim y = (*b)[i];
    out.push_back(x.same(y) ? x : pick(x, y));
  }
  return out;
}

}  // namespace

Dims to_dims(const Shape& shape) { return {shape.begin(), shape.end()}; }

std::optional<Shape> to_shape(const Dims& dims) {
  if (dims.size() > Shape::max_rank) return std::nullopt;
  Shape shape;
  for (const Dim dim : dims) {
    if (!dim.known()) return std::nullopt;
    shape.push_back(dim.size());
  }
  return shape;
}

Type Type::sequence(Type element) {
  return {TypeKind::sequence, DType::undefined, {}, std::move(element)};
}
Type Type::optional(Type element) {
  return {TypeKind::optional, DType::undefined, {}, std::move(element)};
}
Type Type::map(DType key, Type value) { return {TypeKind::map, key, {}, std::move(value)}; }

std::optional<Shape> Type::shape() const {
  if (!is_tensor() || !dims) return std::nullopt;
  return to_shape(*dims);
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.dims != b.dims) return false;
  if (!a.element || !b.element) return !a.element == !b.element;
  return *a.element == *b.element;
}

bool compatible(const Type& a, const Type& b) {
  if (a.kind == TypeKind::unknown || b.kind == TypeKind::unknown) return true;
  if (a.kind != b.kind) return false;
  if (a.dtype != b.dtype && a.dtype != DType::undefined && b.dtype != DType::undefined) {
    return false;
  }
  if (a.element && b.element && !compatible(*a.element, *b.element)) return false;
  if (!a.dims || !b.dims) return true;
  if (a.dims->size() != b.dims->size()) return false;
  for (std::size_t i = 0; i < a.dims->size(); ++i) {
    const Dim x = (*a.dims)[i];
    const Dim y = (*b.dims)[i];
    if (x.known() && y.known() && !x.same(y)) return false;
  }
  return true;
}

Type merge(const Type& a, const Type& b) {
  if (a.kind == TypeKind::unknown) return b;
  if (b.kind == TypeKind::unknown) return a;
  Type out = a;
  if (out.dtype == DType::undefined) out.dtype = b.dtype;
  if (!a.dims) {
    out.dims = b.dims;
  } else if (b.dims) {
    out.dims = combine_dims(a.dims, b.dims, [](Dim x, Dim y) {
      if (x.known() || y.known()) return x.known() ? x : y;
      return x.has_symbol() ? x : y;
    });
  }
  if (!a.element) {
    out.element = b.element;
  } else if (b.element) {
    out.element = merge(*a.element, *b.element);
  }
  return out;
}

std::optional<Type> join(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.dtype != b.dtype) return std::nullopt;
  Type out = a;
  if (!a.dims || !b.dims || a.dims->size() != b.dims->size()) {
    out.dims.reset();
  } else {
    out.dims = combine_dims(a.dims, b.dims, [](Dim, Dim) { return Dim(); });
  }
  if (a.element && a.element->kind == TypeKind::unknown) {
    out.element = b.element;  // an empty sequence, compatible with any element type
  } else if (a.element && b.element && b.element->kind != TypeKind::unknown) {
    auto element = join(*a.element, *b.element);
    if (!element) return std::nullopt;
    out.element = std::move(*element);
  }
  return out;
}

std::string to_string(const Dims& dims) {
  std::string out = "[";
  for (const Dim dim : dims) {
    if (out.size() > 1) out += ", ";
    if (dim.known()) {
      out += std::to_string(dim.size());
    } else {
      if (dim.has_symbol() && !dim.is_symbolic()) out += std::to_string(dim.factor()) + "*";
      out += dim.has_symbol() ? "?" + std::to_string(dim.symbol()) : "?";
    }
  }
  return out + "]";
}

std::string to_string(const Type& type) {
  const auto element = [&] { return type.element ? to_string(*type.element) : std::string("?"); };
  const std::string dtype(ondine::to_string(type.dtype));
  const std::string dims = type.dims ? to_string(*type.dims) : "";
  switch (type.kind) {
    case TypeKind::unknown:
      return "?";
    case TypeKind::tensor:
      return "tensor(" + dtype + ")" + dims;
    case TypeKind::sparse_tensor:
      return "sparse_tensor(" + dtype + ")" + dims;
    case TypeKind::sequence:
      return "seq(" + element() + ")";
    case TypeKind::optional:
      return "optional(" + element() + ")";
    case TypeKind::map:
      return "map(" + dtype + ", " + element() + ")";
  }
  return "?";
}

}  // namespace ondine::graph

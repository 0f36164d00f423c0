// Declared types: completeness, and agreement with initializers.
#include <algorithm>

#include "graph/check/rules.h"
#include "graph/print/format.h"

namespace ondine::graph {
namespace {

// "[U]INT{8|16|32|64} or STRING".
bool is_map_key(DType dtype) {
  return dtype == DType::string || (is_integer(dtype) && packed_bits(dtype) >= 8);
}

struct Defect {
  ErrorCode code;
  std::string reason;
};

std::optional<Defect> defect(const TypeDef& type, bool required, const Limits& limits) {
  const auto incomplete = [&](const char* reason) {
    return required ? std::optional(Defect{ErrorCode::invalid_model, reason}) : std::nullopt;
  };
  if (*type.opaque) return Defect{ErrorCode::unsupported, "is of an opaque type"};
  if (type.kind == TypeKind::unknown) return incomplete("has no type");
  if (has_tensor_type(type)) {
    const std::size_t rank = type.dims ? type.dims->size() : 0;
    if (rank > std::min(limits.rank, Shape::max_rank)) {
      return Defect{ErrorCode::limit, cat("has ", rank, " dimensions")};
    }
    if (type.dtype == DType::undefined) return incomplete("has no element type");
    return std::nullopt;
  }
  if (type.kind == TypeKind::map && !is_map_key(type.dtype)) {
    return Defect{ErrorCode::invalid_model, cat("has map keys of type ", type.dtype)};
  }
  if (type.element == nullptr) return incomplete("has no element type");
  return defect(*type.element, required, limits);
}

}  // namespace

void check_declared(const ValueDef& value, std::string_view what, bool required, const Site& site) {
  if (const auto found = defect(value.type, required, site.context.limits)) {
    site.add(found->code, what, " ", quoted(value.name), " ", found->reason);
  }
}

std::optional<std::string> contradiction(DType dtype, const Shape& shape, const TypeDef& declared) {
  if (declared.kind == TypeKind::unknown) return std::nullopt;
  if (!has_tensor_type(declared)) return "the declared type is not a tensor type";
  if (declared.dtype != DType::undefined && declared.dtype != dtype) {
    return cat("declared as ", declared.dtype, ", it is ", dtype);
  }
  if (!declared.dims) return std::nullopt;
  bool fits = declared.dims->size() == shape.rank();
  for (std::size_t i = 0; fits && i < declared.dims->size(); ++i) {
    const auto* size = std::get_if<std::int64_t>(&(*declared.dims)[i]);
    fits = size == nullptr || *size == shape[i];
  }
  if (fits) return std::nullopt;
  return cat("declared with shape ", printed_dims(*declared.dims), ", it has ", shape);
}

}  // namespace ondine::graph

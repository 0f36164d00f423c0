#include "graph/ir/declared_type.h"

namespace ondine::graph {
namespace {

Dim to_dim(const DimDef& def, Symbols* symbols) {
  if (const auto* size = std::get_if<std::int64_t>(&def)) return *size < 0 ? Dim() : Dim(*size);
  const auto* name = std::get_if<DimName>(&def);
  const bool symbolic = name != nullptr && !name->empty() && symbols != nullptr;
  return symbolic ? symbols->get(*name) : Dim();
}

}  // namespace

Type to_type(const TypeDef& def, Symbols* symbols) {
  Type type;
  type.kind = def.kind;
  type.dtype = def.dtype;
  if (def.dims) {
    type.dims.emplace();
    for (const DimDef& dim : *def.dims) type.dims->push_back(to_dim(dim, symbols));
  }
  if (def.element) type.element = to_type(*def.element, symbols);
  return type;
}

Type without_dims(const Type& type) {
  Type out = type;
  out.dims.reset();
  if (type.element) out.element = without_dims(*type.element);
  return out;
}

}  // namespace ondine::graph

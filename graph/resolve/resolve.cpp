#include "graph/resolve/resolve.h"

#include "graph/resolve/resolver.h"

namespace ondine::graph {

Graph resolve(const GraphDef& graph, const ResolveContext& context) {
  return Resolver(context).resolve(graph);
}

std::string_view normal_domain(std::string_view domain) noexcept {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

Type to_type(const TypeDef& def, Symbols& symbols) {
  Type type;
  type.kind = def.kind;
  type.dtype = def.dtype;
  if (def.dims) {
    type.dims.emplace();
    for (const DimDef& dim : *def.dims) {
      if (const auto* size = std::get_if<std::int64_t>(&dim)) {
        type.dims->push_back(*size < 0 ? Dim() : Dim(*size));
      } else if (const auto* name = std::get_if<DimName>(&dim); name && !name->empty()) {
        type.dims->push_back(symbols.get(*name));
      } else {
        type.dims->emplace_back();
      }
    }
  }
  if (def.element) type.element = std::make_shared<const Type>(to_type(*def.element, symbols));
  return type;
}

}  // namespace ondine::graph

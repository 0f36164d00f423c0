#include "kernels/ml/map_entries.h"

#include "core/message.h"

namespace ondine::kernels {

MapTypes::MapTypes(const graph::Type& type) : key(type.dtype), value(DType::undefined) {
  if (type.kind != graph::TypeKind::map) {
    fail(ErrorCode::mismatch, "x is a ", graph::to_string(type), ", not a map");
  }
  if (type.element) value = type.element->dtype;
}

MapEntries::MapEntries(const graph::KernelContext& call, const MapTypes& types) {
  const Value map = call.value(0);
  if (map.kind() != Value::Kind::map || map.keys().dtype() != types.key) {
    fail(ErrorCode::mismatch, "x is a ", to_string(map.kind()), ", needed: a map with keys of ",
         types.key);
  }
  keys = map.keys();
  for (const Value& value : map.elements()) {
    const Tensor& tensor = value.tensor();
    if (tensor.dtype() != types.value || tensor.size() != 1) {
      fail(ErrorCode::mismatch, "the map has a value of ", tensor.dtype(), tensor.shape(),
           ", needed: one ", types.value);
    }
    values.push_back(tensor);
  }
}

RowShape::RowShape(const graph::BindContext& context, bool matrix) : matrix_(matrix) {
  const graph::Type& type = context.output_type(0);
  if (type.ranked()) matrix_ = type.rank() == 2;
}

Shape RowShape::of(std::int64_t n) const { return matrix_ ? Shape{1, n} : Shape{n}; }

}  // namespace ondine::kernels

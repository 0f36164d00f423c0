#include "graph/ir/document.h"

#include <array>
#include <cstring>

#include "core/checked.h"

namespace ondine::graph {
namespace {

// Position of value i in the dense tensor; -1 when an index does not fit its axis. The caller has
// computed dims.size(), so no product overflows.
std::int64_t linear_index(const SparseTensorDef& sparse, std::int64_t i) {
  const std::int64_t* indices = sparse.indices.values<std::int64_t>().data();
  if (sparse.indices.shape().rank() == 1) return indices[i];
  const auto rank = static_cast<std::int64_t>(sparse.dims.rank());
  std::int64_t linear = 0;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const std::int64_t index = indices[i * rank + axis];
    const std::int64_t size = sparse.dims[static_cast<std::size_t>(axis)];
    if (index < 0 || index >= size) return -1;
    linear = linear * size + index;
  }
  return linear;
}

}  // namespace

ONDINE_DEFINE_SPECIAL_MEMBERS(TypeDef);
ONDINE_DEFINE_SPECIAL_MEMBERS(Attribute);
ONDINE_DEFINE_SPECIAL_MEMBERS(NodeDef);
ONDINE_DEFINE_SPECIAL_MEMBERS(GraphDef);
ONDINE_DEFINE_SPECIAL_MEMBERS(FunctionDef);
ONDINE_DEFINE_SPECIAL_MEMBERS(TrainingInfoDef);
ONDINE_DEFINE_SPECIAL_MEMBERS(ModelDef);

void check(const SparseTensorDef& sparse) {
  const auto reject = [&](const auto&... parts) {
    fail(ErrorCode::invalid_model, "sparse tensor ", quoted(sparse.name), " ", parts...);
  };
  const std::int64_t count = sparse.values.size();
  const Shape& index_shape = sparse.indices.shape();
  const auto rank = static_cast<std::int64_t>(sparse.dims.rank());
  const bool fits = sparse.values.shape().rank() == 1 &&
                    (index_shape == Shape{count} || index_shape == Shape{count, rank});
  if (!fits) {
    reject("has values of shape ", sparse.values.shape(), " and indices of shape ", index_shape);
  }
  const std::int64_t size = sparse.dims.size();
  std::int64_t previous = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = linear_index(sparse, i);
    if (at < 0 || at >= size) reject("has an index outside its shape ", sparse.dims);
    if (at <= previous) reject("has indices that do not ascend");
    previous = at;
  }
}

Tensor densify(const SparseTensorDef& sparse) {
  check(sparse);
  Tensor dense(sparse.values.dtype(), sparse.dims);
  const std::size_t bytes = size_of(dense.dtype());
  for (std::int64_t i = 0; i < sparse.values.size(); ++i) {
    const auto from = static_cast<std::size_t>(i);
    const auto to = static_cast<std::size_t>(linear_index(sparse, i));
    if (dense.dtype() == DType::string) {
      dense.mutable_values<std::string>()[to] = sparse.values.values<std::string>()[from];
    } else {
      std::memcpy(static_cast<std::byte*>(dense.mutable_data()) + to * bytes,
                  static_cast<const std::byte*>(sparse.values.data()) + from * bytes, bytes);
    }
  }
  return dense;
}

const char* to_string(AttributeKind kind) noexcept {
  constexpr std::array names{"UNDEFINED", "FLOAT",          "INT",           "STRING",
                             "TENSOR",    "GRAPH",          "SPARSE_TENSOR", "TYPE_PROTO",
                             "FLOATS",    "INTS",           "STRINGS",       "TENSORS",
                             "GRAPHS",    "SPARSE_TENSORS", "TYPE_PROTOS"};
  return names[static_cast<std::size_t>(kind)];
}

Attribute::Attribute(std::string attribute_name, Data value)
    : name(std::move(attribute_name)),
      kind(static_cast<AttributeKind>(value.index())),
      data(std::move(value)) {}
Attribute::Attribute(std::string attribute_name, float value)
    : Attribute(std::move(attribute_name), Data(value)) {}
Attribute::Attribute(std::string attribute_name, std::int64_t value)
    : Attribute(std::move(attribute_name), Data(value)) {}
Attribute::Attribute(std::string attribute_name, std::string value)
    : Attribute(std::move(attribute_name), Data(std::move(value))) {}
Attribute::Attribute(std::string attribute_name, Tensor value)
    : Attribute(std::move(attribute_name), Data(std::move(value))) {}
Attribute::Attribute(std::string attribute_name, std::vector<float> value)
    : Attribute(std::move(attribute_name), Data(std::move(value))) {}
Attribute::Attribute(std::string attribute_name, std::vector<std::int64_t> value)
    : Attribute(std::move(attribute_name), Data(std::move(value))) {}
Attribute::Attribute(std::string attribute_name, std::vector<std::string> value)
    : Attribute(std::move(attribute_name), Data(std::move(value))) {}

const Attribute* find(const Attributes& attributes, std::string_view name) noexcept {
  for (const auto& attribute : attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

const Tensor* tensor_of(const Attribute& attribute) noexcept {
  const auto* tensor = std::get_if<Boxed<Tensor>>(&attribute.data);
  return tensor == nullptr ? nullptr : &**tensor;
}

}  // namespace ondine::graph

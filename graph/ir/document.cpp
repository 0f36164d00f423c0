#include "graph/ir/document.h"

#include <array>
#include <cstring>

#include "core/checked.h"

namespace ondine::graph {
namespace {

// Position of an element in the dense tensor.
std::int64_t linear_index(const SparseTensorDef& sparse, std::span<const std::int64_t> index) {
  if (sparse.indices.shape().rank() == 1) return index[0];
  std::int64_t linear = 0;
  for (std::size_t axis = 0; axis < sparse.dims.rank(); ++axis) {
    if (index[axis] < 0 || index[axis] >= sparse.dims[axis]) return -1;
    linear = linear * sparse.dims[axis] + index[axis];
  }
  return linear;
}

}  // namespace

Tensor densify(const SparseTensorDef& sparse) {
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
  Tensor dense(sparse.values.dtype(), sparse.dims);
  const std::size_t bytes = size_of(dense.dtype());
  const auto width = static_cast<std::size_t>(index_shape.rank() == 2 ? rank : 1);
  const auto indices = sparse.indices.values<std::int64_t>();
  std::int64_t previous = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at =
        linear_index(sparse, indices.subspan(static_cast<std::size_t>(i) * width, width));
    if (at < 0 || at >= dense.size()) reject("has an index outside its shape ", sparse.dims);
    if (at <= previous) reject("has indices that do not ascend");
    previous = at;
    if (dense.dtype() == DType::string) {
      dense.mutable_values<std::string>()[static_cast<std::size_t>(at)] =
          sparse.values.values<std::string>()[static_cast<std::size_t>(i)];
    } else {
      std::memcpy(
          static_cast<std::byte*>(dense.mutable_data()) + static_cast<std::size_t>(at) * bytes,
          static_cast<const std::byte*>(sparse.values.data()) + static_cast<std::size_t>(i) * bytes,
          bytes);
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

const Attribute* find(const Attributes& attributes, std::string_view name) noexcept {
  for (const auto& attribute : attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

}  // namespace ondine::graph

#include "graph/print/format.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/message.h"
#include "graph/contract/clipped_dim.h"

namespace ondine::graph {
namespace {

constexpr std::size_t max_elements = 8;

// The shortest text that parses back to the same float.
std::string element(float value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}
std::string element(double value) { return cat(value); }
std::string element(bool value) { return value ? "true" : "false"; }
std::string element(const std::string& value) { return quoted(value); }
template <std::integral T>
std::string element(T value) {
  return std::to_string(value);
}

template <class Values>
std::string elements(const Values& values) {
  std::string out = "{";
  std::size_t i = 0;
  for (const auto& value : values) {
    if (i > 0) out += ", ";
    if (i++ == max_elements) {
      out += "...";
      break;
    }
    out += element(value);
  }
  return out + "}";
}

template <class T>
std::string contents(const Tensor& tensor) {
  return " " + elements(tensor.values<T>());
}

// Nothing of large tensors, which may lie in a file that would have to be read.
std::string printed_contents(const Tensor& tensor) {
  constexpr std::size_t max_bytes = std::size_t{64} << 10;
  if (tensor.bytes() >= max_bytes) return {};
  switch (tensor.dtype()) {
    case DType::float32:
      return contents<float>(tensor);
    case DType::float64:
      return contents<double>(tensor);
    case DType::int32:
      return contents<std::int32_t>(tensor);
    case DType::int64:
      return contents<std::int64_t>(tensor);
    case DType::uint8:
      return contents<std::uint8_t>(tensor);
    case DType::int8:
      return contents<std::int8_t>(tensor);
    case DType::boolean:
      return contents<bool>(tensor);
    case DType::string:
      return contents<std::string>(tensor);
    default:
      return {};
  }
}

// Formats a type around its parts; shared by declared and inferred types.
std::string type_text(TypeKind kind, DType dtype, const std::string& dims,
                      const std::string& element) {
  switch (kind) {
    case TypeKind::unknown:
      return {};
    case TypeKind::tensor:
      return cat("tensor(", dtype, ")", dims);
    case TypeKind::sparse_tensor:
      return cat("sparse_tensor(", dtype, ")", dims);
    case TypeKind::sequence:
      return cat("seq(", element, ")");
    case TypeKind::optional:
      return cat("optional(", element, ")");
    case TypeKind::map:
      return cat("map(", dtype, ", ", element, ")");
  }
  return {};
}

std::string printed_dim(Dim dim, const Symbols* symbols) {
  if (dim.known()) return std::to_string(dim.size());
  if (!dim.has_symbol()) return "?";
  const std::string times = dim.is_symbolic() ? "" : cat(dim.factor(), "*");
  if (const auto part = clipped_dim(Dim::symbolic(dim.symbol()))) {
    return cat(times, "min(", printed_dim(part->length, symbols), ", ", part->bound, ")");
  }
  const bool has_name = symbols != nullptr && dim.symbol() < symbols->names.size();
  return times + (has_name ? printed_name(symbols->names[dim.symbol()]) : cat("?", dim.symbol()));
}

std::string printed_dims(const Dims& dims, const Symbols* symbols) {
  return "[" + printed_list(dims, [&](Dim dim) { return printed_dim(dim, symbols); }) + "]";
}

struct AttributeText {
  std::string operator()(std::monostate) const { return "nothing"; }
  std::string operator()(float value) const { return element(value); }
  std::string operator()(std::int64_t value) const { return element(value); }
  std::string operator()(const std::string& value) const { return element(value); }
  std::string operator()(const Tensor& value) const { return printed_tensor(value); }
  std::string operator()(const SparseTensorDef& value) const {
    return cat("sparse_tensor(", value.values.dtype(), ")", value.dims);
  }
  std::string operator()(const TypeDef& value) const { return printed_type(value); }
  std::string operator()(const std::shared_ptr<const GraphDef>&) const { return "graph"; }
  std::string operator()(const std::vector<float>& values) const { return elements(values); }
  std::string operator()(const std::vector<std::int64_t>& values) const { return elements(values); }
  std::string operator()(const std::vector<std::string>& values) const { return elements(values); }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    return "{" + printed_list(values, *this) + "}";
  }
};

}  // namespace

std::string printed_name(std::string_view name) {
  constexpr std::size_t longest = 200;
  const bool plain =
      !name.empty() && name.size() <= longest && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_.:/-#").find(c) != std::string_view::npos;
      });
  return plain ? std::string(name) : quoted(std::string(name));
}

std::string printed_dims(const std::vector<DimDef>& dims) {
  return "[" +
         printed_list(dims,
                      [](const DimDef& dim) -> std::string {
                        if (const auto* size = std::get_if<std::int64_t>(&dim))
                          return std::to_string(*size);
                        const auto* name = std::get_if<DimName>(&dim);
                        return name != nullptr ? printed_name(*name) : "?";
                      }) +
         "]";
}

std::string printed_type(const TypeDef& type) {
  return type_text(type.kind, type.dtype, type.dims ? printed_dims(*type.dims) : "",
                   type.element ? printed_type(*type.element) : "?");
}

std::string printed_type(const Type& type, const Symbols* symbols) {
  const auto text =
      type_text(type.kind, type.dtype, type.dims ? printed_dims(*type.dims, symbols) : "",
                type.element ? printed_type(*type.element, symbols) : "?");
  return text.empty() ? "?" : text;
}

std::string printed_tensor(const Tensor& tensor) {
  return cat("tensor(", tensor.dtype(), ")", tensor.shape(), printed_contents(tensor));
}

std::string printed_attribute(const Attribute& attribute) {
  const auto text = attribute.ref->empty() ? std::visit(AttributeText{}, attribute.data)
                                           : "@" + printed_name(*attribute.ref);
  return cat(printed_name(attribute.name), " = ", text);
}

}  // namespace ondine::graph

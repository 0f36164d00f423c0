#include "graph/passes/same_attributes.h"

#include <algorithm>
#include <bit>
#include <string_view>

namespace ondine::graph {
namespace {

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}
bool same(std::int64_t a, std::int64_t b) { return a == b; }
bool same(const std::string& a, const std::string& b) { return a == b; }
bool same(const Tensor& a, const Tensor& b) { return a.identical(b); }
template <class T>
bool same(const T&, const T&) {
  return false;
}
template <class T>
bool same(const Boxed<T>& a, const Boxed<T>& b) {
  return same(*a, *b);
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same(x, y); });
}

std::size_t hash_value(float value) { return std::bit_cast<std::uint32_t>(value); }
std::size_t hash_value(std::int64_t value) { return static_cast<std::size_t>(value); }
std::size_t hash_value(const std::string& value) { return std::hash<std::string>()(value); }
std::size_t hash_value(const Tensor& value) { return hash_of(value); }
template <class T>
std::size_t hash_value(const T&) {
  return 0;
}
template <class T>
std::size_t hash_value(const Boxed<T>& value) {
  return hash_value(*value);
}
template <class T>
std::size_t hash_value(const std::vector<T>& values) {
  std::size_t hash = values.size();
  for (const T& value : values) hash = hash * 31 + hash_value(value);
  return hash;
}

bool same_value(const Attribute& a, const Attribute& b) {
  if (a.kind != b.kind || a.data.index() != b.data.index()) return false;
  return std::visit(
      [&](const auto& value) {
        return same(value, std::get<std::decay_t<decltype(value)>>(b.data));
      },
      a.data);
}

}  // namespace

bool same_attributes(const Attributes& a, const Attributes& b) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.begin(), a.end(), [&](const Attribute& attribute) {
    const Attribute* other = find(b, attribute.name);
    return other != nullptr && same_value(attribute, *other);
  });
}

std::size_t hash_of(const Tensor& tensor) {
  std::size_t hash = static_cast<std::size_t>(tensor.dtype()) * 31 + tensor.shape().rank();
  if (tensor.dtype() == DType::string) {
    for (const auto& text : tensor.values<std::string>()) {
      hash = hash * 31 + std::hash<std::string>()(text);
    }
    return hash;
  }
  const std::string_view bytes(static_cast<const char*>(tensor.data()), tensor.bytes());
  return hash * 31 + std::hash<std::string_view>()(bytes);
}

std::size_t hash_of(const Attributes& attributes) {
  std::size_t hash = 0;  // independent of the order
  for (const auto& attribute : attributes) {
    const std::size_t value =
        std::visit([](const auto& data) { return hash_value(data); }, attribute.data);
    hash += std::hash<std::string>()(attribute.name) ^ (value * 0x9e3779b97f4a7c15U);
  }
  return hash;
}

}  // namespace ondine::graph

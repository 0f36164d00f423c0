#include "graph/evaluate/text_bytes.h"

#include <algorithm>
#include <string>

#include "core/checked.h"

namespace ondine::graph {
namespace {

std::int64_t longest_text(const Value& value) {
  std::int64_t longest = 0;
  if (value.is_tensor() && value.tensor().dtype() == DType::string) {
    for (const std::string& text : value.tensor().values<std::string>()) {
      longest = std::max(longest, static_cast<std::int64_t>(text.size()));
    }
  }
  if (value.kind() == Value::Kind::sequence || value.kind() == Value::Kind::optional) {
    for (const Value& element : value.elements()) {
      longest = std::max(longest, longest_text(element));
    }
  }
  return longest;
}

// Whether a value is, or holds, the tensor with these elements.
bool holds(const Value& value, const void* elements) {
  switch (value.kind()) {
    case Value::Kind::none:
    case Value::Kind::sparse_tensor:
      return false;
    case Value::Kind::tensor:
      return value.tensor().data() == elements;
    default:
      return std::any_of(value.elements().begin(), value.elements().end(),
                         [&](const Value& element) { return holds(element, elements); });
  }
}

// Bytes allocated outside the string object.
std::uint64_t heap_bytes(const std::string& text) {
  return text.capacity() > std::string().capacity() ? text.capacity() + 1 : 0;
}

}  // namespace

std::uint64_t text_bytes(const Tensor& tensor) {
  std::uint64_t bytes = 0;
  if (tensor.dtype() != DType::string) return bytes;
  for (const std::string& text : tensor.values<std::string>()) bytes += heap_bytes(text);
  return bytes;
}

void require_text_fits(std::int64_t count, std::span<const Value> inputs, const Limits& limits) {
  std::int64_t longest = 0;
  for (const Value& input : inputs) longest = checked_add(longest, longest_text(input));
  const std::int64_t max_bytes = checked_mul(count, longest);
  if (static_cast<std::uint64_t>(max_bytes) > limits.tensor_bytes) {
    fail(ErrorCode::limit, count, " strings of up to ", longest, " bytes, the limit is ",
         limits.tensor_bytes, " bytes");
  }
}

void charge_new_text(std::span<const Value> inputs, std::span<Value> outputs,
                     const std::shared_ptr<MemoryBudget>& budget) {
  for (Value& output : outputs) {
    if (!output.is_tensor() || output.tensor().dtype() != DType::string || !budget) continue;
    const Tensor strings = output.tensor();
    const bool passed_through = std::any_of(inputs.begin(), inputs.end(), [&](const Value& input) {
      return holds(input, strings.data());
    });
    if (passed_through) continue;
    const std::uint64_t bytes = text_bytes(strings);
    if (bytes == 0) continue;
    budget->charge(bytes);
    const std::shared_ptr<void> owner(const_cast<void*>(strings.data()),
                                      [strings, budget, bytes](void*) { budget->release(bytes); });
    output = Tensor::share(DType::string, strings.shape(), owner.get(), owner);
  }
}

}  // namespace ondine::graph

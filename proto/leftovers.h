// Content of a model file that a ModelDef does not hold: fields that the schema does not know, and
// which tensors keep their elements in typed fields instead of raw_data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ondine {

class Leftovers {
 public:
  Leftovers() = default;
  // Reads a serialized ModelProto. Requires that decoding it succeeded.
  explicit Leftovers(std::span<const std::byte> model);

  // Leftovers of the model without training, opset imports and metadata, which an export for
  // inference may leave out.
  Leftovers for_inference() const;

  // The serialized ModelProto with the leftovers put back into the messages at the same places.
  std::vector<std::byte> put_back(std::vector<std::byte> model) const;

  struct Message {
    std::string unknown;            // fields, as they were
    std::int32_t typed_dtype = -1;  // of a tensor with data in a typed field
    // Parts by field number and position among the messages of this field.
    std::map<std::pair<std::uint32_t, std::uint32_t>, Message> parts;

    bool empty() const noexcept { return unknown.empty() && typed_dtype < 0 && parts.empty(); }
  };

 private:
  Message root_;
};

}  // namespace ondine

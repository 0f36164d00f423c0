// Large raw_data of tensors is not decoded: what protobuf parses holds references to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ondine {

// A serialized ModelProto with the raw_data of tensors replaced by references into it.
class DetachedModel {
 public:
  // `model` was scanned before (proto/wire_scan.h); references point into it. nullopt when less
  // than half of it is raw_data that can be detached.
  static std::optional<DetachedModel> make(std::span<const std::byte> model);

  // The model without the detached bytes; as long as the rest of it.
  std::span<const std::byte> rest() const noexcept { return rest_; }
  // The bytes that the raw_data of a message decoded from rest() stands for; nullopt when it was
  // not detached.
  std::optional<std::span<const std::byte>> find(std::string_view raw_data) const noexcept;

 private:
  DetachedModel() = default;

  std::span<const std::byte> model_;
  std::vector<std::byte> rest_;
};

}  // namespace ondine

// Recognizes the contents of a file that is no model, for the message that says so.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace ondine {

// The contents of OperatorSetProto.magic.
inline constexpr std::string_view operator_set_magic = "ONNXOPSET";

// Whether the bytes say that they are an operator set or, with another magic, have its fields. They
// may be damaged.
bool is_operator_set(std::span<const std::byte> bytes) noexcept;
// Whether the outermost message has the fields of a model.
bool is_model(std::span<const std::byte> bytes) noexcept;

// "an OperatorSetProto", "a TensorFlow Lite model", "an HTML page, ...", ...; nullptr for bytes
// that look like nothing known. Looks at the beginning, at the directory of a zip archive and at
// the fields of the outermost message only.
const char* other_format(std::span<const std::byte> bytes) noexcept;

}  // namespace ondine

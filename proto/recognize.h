// What a file that is no model holds instead, for the message that says so.
#pragma once

#include <cstddef>
#include <span>

namespace ondine {

// "an OperatorSetProto", "a TensorFlow Lite model", "an HTML page, ...", ...; nullptr for bytes
// that look like nothing known. Looks at the beginning, at the directory of a zip archive and at
// the fields of the outermost message only.
const char* other_format(std::span<const std::byte> bytes) noexcept;

}  // namespace ondine

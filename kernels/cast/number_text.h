// Numbers as text, as Cast writes and reads them. Does not depend on the locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <ondine/dtype.h>

namespace ondine::kernels {

using ParsedNumber = std::variant<std::int64_t, std::uint64_t, double>;

// An integer where the text is one and fits, else a real number: plain or scientific digits, INF,
// +INF, -INF and NaN in any case. Spaces around are skipped. Error(mismatch) for any other text.
ParsedNumber parse_number(std::string_view text);

// The shortest digits that read back as the same value of `format`, a float dtype; plain where the
// magnitude is moderate, else with an exponent.
std::string format_number(double value, DType format);

}  // namespace ondine::kernels

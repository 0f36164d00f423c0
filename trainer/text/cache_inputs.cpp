#include "trainer/text/cache_inputs.h"

#include <string>

#include "core/text/letters.h"

namespace ondine::text {

std::optional<std::size_t> token_axis_of_cache(const PortInfo& input) {
  const std::string name = lower_case(input.name);
  const bool is_named =
      name.find("past") != std::string::npos || name.find("cache") != std::string::npos;
  if (!is_named || !is_float(input.dtype) || !input.dims || input.dims->size() < 3) return {};
  std::optional<std::size_t> axis;
  for (std::size_t i = 1; i < input.dims->size(); ++i) {
    if ((*input.dims)[i] >= 0) continue;
    if (axis) return {};
    axis = i;
  }
  return axis;
}

}  // namespace ondine::text

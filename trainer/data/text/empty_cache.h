// Caches of language models that read texts from their beginnings.
#pragma once

#include <memory>
#include <span>

#include "trainer/data/column.h"

namespace ondine::data {

// Nothing for each row beside the only column of ids: for an input of keys or values of earlier
// tokens (text::token_axis_of_cache), of which there are none. nullptr for any other input, and
// where there is no such column or more than one.
std::shared_ptr<const Column> empty_cache(std::span<const std::shared_ptr<const Column>> columns,
                                          const PortInfo& input);

}  // namespace ondine::data

// What outputs hold, by the name of the loss that they were trained with.
#pragma once

#include <string_view>

#include <ondine/data_record.h>

namespace ondine::graph {

// Of the value that the loss reads. The `nll` of models of earlier versions may read logarithms,
// which only the record tells.
OutputMeaning meaning_of_loss(std::string_view loss) noexcept;

// Of an output that is computed from what the loss reads by operators that are not known:
// probabilities where the loss reads logits, else the same.
OutputMeaning meaning_behind(std::string_view loss) noexcept;

}  // namespace ondine::graph

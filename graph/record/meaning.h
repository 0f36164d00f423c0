// Meaning of outputs, by the name of the loss that they were trained with.
#pragma once

#include <string_view>

#include <ondine/data_record.h>

namespace ondine::graph {

// Meaning of the value that the loss reads. The `nll` of models of earlier versions may read
// logarithms, which only the record tells.
OutputMeaning meaning_of_loss(std::string_view loss) noexcept;

// Meaning of an output that unknown operators compute from the value that the loss reads:
// probabilities if the loss reads logits, else the same.
OutputMeaning meaning_behind(std::string_view loss) noexcept;

}  // namespace ondine::graph

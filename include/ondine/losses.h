// The losses of `ondine prepare --loss`: the labels that they take, and what they read.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <ondine/data_record.h>
#include <ondine/export.h>
#include <ondine/prepare.h>

namespace ondine {

// What the elements of a loss's labels are.
enum class LossLabels : std::uint8_t {
  classes,        // positions in the names of the classes
  probabilities,  // of the classes, which are 1 in all
  binary,         // 0 for no, 1 for yes, or a probability between
  signs,          // -1 for no, 1 for yes
  numbers,        // what the output estimates
  vectors,        // whose direction the output takes
  groups,         // integers, the same for rows that belong together
  sequences,      // classes without a place in time
};

struct LossFacts {
  std::string_view name;  // as in DataRecord::Prediction::loss
  Loss loss;
  LossLabels labels;
  OutputMeaning output;  // of the value that the loss reads
};

ONDINE_API std::span<const LossFacts> loss_facts() noexcept;
// nullptr for a name that is none of these, as that of no loss.
ONDINE_API const LossFacts* find_loss(std::string_view name) noexcept;
// Of softmax cross entropy that of labels that are classes.
ONDINE_API std::string_view loss_name(Loss loss) noexcept;

}  // namespace ondine

// The losses of `ondine prepare --loss`: the labels that they take, and what they read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/data_record.h>
#include <ondine/export.h>
#include <ondine/prepare.h>

namespace ondine {

// Meaning of the elements of a loss's labels.
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
// The loss's name; for softmax cross entropy, the name with labels that are classes.
ONDINE_API std::string_view loss_name(Loss loss) noexcept;

// A loss for PrepareOptions::loss_model without labels: row i of one output belongs to row i of the
// other, and the other rows of the batch are what it is told from (docs/losses.md). `first` and
// `second` are values of the model, embeddings [N, D], whose cosines are divided by the
// temperature. Or `scores` is a value [N, N] of each of the first with each of the second, which is
// read as it is. The loss is the mean of the cross entropies along rows and along columns.
// Error(mismatch) for a temperature that is not positive, and for one value twice.
ONDINE_API std::vector<std::byte> in_batch_loss(const std::string& first, const std::string& second,
                                                float temperature = 0.05F);
ONDINE_API std::vector<std::byte> in_batch_loss(const std::string& scores);

}  // namespace ondine

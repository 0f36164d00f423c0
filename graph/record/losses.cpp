#include <ondine/losses.h>

#include "graph/record/meaning.h"

namespace ondine::graph {

OutputMeaning meaning_of_loss(std::string_view loss) noexcept {
  const LossFacts* facts = find_loss(loss);
  return facts == nullptr ? OutputMeaning::unknown : facts->output;
}

OutputMeaning meaning_behind(std::string_view loss) noexcept {
  const OutputMeaning meaning = meaning_of_loss(loss);
  return meaning == OutputMeaning::logits ? OutputMeaning::probabilities : meaning;
}

}  // namespace ondine::graph

#include "graph/record/meaning.h"

#include <array>
#include <utility>

namespace ondine::graph {
namespace {

constexpr std::array<std::pair<std::string_view, OutputMeaning>, 15> meanings{{
    {"softmax-cross-entropy", OutputMeaning::logits},
    {"soft-cross-entropy", OutputMeaning::logits},
    {"focal", OutputMeaning::logits},
    {"kl", OutputMeaning::logits},
    {"bce", OutputMeaning::logits},
    {"dice", OutputMeaning::logits},
    {"nll", OutputMeaning::probabilities},
    {"bce-probabilities", OutputMeaning::probabilities},
    {"hinge", OutputMeaning::margins},
    {"mse", OutputMeaning::numbers},
    {"mae", OutputMeaning::numbers},
    {"huber", OutputMeaning::numbers},
    {"cosine", OutputMeaning::embedding},
    {"triplet", OutputMeaning::embedding},
    {"contrastive", OutputMeaning::embedding},
}};

}  // namespace

OutputMeaning meaning_of_loss(std::string_view loss) noexcept {
  if (loss == "ctc") return OutputMeaning::sequence;
  for (const auto& [name, meaning] : meanings) {
    if (name == loss) return meaning;
  }
  return OutputMeaning::unknown;
}

OutputMeaning meaning_behind(std::string_view loss) noexcept {
  const OutputMeaning meaning = meaning_of_loss(loss);
  return meaning == OutputMeaning::logits ? OutputMeaning::probabilities : meaning;
}

}  // namespace ondine::graph

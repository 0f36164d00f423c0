#include <ondine/losses.h>

#include <algorithm>
#include <array>

#include "graph/record/meaning.h"

namespace ondine {
namespace {

constexpr std::array<LossFacts, 16> facts{{
    {"softmax-cross-entropy", Loss::softmax_cross_entropy, LossLabels::classes,
     OutputMeaning::logits},
    {"soft-cross-entropy", Loss::softmax_cross_entropy, LossLabels::probabilities,
     OutputMeaning::logits},
    {"bce", Loss::bce_with_logits, LossLabels::binary, OutputMeaning::logits},
    {"mse", Loss::mse, LossLabels::numbers, OutputMeaning::numbers},
    {"mae", Loss::mae, LossLabels::numbers, OutputMeaning::numbers},
    {"huber", Loss::huber, LossLabels::numbers, OutputMeaning::numbers},
    {"nll", Loss::nll, LossLabels::classes, OutputMeaning::probabilities},
    {"bce-probabilities", Loss::bce_probabilities, LossLabels::binary,
     OutputMeaning::probabilities},
    {"kl", Loss::kl, LossLabels::probabilities, OutputMeaning::logits},
    {"hinge", Loss::hinge, LossLabels::signs, OutputMeaning::margins},
    {"focal", Loss::focal, LossLabels::classes, OutputMeaning::logits},
    {"dice", Loss::dice, LossLabels::binary, OutputMeaning::logits},
    {"cosine", Loss::cosine, LossLabels::vectors, OutputMeaning::embedding},
    {"triplet", Loss::triplet, LossLabels::groups, OutputMeaning::embedding},
    {"contrastive", Loss::contrastive, LossLabels::groups, OutputMeaning::embedding},
    {"ctc", Loss::ctc, LossLabels::sequences, OutputMeaning::sequence},
}};

}  // namespace

std::span<const LossFacts> loss_facts() noexcept { return facts; }

const LossFacts* find_loss(std::string_view name) noexcept {
  const auto found = std::find_if(facts.begin(), facts.end(),
                                  [&](const LossFacts& one) { return one.name == name; });
  return found == facts.end() ? nullptr : &*found;
}

std::string_view loss_name(Loss loss) noexcept {
  const auto found = std::find_if(facts.begin(), facts.end(),
                                  [&](const LossFacts& one) { return one.loss == loss; });
  return found == facts.end() ? std::string_view() : found->name;
}

}  // namespace ondine

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

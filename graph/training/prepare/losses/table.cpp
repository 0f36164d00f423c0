#include "graph/training/prepare/losses/table.h"

#include <algorithm>
#include <array>

#include "core/message.h"

namespace ondine {
namespace graph {
namespace {

using enum LossSetting;
using enum LossMean;
using L = LossLabels;
using M = OutputMeaning;

constexpr LossSetting operator|(LossSetting a, LossSetting b) {
  return static_cast<LossSetting>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

constexpr const char* softmax = "softmax cross entropy";
constexpr const char* binary = "binary cross entropy";

constexpr std::array<LossTraits, 16> table{{
    {{"softmax-cross-entropy", Loss::softmax_cross_entropy, L::classes, M::logits},
     softmax,
     cross_entropy,
     labels,
     label_smoothing | ignore_index | soft_labels | class_weights},
    {{"soft-cross-entropy", Loss::softmax_cross_entropy, L::probabilities, M::logits},
     softmax,
     soft_cross_entropy,
     labels,
     label_smoothing | soft_labels | class_weights},
    {{"bce", Loss::bce_with_logits, L::binary, M::logits}, binary, bce_with_logits, labels},
    {{"mse", Loss::mse, L::numbers, M::numbers}, "the mean squared error", mse, labels},
    {{"mae", Loss::mae, L::numbers, M::numbers}, "the mean absolute error", mae, labels},
    {{"huber", Loss::huber, L::numbers, M::numbers}, "the Huber loss", huber, labels, huber_delta},
    {{"nll", Loss::nll, L::classes, M::probabilities}, "negative log likelihood", nll, labels},
    {{"bce-probabilities", Loss::bce_probabilities, L::binary, M::probabilities},
     binary,
     bce_probabilities,
     labels},
    {{"kl", Loss::kl, L::probabilities, M::logits}, "the Kullback-Leibler divergence", kl, batch},
    {{"hinge", Loss::hinge, L::signs, M::margins}, "the hinge loss", hinge, labels},
    {{"focal", Loss::focal, L::classes, M::logits},
     "the focal loss",
     focal,
     labels,
     class_weights | focal_gamma},
    {{"dice", Loss::dice, L::binary, M::logits}, "the dice loss", dice, batch},
    {{"cosine", Loss::cosine, L::vectors, M::embedding}, "the cosine loss", cosine, vectors},
    {{"triplet", Loss::triplet, L::groups, M::embedding},
     "the triplet loss",
     triplet,
     batch,
     margin},
    {{"contrastive", Loss::contrastive, L::groups, M::embedding},
     "the contrastive loss",
     contrastive,
     batch,
     margin},
    {{"ctc", Loss::ctc, L::sequences, M::sequence}, "CTC", ctc, batch, ctc_blank},
}};

constexpr auto facts = [] {
  std::array<LossFacts, table.size()> result{};
  std::transform(table.begin(), table.end(), result.begin(),
                 [](const LossTraits& one) { return one.facts; });
  return result;
}();

}  // namespace

bool LossTraits::has(LossSetting setting) const { return (settings | setting) == settings; }
bool LossTraits::has_class_axis() const {
  return facts.labels == L::classes || facts.labels == L::probabilities;
}
bool LossTraits::reads_softmax() const {
  return is_sequence() || (has_class_axis() && facts.output == M::logits);
}
bool LossTraits::reads_sigmoid() const {
  return !has_class_axis() && (facts.output == M::logits || facts.output == M::margins);
}

const LossTraits& traits_of(Loss loss) {
  for (const LossTraits& one : table) {
    if (one.facts.loss == loss) return one;
  }
  fail(ErrorCode::mismatch, "there is no loss with number ", static_cast<int>(loss));
}

const LossTraits& traits_of(const PrepareOptions& options) {
  const bool is_soft = options.soft_labels && options.loss == Loss::softmax_cross_entropy;
  return is_soft ? table[1] : traits_of(options.loss);
}

std::vector<std::string> names_of_losses(const std::function<bool(const LossTraits&)>& has_trait) {
  std::vector<std::string> names;
  for (const LossTraits& one : table) {
    const bool is_choice = &one == &traits_of(one.facts.loss);
    if (is_choice && has_trait(one)) names.emplace_back(one.facts.name);
  }
  return names;
}
std::vector<std::string> names_of_losses(LossSetting setting) {
  return names_of_losses([&](const LossTraits& one) { return one.has(setting); });
}

}  // namespace graph

std::span<const LossFacts> loss_facts() noexcept { return graph::facts; }

const LossFacts* find_loss(std::string_view name) noexcept {
  const auto found = std::find_if(graph::facts.begin(), graph::facts.end(),
                                  [&](const LossFacts& one) { return one.name == name; });
  return found == graph::facts.end() ? nullptr : &*found;
}

std::string_view loss_name(Loss loss) noexcept {
  const auto found = std::find_if(graph::facts.begin(), graph::facts.end(),
                                  [&](const LossFacts& one) { return one.loss == loss; });
  return found == graph::facts.end() ? std::string_view() : found->name;
}

}  // namespace ondine

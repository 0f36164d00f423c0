#include "graph/training/prepare/losses/kinds.h"

#include <ondine/losses.h>

namespace ondine::graph {

std::string name_of(Loss loss) { return std::string(loss_name(loss)); }

std::string name_in_messages(Loss loss) {
  switch (loss) {
    case Loss::softmax_cross_entropy:
      return "softmax cross entropy";
    case Loss::kl:
      return "the Kullback-Leibler divergence";
    case Loss::focal:
      return "the focal loss";
    case Loss::ctc:
      return "CTC";
    case Loss::dice:
      return "the dice loss";
    case Loss::hinge:
      return "the hinge loss";
    case Loss::nll:
      return "negative log likelihood";
    case Loss::triplet:
      return "the triplet loss";
    case Loss::contrastive:
      return "the contrastive loss";
    default:
      return "binary cross entropy";
  }
}

bool reads_softmax(Loss loss) noexcept {
  return loss == Loss::softmax_cross_entropy || loss == Loss::kl || loss == Loss::focal ||
         loss == Loss::ctc;
}

bool has_class_axis(Loss loss) noexcept {
  return (reads_softmax(loss) && loss != Loss::ctc) || loss == Loss::nll;
}

bool reads_sigmoid(Loss loss) noexcept {
  return loss == Loss::bce_with_logits || loss == Loss::dice || loss == Loss::hinge;
}

}  // namespace ondine::graph

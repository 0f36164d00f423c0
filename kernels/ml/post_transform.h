// Post-transforms of the scores of ai.onnx.ml models.
#pragma once

#include <span>

#include "graph/contract/node_view.h"

namespace ondine::kernels {

inline constexpr std::string_view ml_domain = "ai.onnx.ml";

enum class PostTransform { none, softmax, logistic, softmax_zero, probit };

// The attribute post_transform, a name, or a number in TreeEnsemble. Error(invalid_model) for an
// unknown one.
PostTransform read_post_transform(const graph::NodeView& node);
PostTransform numbered_post_transform(const graph::NodeView& node);

// softmax_zero is softmax where scores of 0 stay near 0: they are scaled like the others but
// neither raised nor part of the sum. probit is the inverse of the normal distribution function.
void apply(PostTransform transform, std::span<double> scores);

// Fills in the scores of both classes from that of class 1, which is scores[1].
enum class SingleScore { probability, margin };
void make_pair(PostTransform transform, SingleScore meaning, std::span<double> scores);

// The index of the greatest score, the first of equal ones.
std::size_t top_class(std::span<const double> scores);

}  // namespace ondine::kernels

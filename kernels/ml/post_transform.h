// What the models of ai.onnx.ml do with their scores at the end.
#pragma once

#include <span>

#include "graph/contract/node_view.h"

namespace ondine::kernels {

inline constexpr std::string_view ml_domain = "ai.onnx.ml";

enum class PostTransform { none, softmax, logistic, softmax_zero, probit };

// From the attribute post_transform as text, or as TreeEnsemble's number.
PostTransform named_post_transform(const graph::NodeView& node);
PostTransform numbered_post_transform(const graph::NodeView& node);

// softmax_zero is softmax where scores of 0 stay near 0: they are scaled like the others but
// neither raised nor part of the sum. probit is the inverse of the normal distribution function.
void apply(PostTransform transform, std::span<double> scores);

// The two scores of a model with a single one, that of class 1.
enum class SingleScore { probability, margin };
void make_pair(PostTransform transform, SingleScore meaning, std::span<double> scores);

// The first greatest.
std::size_t top_class(std::span<const double> scores);

}  // namespace ondine::kernels

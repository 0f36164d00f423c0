// Names of the losses, and the values that they read.
#pragma once

#include <string>

#include <ondine/prepare.h>

namespace ondine::graph {

// "softmax-cross-entropy", as on the command line.
std::string name_of(Loss loss);
// "softmax cross entropy"
std::string name_in_messages(Loss loss);
// The logits of a softmax, or of a sigmoid.
bool reads_softmax(Loss loss) noexcept;
bool reads_sigmoid(Loss loss) noexcept;
// Labels are classes, or probabilities of them, along an axis of the output.
bool has_class_axis(Loss loss) noexcept;

}  // namespace ondine::graph

// The first tensor of a call that is not finite.
#pragma once

#include <string>

#include "trainer/exec/executor.h"
#include "trainer/model/function.h"

namespace ondine::trainer {

// Runs the nodes before the commit section again, on the inputs that are set. A name for messages:
// of an input that holds NaN or +infinity, else of a state variable that holds either or -infinity,
// else of the first result that is not finite although what its node reads is; empty if there is
// none. Infinities that constants hold, or inputs with -infinity, are masks.
std::string first_nonfinite(Executor& executor, graph::CallState& call, const Function& function,
                            const StateStore& state);

}  // namespace ondine::trainer

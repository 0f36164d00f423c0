#include "trainer/optimize.h"

namespace ondine::trainer {

void optimize(graph::Graph&, const Limits&) {}

}  // namespace ondine::trainer

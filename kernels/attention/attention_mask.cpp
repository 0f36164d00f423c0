#include "kernels/attention/attention_mask.h"

namespace ondine::kernels::ops {

using namespace graph;  // NOLINT

void check_mask(InferContext& context, std::size_t index, const Dims& scores) {
  if (!context.has_input(index) || !context.ranked(index)) return;
  const Dims& mask = context.dims(index);
  bool fits = mask.size() <= scores.size();
  for (std::size_t i = 0; fits && i < mask.size(); ++i) {
    const Dim want = scores[scores.size() - mask.size() + i];
    fits = mask[i].same(1) || !mask[i].known() || !want.known() || mask[i].same(want);
  }
  if (fits) return;
  context.reject("the mask is ", to_string(mask), ", the scores are ", to_string(scores));
}

}  // namespace ondine::kernels::ops

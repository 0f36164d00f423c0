// Loss scaling: small derivatives are not rounded to 0 in float16, and steps that overflow are
// skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ondine/prepare.h>

#include "graph/training/prepare/values.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// Throws Error(mismatch) for settings out of range.
void check_loss_scale(const LossScale& scale);

struct ChosenLossScale {
  LossScale scale;     // never nothing
  std::string reason;  // "" where it was given
};
// Nothing becomes dynamic where a trained parameter, one of the values `read` by the loss or a
// value between them is float16, else none.
ChosenLossScale choose_loss_scale(const LossScale& given, const GraphDef& main,
                                  const ValueTypes& types, const std::vector<std::string>& read,
                                  const std::vector<const InitializerDef*>& trained);

class LossScaler {
 public:
  // `bindings` receives the updates of the dynamic scale.
  LossScaler(GraphWriter& writer, const LossScale& scale, Properties& bindings);

  // Whether there is a factor; without one everything stays as it is.
  bool is_active() const noexcept { return !scale_.empty(); }
  // The loss times the factor, at least in float32.
  std::string scaled(const std::string& loss, DType dtype);
  // A gradient of type `dtype`, float32 or float64, over the factor.
  std::string unscaled(const std::string& gradient, DType dtype, const std::string& hint);
  // Appends the decision on this step, and the next factor. `gradients` are unscaled.
  void decide(const std::vector<std::string>& gradients, const std::vector<DType>& dtypes);
  // `next` if the gradients were finite, else `current`, both of the type of `like`.
  std::string kept(const std::string& next, const std::string& current, const Tensor& like,
                   const std::string& hint) const;

 private:
  void write_next_scale(const DynamicLossScale& dynamic);
  void bind(const std::string& variable, const std::string& next, const Tensor& like);

  GraphWriter* writer_;
  LossScale settings_;
  Properties* bindings_;
  std::string scale_;
  std::string inverse_;
  std::string is_finite_;
};

}  // namespace ondine::graph

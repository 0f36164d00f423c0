// Numeric against analytic derivatives of the variables that a model trains.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ondine/export.h>
#include <ondine/model.h>

namespace ondine {

struct GradcheckOptions {
  std::size_t algorithm = 0;
  // Computes in float64 where the model allows it, else as the model is.
  bool widen = true;
  // Random directions tried for each variable.
  int directions = 2;
  std::uint64_t seed = 0;
  // Moves the variables first, by random amounts of this size relative to their root mean square
  // (absolute where that is 0), as away from the kink of Relu where biases are 0.
  double perturbation = 0;
};

struct GradcheckResult {
  std::string variable;
  // Along the direction where both differ most: the derivative and the central difference, or
  // their means over a segment with many kinks.
  double analytic = 0;
  double numeric = 0;
  double error = 0;  // |analytic - numeric| relative to the larger of both
  bool passed = false;
  // The derivative jumps near the point, as those of ReLU and max pooling do. One that did not pass
  // is right around the point, which lies on the kink.
  bool kink = false;
};

// A model's loss and its gradients, without the updates.
class ONDINE_API GradientCheck {
 public:
  // Throws Error(mismatch) when the algorithm takes no derivative by a state variable.
  explicit GradientCheck(const std::filesystem::path& file, const GradcheckOptions& options = {},
                         const Limits& limits = {});
  // Overload with LoadOptions: only `operator_sets` and `limits` count.
  GradientCheck(const std::filesystem::path& file, const GradcheckOptions& options,
                const LoadOptions& load);

  // Inputs to feed; their types are those of the widened model. Trained variables have defaults.
  std::vector<PortInfo> inputs() const;
  bool widened() const noexcept { return widened_; }
  // Warnings about the documents of operator sets.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  // One result for each variable, derived at the model's initializers.
  std::vector<GradcheckResult> run(const NamedValues& feeds) const;

 private:
  struct Entry {
    std::string variable;
    std::string gradient;
    std::string sum;
    Tensor value;
  };
  void perturb();
  GradcheckResult check(const Entry& entry, const NamedValues& feeds) const;
  GradcheckResult compare(const Entry& entry, const NamedValues& feeds,
                          const std::vector<double>& direction, const Tensor& gradient) const;
  // One output with the entry's variable at another value and the others at theirs.
  Tensor evaluate(const Entry& entry, const Tensor& value, const NamedValues& feeds,
                  const std::string& output) const;

  GradcheckOptions options_;
  bool widened_ = false;
  std::vector<std::string> warnings_;
  std::unique_ptr<Model> model_;
  std::vector<Entry> entries_;
};

}  // namespace ondine

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
};

struct GradcheckResult {
  std::string variable;
  double analytic = 0;  // derivative along a direction, where both differ most
  double numeric = 0;   // central difference
  double error = 0;     // |analytic - numeric| relative to the larger of both
  bool passed = false;
  // The loss bends near the point, as ReLU and max pooling do: it passed with a smaller step only.
  bool kink = false;
};

// A model's loss and its gradients, without the updates.
class ONDINE_API GradientCheck {
 public:
  // Throws Error(mismatch) when the algorithm takes no derivative by a state variable.
  explicit GradientCheck(const std::filesystem::path& file, const GradcheckOptions& options = {},
                         const Limits& limits = {});

  // Inputs to feed; their types are those of the widened model. Trained variables have defaults.
  std::vector<PortInfo> inputs() const;
  bool widened() const noexcept { return widened_; }
  // One result for each variable, derived at the model's initializers.
  std::vector<GradcheckResult> run(const NamedValues& feeds) const;

 private:
  struct Entry {
    std::string variable;
    std::string gradient;
    std::string sum;
    Tensor value;
  };
  struct Along;
  GradcheckResult check(const Entry& entry, const NamedValues& feeds) const;
  GradcheckResult compare(const Entry& entry, const NamedValues& feeds, const Along& along) const;
  GradcheckResult compare(const Entry& entry, const NamedValues& feeds, const Along& along,
                          double step, double tolerance) const;
  double loss_at(const Entry& entry, const Tensor& value, const NamedValues& feeds) const;

  GradcheckOptions options_;
  bool widened_ = false;
  std::unique_ptr<Model> model_;
  std::vector<Entry> entries_;
};

}  // namespace ondine

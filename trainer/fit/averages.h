// Running averages of parameters, which the optimizer keeps.
#pragma once

#include <ondine/trainer.h>

namespace ondine::fit {

// Error(mismatch) unless the model keeps averages.
void require_averages(const Model& model);

// Takes the averages while it lives, where it is to, and puts the parameters back.
class AveragedWeights {
 public:
  AveragedWeights(Model& model, bool use);
  // Error where there is no memory; the destructor tries again.
  void put_back();
  ~AveragedWeights();
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  Model& model_;
  NamedValues trained_;
};

}  // namespace ondine::fit

#include <ondine/doctor.h>

#include "core/out_of_memory.h"
#include "trainer/doctor/examination.h"

namespace ondine {

std::vector<Finding> diagnose(const Model& model, Feeds batch, const DoctorOptions& options) {
  return guard_memory("examine the model", [&] {
    const trainer::Examination examination = trainer::examine(model, batch.values(), options);
    trainer::Findings findings;
    for (const auto check :
         {trainer::find_unreached_parameters, trainer::find_zero_gradients,
          trainer::find_not_finite, trainer::find_saturated, trainer::find_trained_masks,
          trainer::find_frozen_statistics, trainer::find_weight_scales, trainer::find_input_scales,
          trainer::find_learning_rate, trainer::find_initial_loss}) {
      check(examination, findings);
    }
    return findings;
  });
}

}  // namespace ondine

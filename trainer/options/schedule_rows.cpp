#include "trainer/options/schedule_rows.h"

namespace ondine::options {

std::vector<std::pair<std::string, Schedule>> schedule_choices(bool has_plateau) {
  std::vector<std::pair<std::string, Schedule>> result{{"constant", ConstantSchedule{}},
                                                       {"step", StepSchedule{}},
                                                       {"cosine", CosineSchedule{}},
                                                       {"polynomial", PolynomialSchedule{}},
                                                       {"one-cycle", OneCycleSchedule{}}};
  if (has_plateau) result.emplace_back("plateau", PlateauSchedule{});
  return result;
}

}  // namespace ondine::options

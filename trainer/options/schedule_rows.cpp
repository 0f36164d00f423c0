#include "trainer/options/schedule_rows.h"

#include "trainer/fit/schedule.h"

namespace ondine::options {

std::vector<std::pair<std::string, Schedule>> schedule_choices(bool has_plateau) {
  std::vector<Schedule> schedules{ConstantSchedule{}, StepSchedule{}, CosineSchedule{},
                                  PolynomialSchedule{}, OneCycleSchedule{}};
  if (has_plateau) schedules.emplace_back(PlateauSchedule{});
  std::vector<std::pair<std::string, Schedule>> result;
  for (const Schedule& one : schedules) result.emplace_back(fit::name_of(one), one);
  return result;
}

}  // namespace ondine::options

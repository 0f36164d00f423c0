#include "ondine/data_choices.h"

#include <map>

namespace ondine::cli {

DatasetOptions plain_dataset_options(const DataOptions& options) {
  DatasetOptions result = ondine::dataset_options(options.values, OptionSpelling::dashes);
  if (options.deadline != nullptr) result.deadline = *options.deadline;
  return result;
}

void add_target_kind(Command command, std::optional<TargetKind>& kind) {
  const std::map<std::string, std::optional<TargetKind>> kinds{{"classes", TargetKind::classes},
                                                               {"labels", TargetKind::labels},
                                                               {"numbers", TargetKind::numbers}};
  command.choice("--targets", &kind, kinds,
                 "What targets are: classes 0 to C - 1, labels 0 or 1, or numbers; the values "
                 "decide if absent");
}

}  // namespace ondine::cli

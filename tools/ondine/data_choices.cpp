#include "ondine/data_choices.h"

#include <map>

#include "ondine/settings.h"

namespace ondine::cli {

DatasetOptions plain_dataset_options(const DataOptions& options) {
  DatasetOptions result;
  result.layout = options.layout;
  result.image_fit = options.image_fit;
  if (!options.image_size.empty()) {
    result.image_size = parse_size(options.image_size, "--image-size");
  }
  result.target = options.target;
  if (options.fill) result.fill = static_cast<double>(*options.fill);
  result.skip_broken = options.skip_broken;
  result.outside_files = options.outside_files;
  result.text.column = options.text_column;
  result.text.length = static_cast<std::int64_t>(options.text_length);
  if (!options.tokenizer.empty()) result.text.encoding = TextEncoding::open(options.tokenizer);
  result.audio = options.audio;
  result.audio.resample = !options.no_resample;
  if (options.cache_bytes != 0) result.cache_bytes = options.cache_bytes;
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

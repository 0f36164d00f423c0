#include "trainer/data/images/image_rows.h"

#include "core/message.h"

namespace ondine::data {
namespace {

// Leaves the broken images out of `part`.
void skip_broken(Dataset::Part& part, const FileIndex& files, const DatasetOptions& options) {
  const auto broken = find_broken(files, options);
  if (broken.empty()) return;
  part.rows.emplace();
  auto next = broken.begin();
  for (std::uint64_t i = 0; i < files.size(); ++i) {
    if (next == broken.end() || next->first != i) {
      part.rows->push_back(i);
      continue;
    }
    part.skipped.push_back(files.path(i) + ": " + next->second);
    ++next;
  }
  if (part.rows->empty()) {
    fail(ErrorCode::mismatch, "all ", files.size(), " images are broken, for example ",
         part.skipped[0]);
  }
}

}  // namespace

Dataset::Part image_part(FileIndex files, std::string label, Tensor labels,
                         std::vector<std::string> classes, const DatasetOptions& options) {
  Dataset::Part part;
  part.classes = std::move(classes);
  part.threads = options.threads;
  files.shrink();
  if (options.skip_broken) skip_broken(part, files, options);
  part.columns.push_back(image_column("image", std::move(files), options));
  if (labels.defined()) {
    part.columns.push_back(array_column(std::move(label), std::move(labels), Layout::nchw));
  }
  return part;
}

}  // namespace ondine::data

#include "trainer/data/files/file_rows.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "core/message.h"
#include "core/parallel.h"
#include "trainer/data/files/row_cache.h"

namespace ondine::data {
namespace {

// The files that cannot be decoded, by position, and what is wrong with each. Decodes all of them,
// on options.threads threads.
std::vector<std::pair<std::uint64_t, std::string>> find_broken(const FileKind& kind,
                                                               const FileIndex& files,
                                                               const DatasetOptions& options) {
  const auto cores = std::max(1U, std::thread::hardware_concurrency());
  ThreadPool pool(options.threads > 0 ? options.threads : static_cast<int>(cores));
  std::vector<std::pair<std::uint64_t, std::string>> broken;
  std::mutex mutex;
  const DecodeBudget budget(options.limits);
  const Stop stop = Reading(options).stop();
  pool.for_chunks(static_cast<std::int64_t>(files.size()), 16, [&](auto first, auto last) {
    const StopScope scope(stop);
    for (auto i = static_cast<std::uint64_t>(first); i < static_cast<std::uint64_t>(last); ++i) {
      try {
        check_stop();
        kind.check(files.path(i), budget);
      } catch (const Error& error) {
        stop.check();  // then the file may be whole
        const std::scoped_lock lock(mutex);
        broken.emplace_back(i, error.message());
      }
    }
  });
  std::sort(broken.begin(), broken.end());
  return broken;
}

// Leaves the broken files out of `part`.
void skip_broken(const FileKind& kind, Dataset::Part& part, const FileIndex& files,
                 const DatasetOptions& options) {
  const auto broken = find_broken(kind, files, options);
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
    fail(ErrorCode::mismatch, "all ", files.size(), " ", kind.nouns, " are broken, for example ",
         part.skipped[0]);
  }
}

}  // namespace

Dataset::Part file_part(const FileKind& kind, FileIndex files, std::string label, Tensor labels,
                        std::vector<std::string> classes, const DatasetOptions& options) {
  Dataset::Part part;
  part.classes = std::move(classes);
  part.threads = options.threads;
  part.opened = {options.layout, options.image_fit, options.image_size, options.audio.seconds};
  files.shrink();
  if (options.skip_broken) skip_broken(kind, part, files, options);
  part.columns.push_back(
      cached_rows(kind.open(kind.column, std::move(files), options), options.cache_bytes));
  if (labels.defined()) {
    part.target = label;
    part.columns.push_back(target_column(std::move(label), std::move(labels)));
  }
  return part;
}

DatasetOptions options_like(const Dataset::Part& training, const DatasetOptions& options) {
  DatasetOptions result = options;
  for (const auto& column : training.columns) {
    if (column->sample_rate() > 0) result.audio.rate = column->sample_rate();
  }
  return result;
}

}  // namespace ondine::data

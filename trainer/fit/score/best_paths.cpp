#include <ondine/best_paths.h>

#include <algorithm>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/fit/score/metric_values.h"

namespace ondine {
namespace {

// `scores`: of the steps of one row.
std::vector<std::int64_t> best_path(std::span<const double> scores, std::size_t classes,
                                    std::int64_t blank) {
  std::vector<std::int64_t> path;
  std::int64_t last = blank;
  for (; !scores.empty(); scores = scores.subspan(classes)) {
    const auto step = scores.first(classes);
    const std::int64_t best = std::max_element(step.begin(), step.end()) - step.begin();
    if (best != last && best != blank) path.push_back(best);
    last = best;
  }
  return path;
}

}  // namespace

std::vector<std::vector<std::int64_t>> best_paths(const Tensor& scores, std::int64_t blank,
                                                  std::span<const std::uint64_t> steps) {
  return guard_memory("decode sequences", [&] {
    const Shape& shape = scores.shape();
    if (shape.rank() != 3 || shape[2] == 0) {
      fail(ErrorCode::mismatch, "sequences need scores [batch, steps, classes], found ", shape);
    }
    const auto rows = static_cast<std::size_t>(shape[0]);
    const auto most = static_cast<std::size_t>(shape[1]);
    const auto classes = static_cast<std::size_t>(shape[2]);
    if (!steps.empty() && steps.size() != rows) {
      fail(ErrorCode::mismatch, "there are ", steps.size(), " lengths of ", rows, " sequences");
    }
    const std::vector<double> values = fit::metric_values(scores);
    std::vector<std::vector<std::int64_t>> paths;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::uint64_t length = steps.empty() ? most : steps[row];
      if (length > most) {
        fail(ErrorCode::mismatch, "a sequence has length ", length, " of ", most);
      }
      const auto first = std::span(values).subspan(row * most * classes);
      paths.push_back(best_path(first.first(length * classes), classes, blank));
    }
    return paths;
  });
}

}  // namespace ondine

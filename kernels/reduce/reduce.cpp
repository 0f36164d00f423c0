#include "kernels/reduce/reduce.h"

namespace ondine::kernels {

Reduction::Reduction(const Shape& x, const std::vector<bool>& reduced) {
  struct Axis {
    std::int64_t size;
    bool reduced;
  };
  std::vector<Axis> axes;  // adjacent axes of the same kind are merged
  for (std::size_t a = 0; a < x.rank(); ++a) {
    (reduced[a] ? count_ : outputs_) *= x[a];
    if (x[a] == 1) continue;
    if (!axes.empty() && axes.back().reduced == reduced[a]) {
      axes.back().size *= x[a];
    } else {
      axes.push_back({x[a], reduced[a]});
    }
  }
  if (outputs_ == 0 || count_ == 0) return;
  std::int64_t stride = 1;
  if (!axes.empty()) {
    inner_ = stride = axes.back().size;
    inner_reduced_ = axes.back().reduced;
    axes.pop_back();
  }
  while (!axes.empty()) {
    auto& list = axes.back().reduced ? reduced_ : kept_;
    list.insert(list.begin(), {axes.back().size, stride});
    stride *= axes.back().size;
    axes.pop_back();
  }
  const std::int64_t rows = box_size(reduced_);
  if (inner_reduced_) {
    if (inner_ >= 2 * chunk) chunks_ = (inner_ + chunk - 1) / chunk;
    const std::int64_t length = chunks_ > 1 ? chunk : inner_;
    split(outputs_, rows * chunks_, std::max<std::int64_t>(1, chunk / length));
  } else {
    const std::int64_t width = std::min(inner_, columns);
    const std::int64_t strips = (inner_ + columns - 1) / columns;
    const std::int64_t height = std::max(block_rows, chunk / width / block_rows * block_rows);
    split(outputs_ / inner_ * strips, rows, height);
  }
}

// Several tasks share an output only where there would be too few tasks otherwise.
void Reduction::split(std::int64_t tasks, std::int64_t units, std::int64_t units_per_block) {
  units_ = units_per_block_ = units;
  if (tasks >= enough_tasks || units < 2 * units_per_block) return;
  units_per_block_ = std::max(units_per_block, (units + max_blocks - 1) / max_blocks);
  blocks_ = (units + units_per_block_ - 1) / units_per_block_;
}

}  // namespace ondine::kernels

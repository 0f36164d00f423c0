#include "autodiff/dataflow.h"

namespace ondine::autodiff {

using namespace graph;  // NOLINT

void Dataflow::refresh(std::size_t position) {
  if (position >= visited_.size()) return;  // is not known yet
  maker_.resize(graph_->values.size(), none);
  for (const ValueId id : graph_->nodes[position].outputs) {
    if (id != no_value) maker_[static_cast<std::size_t>(id)] = static_cast<std::uint32_t>(position);
  }
}

void Dataflow::extend() {
  const std::size_t known = visited_.size();
  visited_.resize(graph_->nodes.size(), 0);
  maker_.resize(graph_->values.size(), none);
  first_reader_.resize(graph_->values.size(), none);
  for (std::size_t i = known; i < visited_.size(); ++i) {
    for (const ValueId id : graph_->nodes[i].all_inputs()) {
      if (id == no_value) continue;
      std::uint32_t& reader = first_reader_[static_cast<std::size_t>(id)];
      reader = std::min(reader, static_cast<std::uint32_t>(i));
    }
    refresh(i);
  }
}

std::size_t Dataflow::first_reader(std::span<const ValueId> xs) const {
  std::uint32_t first = none;
  for (const ValueId x : xs) first = std::min(first, first_reader_[static_cast<std::size_t>(x)]);
  return first;
}

}  // namespace ondine::autodiff

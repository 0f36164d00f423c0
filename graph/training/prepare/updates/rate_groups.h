// Learning rates of groups of parameters.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <ondine/prepare.h>

#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// Error(mismatch) for a pattern that matches no trained parameter.
void require_rate_groups(const PrepareOptions& options,
                         const std::vector<const InitializerDef*>& trained);

// A float32 scalar of the graph, with its casts to other types.
struct ScalarValue {
  std::string name;
  std::map<DType, std::string> casts = {};

  const std::string& as(GraphWriter& writer, DType dtype);
};

class RateGroups {
 public:
  // base: the learning rate; step: the number of steps done before this one, int64, or "" where no
  // group waits for a step.
  RateGroups(GraphWriter& writer, const PrepareOptions& options, std::string base, std::string step)
      : writer_(&writer), options_(&options), base_(std::move(base)), step_(std::move(step)) {}

  // The rate of a parameter, written where it is first asked for.
  ScalarValue& of(std::string_view parameter);

 private:
  std::string write(const RateGroup& group);

  GraphWriter* writer_;
  const PrepareOptions* options_;
  std::string base_;
  std::string step_;
  std::map<std::pair<float, std::uint64_t>, ScalarValue> rates_;
};

// Whether a group waits for a step.
bool waits(const PrepareOptions& options) noexcept;

}  // namespace ondine::graph

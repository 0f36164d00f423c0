#include "graph/training/prepare/updates/rate_groups.h"

#include <algorithm>

#include "core/message.h"
#include "core/scalar.h"
#include "graph/training/prepare/parameters/parameters.h"

namespace ondine::graph {

void require_rate_groups(const PrepareOptions& options,
                         const std::vector<const InitializerDef*>& trained) {
  for (const RateGroup& group : options.rate_groups) {
    const bool found = std::any_of(trained.begin(), trained.end(), [&](const auto* one) {
      return matches_glob(group.pattern, one->name);
    });
    if (!found) {
      fail(ErrorCode::mismatch, "learning rate pattern ", quoted(group.pattern),
           " matches no trained parameter");
    }
  }
}

bool waits(const PrepareOptions& options) noexcept {
  return std::any_of(options.rate_groups.begin(), options.rate_groups.end(),
                     [](const RateGroup& group) { return group.from_step != 0; });
}

const std::string& ScalarValue::as(GraphWriter& writer, DType dtype) {
  if (dtype == DType::float32) return name;
  std::string& cast = casts[dtype];
  if (cast.empty()) cast = writer.cast(name, dtype, name);
  return cast;
}

ScalarValue& RateGroups::of(std::string_view parameter) {
  RateGroup group;
  for (const RateGroup& one : options_->rate_groups) {
    if (!matches_glob(one.pattern, parameter)) continue;
    group.scale *= one.scale;
    group.from_step = std::max(group.from_step, one.from_step);
  }
  ScalarValue& rate = rates_[{group.scale, group.from_step}];
  if (rate.name.empty()) rate.name = write(group);
  return rate;
}

std::string RateGroups::write(const RateGroup& group) {
  std::string rate = base_;
  if (group.scale != 1) {
    const std::string scale = writer_->scalar(base_ + ".scale", group.scale, DType::float32);
    rate = writer_->node("Mul", {rate, scale}, base_ + ".scaled");
  }
  if (group.from_step == 0) return rate;
  // Less takes integers from ai.onnx 9 on.
  const std::string step = writer_->cast(step_, DType::float32, "step.number");
  const std::string from =
      writer_->scalar("step.from", static_cast<double>(group.from_step) - 0.5, DType::float32);
  const std::string late = writer_->node("Less", {from, step}, "step.reached");
  const std::string factor = writer_->cast(late, DType::float32, "step.factor");
  return writer_->node("Mul", {rate, factor}, base_ + ".waiting");
}

}  // namespace ondine::graph

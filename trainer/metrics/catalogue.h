// All metrics by name.
#pragma once

#include <optional>
#include <string_view>

#include "trainer/metrics/metric.h"

namespace ondine::metrics {

// Error(mismatch) that lists all names and the nearest one for a name that does not exist.
void require_known(const std::vector<std::string>& names);
// Error(mismatch) that lists the metrics of the task for one that it does not have. `reason` says
// why the task is this one: "the model's loss is mse".
void require_task(const std::vector<std::string>& names, Task task, std::string_view reason);

// `name` must be known and the task's.
std::unique_ptr<Metric> make(const std::string& name, const Context& context);

// Whether larger values are better; nothing for names of no metric.
std::optional<bool> is_larger_better(std::string_view name);

// Error(mismatch) naming the output for a metric that reads scores, where the output holds classes.
void require_no_scores(const std::string& name, const std::string& output);

}  // namespace ondine::metrics

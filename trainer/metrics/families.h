// The makers of metrics: each gets one of the names that the catalogue has for it.
#pragma once

#include <optional>
#include <string_view>

#include "trainer/metrics/metric.h"

namespace ondine::metrics {

// K of "topK".
std::optional<std::size_t> top_count(std::string_view name);

std::unique_ptr<Metric> make_accuracy(const std::string& name, const Context& context);
std::unique_ptr<Metric> make_top(const std::string& name, const Context& context);
// precision, recall, f1, iou and dice, with or without a suffix.
std::unique_ptr<Metric> make_overlap(const std::string& name, const Context& context);
std::unique_ptr<Metric> make_confusion(const std::string& name, const Context& context);
// roc_auc and average_precision, with or without a suffix.
std::unique_ptr<Metric> make_ranking(const std::string& name, const Context& context);
std::unique_ptr<Metric> make_perplexity(const std::string& name, const Context& context);
// mse, mae and rmse.
std::unique_ptr<Metric> make_error(const std::string& name, const Context& context);
// cer and wer. Error(mismatch) where words need names of classes that are not there.
std::unique_ptr<Metric> make_edit_rate(const std::string& name, const Context& context);
std::unique_ptr<Metric> make_r2(const std::string& name, const Context& context);

}  // namespace ondine::metrics

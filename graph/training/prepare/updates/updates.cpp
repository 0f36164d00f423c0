#include "graph/training/prepare/updates/updates.h"

#include "core/message.h"
#include "graph/record/privacy_text.h"
#include "graph/record/training_entries.h"
#include "graph/training/prepare/losses/pieces.h"
#include "graph/training/prepare/updates/accumulation.h"
#include "graph/training/prepare/updates/directions.h"
#include "graph/training/prepare/updates/gradients.h"
#include "graph/training/prepare/updates/schedule.h"

namespace ondine::graph {
namespace {

// The value whose first dim counts the rows of a batch.
std::string counted_value(const GraphDef& algorithm, const GraphDef& main) {
  for (const GraphDef* graph : {&algorithm, &main}) {
    for (const ValueDef& input : graph->inputs) {
      if (!input.type.dims || !input.type.dims->empty()) return input.name;
    }
  }
  fail(ErrorCode::mismatch, "no input has rows to count, which accumulating gradients needs");
}

// Masters and the loss scale are state of one algorithm; the second would have to share them.
void require_accumulation(const std::vector<const InitializerDef*>& trained,
                          const LossScaler& scaler) {
  if (scaler.is_active()) {
    fail(ErrorCode::unsupported,
         "gradients of a scaled loss cannot be accumulated; prepare without a loss scale or "
         "without accumulation");
  }
  for (const InitializerDef* one : trained) {
    if (updated_type(*one) == one->value.dtype()) continue;
    fail(ErrorCode::unsupported, "gradients of ", one->value.dtype(), " parameters, such as ",
         quoted(one->name), ", cannot be accumulated");
  }
}

// One a line.
std::string lines_of(const std::vector<std::string>& names, const char* what) {
  std::string text;
  for (const std::string& name : names) {
    if (name.find('\n') != std::string::npos) {
      fail(ErrorCode::unsupported, what,
           " of a parameter whose name has a line break: ", quoted(name));
    }
    text += (text.empty() ? "" : "\n") + name;
  }
  return text;
}

}  // namespace

Updates write_updates(GraphWriter& writer, const ModelDef& model, const LossValues& loss,
                      const LossSources& sources, const std::vector<const InitializerDef*>& trained,
                      const PrepareOptions& options, LossScaler& scaler, Properties& bindings,
                      const OptimizerStart& start, const OptimizerPlan& plan) {
  if (options.accumulate) require_accumulation(trained, scaler);
  Updates result;
  for (const auto& [name, point] : plan.points.values) result.points.push_back(point);
  const auto* mezo = std::get_if<Mezo>(&options.optimizer);
  std::vector<std::string> gradients;
  if (mezo != nullptr) {
    gradients = write_slopes(writer, loss, trained, *mezo, plan.points);
  } else if (options.privacy) {
    PrivateGradients written = write_private_gradients(writer, model, loss, *sources.values,
                                                       trained, options, *sources.types_of);
    gradients = std::move(written.gradients);
    result.noise = std::move(written.noise);
  } else {
    gradients = write_gradients(writer, loss, trained, scaler);
  }
  if (!options.accumulate) {
    result.optimizer = write_optimizer(writer, std::move(gradients), trained, options, scaler,
                                       bindings, start, plan);
    return result;
  }
  BatchWeight batch{{}, loss.loss_weight, loss.dtype};
  if (batch.labels.empty()) batch.counted = counted_value(writer.graph(), model.graph);
  Accumulation sums = write_accumulation(writer, batch, gradients, trained, bindings);
  TrainingInfoDef& info = result.apply.emplace();
  GraphDef& algorithm = info.algorithm.emplace();
  algorithm.name = writer.names().fresh("update");
  GraphWriter apply(algorithm, writer.names(), writer.opset());
  gradients = write_means(apply, sums, trained, info.update_binding);
  result.optimizer = write_optimizer(apply, std::move(gradients), trained, options, scaler,
                                     info.update_binding, start, plan);
  result.state = std::move(sums.state);
  return result;
}

Properties update_properties(const Updates& updates, const std::vector<std::string>& trained,
                             const PrepareOptions& options) {
  Properties result;
  if (options.accumulate) {
    result.emplace_back(entry::accumulate, std::to_string(*options.accumulate));
  }
  if (has_schedule(options)) {
    result.emplace_back(entry::schedule, describe(*options.schedule));
    result.emplace_back(entry::scheduled_rate, updates.optimizer.scheduled);
  }
  if (options.privacy) {
    result.emplace_back(entry::privacy, to_text(*options.privacy));
    if (options.privacy->secure_noise) {
      result.emplace_back(entry::secure_noise, lines_of(updates.noise, "secure noise"));
    }
    result.emplace_back(entry::counted, weights_name(options));
  }
  if (options.average) {
    result.emplace_back(entry::averaged, lines_of(trained, "averages"));
    result.emplace_back(entry::averages, lines_of(updates.optimizer.averages, "averages"));
  }
  if (!updates.points.empty())
    result.emplace_back(entry::points, lines_of(updates.points, "points"));
  return result;
}

}  // namespace ondine::graph

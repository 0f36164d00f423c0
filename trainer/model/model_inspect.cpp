#include <algorithm>
#include <array>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/print/print.h"
#include "trainer/model/model_impl.h"

namespace ondine {
namespace {

constexpr std::array stage_names{"model", "graph", "training", "gradient", "optimized", "plan"};

// Follows the graphs of a model through their stages and prints the requested one.
class StagePrinter {
 public:
  // `algorithm`: nullopt for the inference graph.
  StagePrinter(Stage stage, std::optional<std::size_t> algorithm)
      : stage_(to_string(stage)), algorithm_(algorithm) {}

  void see(std::string_view name, const graph::Graph& graph) {
    // The first stage identifies the graph.
    if (name == "graph" || name == "training" || name == "initialization") part_ = name;
    if (name == "training") ++steps_;
    const bool wanted =
        algorithm_ ? part_ == "training" && steps_ == *algorithm_ + 1 : part_ == "graph";
    if (wanted && name == stage_) text_ = graph::print(graph);
  }

  std::string take() { return std::move(text_); }

 private:
  std::string_view stage_;
  std::optional<std::size_t> algorithm_;
  std::string part_;
  std::size_t steps_ = 0;
  std::string text_;
};

}  // namespace

const char* to_string(Stage stage) noexcept {
  const auto index = static_cast<std::size_t>(stage);
  return index < stage_names.size() ? stage_names[index] : "";
}

Stage stage_from_name(std::string_view name) {
  return guard_memory("find the stage", [&] {
    const auto found = std::find(stage_names.begin(), stage_names.end(), name);
    if (found != stage_names.end()) return static_cast<Stage>(found - stage_names.begin());
    std::string known;
    for (const char* one : stage_names) known += " " + quoted(std::string_view(one));
    fail(ErrorCode::not_found, "there is no stage ", quoted(name), "; stages are", known);
  });
}

std::string Model::inspect(Stage stage, std::size_t algorithm) const {
  return guard_memory("print the model", [&]() -> std::string {
    std::shared_lock lock(impl_->metadata_mutex);
    if (stage == Stage::model) return graph::print(impl_->def);
    lock.unlock();
    std::optional<std::size_t> trained;
    if (algorithm_count() > 0 && stage != Stage::graph) trained = algorithm;
    if (trained) impl_->require_algorithm(algorithm);
    if (stage == Stage::plan) {
      PlanRequest request;
      request.algorithm = trained;
      return to_string(plan_report(request));
    }
    if (!trained && stage == Stage::training) {
      fail(ErrorCode::mismatch, "the model has no training_info");
    }
    StagePrinter printer(stage, trained);
    lock.lock();
    trainer::assemble(impl_->def, impl_->options,
                      [&](std::string_view name, const graph::Graph& g) { printer.see(name, g); });
    return printer.take();
  });
}

}  // namespace ondine

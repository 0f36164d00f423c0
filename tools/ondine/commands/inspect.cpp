#include <iostream>
#include <nlohmann/json.hpp>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/shapes.h"

namespace ondine::cli {
namespace {

using nlohmann::json;

json to_json(const PlannedValue& value) {
  json result{{"name", value.name},        {"type", value.type},
              {"bytes", value.bytes},      {"storage", to_string(value.storage)},
              {"first", value.first},      {"last", value.last},
              {"in_place", value.in_place}};
  if (value.storage == Storage::arena) result["offset"] = value.offset;
  return result;
}

json to_json(const std::vector<PlannedValue>& values) {
  json list = json::array();
  for (const PlannedValue& value : values) list.push_back(to_json(value));
  return list;
}

json to_json(const PlanReport& report) {
  json nodes = json::array();
  for (const PlannedOperator& node : report.nodes) {
    nodes.push_back({{"op", node.op},
                     {"name", node.name},
                     {"implementation", node.implementation},
                     {"isa", node.isa},
                     {"workspace_bytes", node.workspace_bytes},
                     {"commit", node.commit},
                     {"outputs", to_json(node.outputs)}});
  }
  return {{"nodes", std::move(nodes)},
          {"arena_bytes", report.arena_bytes},
          {"constant_bytes", report.constant_bytes},
          {"state_bytes", report.state_bytes},
          {"workspace_bytes", report.workspace_bytes},
          {"peak_node", report.peak_node},
          {"peak_bytes", report.peak_bytes},
          {"peak_values", to_json(report.peak_values)}};
}

void print_plan(const Model& model, const CommandOptions& options) {
  PlanRequest request;
  if (model.algorithm_count() > 0 && !options.has("infer")) {
    request.algorithm = options.count("algorithm");
  }
  const std::vector<PortInfo> inputs =
      request.algorithm ? model.algorithm(*request.algorithm).inputs : model.inputs();
  request.shapes = parse_shapes(options.texts("shape"), inputs);
  const PlanReport report = model.plan_report(request);
  if (options.text("format") == "json") {
    std::cout << to_json(report).dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  } else {
    std::cout << to_string(report);
  }
}

int run_inspect(const CommandOptions& options) {
  const LoadOptions load = load_of(options);
  note_precision(load);
  const Model model = Model::load(options.text("model"), load);
  print_warnings(model);
  const std::string stage = options.text("stage");
  if (stage == "plan") {
    print_plan(model, options);
  } else {
    std::cout << model.inspect(stage, options.count("algorithm")) << '\n';
  }
  return 0;
}

}  // namespace

void add_inspect(Parser& parser) {
  parser.add("inspect", "Print a model at one stage between its file and its execution",
             "  ondine inspect model.onnx --stage gradient\n"
             "  ondine inspect model.onnx --stage plan --shape input=1x3x224x224\n",
             run_inspect);
}

}  // namespace ondine::cli

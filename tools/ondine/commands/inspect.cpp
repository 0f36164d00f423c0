#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/shapes.h"

namespace ondine::cli {
namespace {

using nlohmann::json;

struct InspectOptions {
  std::string model;
  std::string stage = "model";
  std::size_t algorithm = 0;
  std::vector<std::string> shapes;
  bool infer = false;
  bool as_json = false;
  LoadOptions load;
};

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

void print_plan(const Model& model, const InspectOptions& options) {
  PlanRequest request;
  if (model.algorithm_count() > 0 && !options.infer) request.algorithm = options.algorithm;
  const std::vector<PortInfo> inputs =
      request.algorithm ? model.algorithm(*request.algorithm).inputs : model.inputs();
  request.shapes = parse_shapes(options.shapes, inputs);
  const PlanReport report = model.plan_report(request);
  if (options.as_json) {
    std::cout << to_json(report).dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  } else {
    std::cout << to_string(report);
  }
}

}  // namespace

void add_inspect(Parser& parser) {
  auto options = std::make_shared<InspectOptions>();
  Command command =
      parser.add("inspect", "Print a model at one stage between its file and its execution",
                 "  ondine inspect model.onnx --stage gradient\n"
                 "  ondine inspect model.onnx --stage plan --shape input=1x3x224x224\n");
  command.option("MODEL", &options->model, "Model file").required();
  command
      .option("--stage", &options->stage,
              "model, graph, training, gradient, optimized or plan: every node with its "
              "implementation and the storage of its outputs")
      .required();
  command.option("--algorithm", &options->algorithm, "Index of the training algorithm");
  command.option("--shape", &options->shapes,
                 "For --stage plan: INPUT=DIMxDIMx..., the shape of an input with dynamic dims");
  command.option("--infer", &options->infer,
                 "For --stage plan: plan inference instead of a training step");
  const std::map<std::string, bool> formats{{"text", false}, {"json", true}};
  command.choice("--format", &options->as_json, formats, "For --stage plan: text or json");
  add_load_options(command, options->load);
  command.runs([options] {
    if (options->stage != "plan" &&
        (!options->shapes.empty() || options->infer || options->as_json)) {
      throw WrongUsage("--shape, --infer and --format need --stage plan");
    }
    note_precision(options->load);
    const Model model = Model::load(options->model, options->load);
    print_warnings(model);
    if (options->stage == "plan") {
      print_plan(model, *options);
    } else {
      std::cout << model.inspect(options->stage, options->algorithm) << '\n';
    }
    return 0;
  });
}

}  // namespace ondine::cli

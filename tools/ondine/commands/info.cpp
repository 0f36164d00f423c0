#include <iomanip>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include <ondine/layers.h>
#include <ondine/operator_set.h>
#include <ondine/operators.h>
#include <ondine/printable.h>
#include <ondine/trainer.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/print_set.h"
#include "ondine/shapes.h"

namespace ondine::cli {
namespace {

using nlohmann::json;

json to_json(const std::vector<PortInfo>& ports) {
  json list = json::array();
  for (const PortInfo& port : ports) {
    json one{{"name", port.name}, {"type", port.type}, {"has_default", port.has_default}};
    if (port.dims) one["dims"] = *port.dims;
    list.push_back(std::move(one));
  }
  return list;
}

// More constants are not read unless that is asked for.
constexpr std::uint64_t quickly_read = std::uint64_t{16} << 20;

// nullopt where it would take long.
std::optional<std::string> fingerprint(const Model& model, bool always) {
  if (!always && model.fingerprint_bytes() > quickly_read) return std::nullopt;
  return model.fingerprint();
}

json describe(const Model& model, bool with_fingerprint) {
  json result{{"inputs", to_json(model.inputs())}, {"outputs", to_json(model.outputs())}};
  const auto digest = fingerprint(model, with_fingerprint);
  result["fingerprint"] = digest ? json(*digest) : json();
  json algorithms = json::array();
  for (std::size_t i = 0; i < model.algorithm_count(); ++i) {
    const AlgorithmInfo algorithm = model.algorithm(i);
    algorithms.push_back({{"inputs", to_json(algorithm.inputs)},
                          {"outputs", to_json(algorithm.outputs)},
                          {"updates", algorithm.updates}});
  }
  result["algorithms"] = std::move(algorithms);
  json state = json::array();
  std::int64_t parameters = 0;
  for (const StateInfo& variable : model.state()) {
    if (variable.role == StateRole::weight) parameters += variable.shape.size();
    state.push_back(
        {{"name", variable.name},
         {"role", to_string(variable.role)},
         {"dtype", to_string(variable.dtype)},
         {"dims", std::vector<std::int64_t>(variable.shape.begin(), variable.shape.end())}});
  }
  result["state"] = std::move(state);
  result["trained_parameters"] = parameters;
  return result;
}

void print_ports(const char* title, const std::vector<PortInfo>& ports) {
  std::cout << title << '\n';
  for (const PortInfo& port : ports) {
    std::cout << "  " << printable(port.name) << "  " << printable(port.type)
              << (port.has_default ? "  (default)" : "") << '\n';
  }
}

// The model's operators that onnxruntime defines, as "com.microsoft Gelu".
std::vector<std::string> contrib_operators(const LoadedModel& loaded) {
  std::vector<std::string> names;
  for (const OperatorUse& use : loaded.operators) {
    if (use.contrib)
      names.push_back((use.domain.empty() ? "ai.onnx" : use.domain) + " " + use.name);
  }
  return names;
}

void print(const LoadedModel& loaded, bool with_fingerprint) {
  const Model& model = loaded.model;
  print_ports("inputs", model.inputs());
  print_ports("outputs", model.outputs());
  for (std::size_t i = 0; i < model.algorithm_count(); ++i) {
    const AlgorithmInfo algorithm = model.algorithm(i);
    std::cout << "training algorithm " << i << ": updates " << algorithm.updates.size()
              << " variables\n";
    print_ports("  inputs", extra_inputs(model, i));
    const std::vector<std::string> metrics = step_metrics(model, i);
    std::cout << "  metrics\n";
    for (const std::string& name : metrics) std::cout << "  " << printable(name) << '\n';
    std::vector<PortInfo> others = algorithm.outputs;
    // A scheduled rate, weights of metrics.
    std::erase_if(others, [&](const PortInfo& port) {
      const bool is_number = is_float(port.dtype) && port.dims && port.dims->empty();
      return !is_number || std::ranges::find(metrics, port.name) != metrics.end();
    });
    if (!others.empty()) print_ports("  other numbers", others);
  }
  std::int64_t parameters = 0;
  const std::vector<StateInfo> state = model.state();
  if (!state.empty()) std::cout << "state\n";
  for (const StateInfo& variable : state) {
    if (variable.role == StateRole::weight) parameters += variable.shape.size();
    std::cout << "  " << printable(variable.name) << "  " << to_string(variable.dtype)
              << variable.shape.to_string() << "  " << to_string(variable.role) << '\n';
  }
  const std::vector<std::string> contrib = contrib_operators(loaded);
  if (!contrib.empty()) std::cout << "operators of onnxruntime\n";
  for (const std::string& name : contrib) std::cout << "  " << printable(name) << '\n';
  std::cout << "trained parameters: " << parameters << '\n';
  const auto digest = fingerprint(model, with_fingerprint);
  const std::string size = human_bytes(model.fingerprint_bytes());
  std::cout << "fingerprint: "
            << (digest ? *digest : "not computed (of " + size + "); --fingerprint computes it")
            << '\n';
}

json to_json(const PlanInfo& plan) {
  return {{"arena_bytes", plan.arena_bytes},
          {"constant_bytes", plan.constant_bytes},
          {"state_bytes", plan.state_bytes}};
}

json to_json(const LayerReport& report) {
  json list = json::array();
  for (const Layer& layer : report.layers) {
    json one{{"name", layer.name},
             {"operator", layer.op},
             {"output", layer.type},
             {"trained_parameters", layer.trained_parameters},
             {"frozen_parameters", layer.frozen_parameters},
             {"shared", layer.shared},
             {"output_bytes", layer.output_bytes}};
    one["node"] = layer.node ? json(*layer.node) : json();
    one["multiply_adds"] = layer.multiply_adds ? json(*layer.multiply_adds) : json();
    list.push_back(std::move(one));
  }
  json result{{"layers", std::move(list)},
              {"trained_parameters", report.trained_parameters},
              {"frozen_parameters", report.frozen_parameters},
              {"multiply_adds", report.multiply_adds},
              {"inference", to_json(report.inference)}};
  if (report.step) result["step"] = to_json(*report.step);
  return result;
}

// Inputs of main graph and algorithm.
std::vector<PortInfo> all_inputs(const Model& model, std::size_t algorithm) {
  return model.algorithm_count() > 0 ? model.algorithm(algorithm).inputs : model.inputs();
}

void print_layers(const Model& model, const CommandOptions& options) {
  LayerRequest request;
  request.algorithm = options.count("algorithm");
  const std::vector<PortInfo> inputs = all_inputs(model, request.algorithm);
  request.shapes = complete_shapes(inputs, parse_shapes(options.texts("shape"), inputs), 1);
  const LayerReport report = layers(model, request);
  if (options.has("json")) {
    std::cout << to_json(report).dump(2, ' ', false, json::error_handler_t::replace) << '\n';
    return;
  }
  for (const auto& [name, shape] : request.shapes) {
    std::cout << "input " << printable(name) << ' ' << shape.to_string() << '\n';
  }
  std::cout << '\n' << to_string(report);
}

// The file for the CMake option ONDINE_OPERATORS.
void print_operators(const CommandOptions& options) {
  std::map<std::string, std::string> uses;
  for (const std::string& model : options.texts("model")) {
    for (const OperatorUse& use : operators_of(model, load_of(options))) {
      uses[use.identifier] =
          printable((use.domain.empty() ? "ai.onnx" : use.domain) + " " + use.name);
    }
  }
  for (const auto& [identifier, name] : uses) {
    std::cout << std::left << std::setw(40) << identifier << " # " << name << '\n';
  }
}

void print_model(const std::string& file, const CommandOptions& options) {
  const LoadedModel loaded = load_with_operators(file, load_of(options));
  const Model& model = loaded.model;
  print_warnings(model);
  if (options.has("layers")) {
    print_layers(model, options);
  } else if (options.has("json")) {
    json described = describe(model, options.has("fingerprint"));
    described["contrib_operators"] = contrib_operators(loaded);
    std::cout << described.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  } else {
    print(loaded, options.has("fingerprint"));
  }
}

int run_info(const CommandOptions& options) {
  if (options.has("operators")) {
    print_operators(options);
    return 0;
  }
  const std::vector<std::string> files = options.texts("model");
  const bool as_json = options.has("json");
  for (const std::string& file : files) {
    if (files.size() > 1 && !as_json) std::cout << file << '\n';
    if (is_operator_set(file)) {
      print_operator_set(file, as_json);
    } else {
      print_model(file, options);
    }
  }
  return 0;
}

}  // namespace

void add_info(Parser& parser) {
  parser.add("info", "Print inputs, outputs, algorithms and state of a model, or an operator set",
             "  ondine info model.onnx\n  ondine info model.onnx --json\n"
             "  ondine info --layers model.onnx --shape input=1x3x224x224\n"
             "  ondine info --operators model.onnx train.onnx > operators.txt\n",
             run_info);
}

}  // namespace ondine::cli

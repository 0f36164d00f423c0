#include <ondine/doctor.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include <ondine/trainer.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/synthetic.h"
#include "ondine/train/data_options.h"

namespace ondine::cli {
namespace {

using nlohmann::json;

std::vector<Finding> diagnose_data(const Model& model, const std::vector<PortInfo>& inputs,
                                   const CommandOptions& options, const DoctorOptions& doctor) {
  const DataOptions places = data_of(options);
  const Dataset data = open_dataset(places.data, places, model).train();
  BatchOptions batch;
  batch.seed = load_of(options).seed;
  batch.inputs = inputs;
  batch.map =
      evaluate_options(options.of(OptionGroup::evaluate), inputs, OptionSpelling::dashes).map;
  std::uint64_t size = std::min(options.count("batch-size"), data.rows());
  // A fixed first dim is the batch size.
  for (const PortInfo& input : inputs) {
    const bool fixed = !input.has_default && input.dims && !input.dims->empty();
    if (fixed && input.dims->front() > 0) size = static_cast<std::uint64_t>(input.dims->front());
  }
  Batches batches = data.batches(size, batch);
  const auto first = batches.begin();
  if (first == batches.end()) {
    throw Error(ErrorCode::mismatch, "the data has no batch of " + std::to_string(size) + " rows");
  }
  return diagnose(model, first->feeds(), doctor);
}

std::vector<Finding> examine(const Model& model, const CommandOptions& options) {
  DoctorOptions doctor;
  doctor.algorithm = options.count("algorithm");
  const std::vector<PortInfo> inputs = model.algorithm(doctor.algorithm).inputs;
  if (options.has("data")) return diagnose_data(model, inputs, options, doctor);
  doctor.synthetic = true;
  const NamedValues feeds =
      synthetic_feeds(inputs, options.integer("batch-size"), load_of(options).seed + 1,
                      parse_shapes(options.texts("shape"), inputs));
  return diagnose(model, feeds, doctor);
}

void print_json(const std::vector<Finding>& findings) {
  json list = json::array();
  for (const Finding& finding : findings) {
    list.push_back(
        {{"check", finding.check}, {"message", finding.message}, {"remedy", finding.remedy}});
  }
  std::cout << list.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void print(const std::vector<Finding>& findings, bool synthetic) {
  for (const Finding& finding : findings) {
    std::cout << finding.check << ": " << finding.message << "\n  remedy: " << finding.remedy
              << '\n';
  }
  std::cout << (findings.empty() ? "no" : std::to_string(findings.size()))
            << (findings.size() == 1 ? " finding" : " findings")
            << (synthetic ? " on synthetic data; --data examines a batch of yours\n" : "\n");
}

int run_doctor(const CommandOptions& options) {
  const LoadOptions load = load_of(options);
  Model model = Model::load(options.text("model"), load);
  if (options.has("initialize")) model.initialize(load.seed);
  const std::vector<Finding> findings = examine(model, options);
  if (options.has("json")) {
    print_json(findings);
  } else {
    print(findings, !options.has("data"));
  }
  return findings.empty() ? 0 : 1;
}

}  // namespace

void add_doctor(Parser& parser) {
  parser.add("doctor",
             "Look for what keeps a training model from learning; exit code 1 if there is any",
             "  ondine doctor train.onnx\n"
             "  ondine doctor train.onnx --data flowers/ --batch-size 16 --initialize\n"
             "  ondine doctor train.onnx --shape input=4x3x64x64 --json\n",
             run_doctor);
}

}  // namespace ondine::cli

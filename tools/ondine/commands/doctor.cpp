#include <ondine/doctor.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include <ondine/trainer.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/synthetic.h"
#include "ondine/train/data_options.h"

namespace ondine::cli {
namespace {

using nlohmann::json;

struct DoctorArguments {
  std::string model;
  DataOptions data;
  OptionValues map;  // --map
  std::vector<std::string> shapes;
  std::uint64_t batch_size = 32;
  bool initialize = false;
  bool as_json = false;
  LoadOptions load;
  DoctorOptions doctor;
};

std::vector<Finding> diagnose_data(const Model& model, const std::vector<PortInfo>& inputs,
                                   const DoctorArguments& options) {
  if (!options.shapes.empty()) throw WrongUsage("--shape is for runs without --data");
  const Dataset data = open_dataset(options.data.data, options.data, model).train();
  BatchOptions batch;
  batch.seed = options.load.seed;
  batch.inputs = inputs;
  batch.map = evaluate_options(options.map, inputs, OptionSpelling::dashes).map;
  std::uint64_t size = std::min(options.batch_size, data.rows());
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
  return diagnose(model, first->feeds(), options.doctor);
}

std::vector<Finding> examine(const Model& model, const DoctorArguments& options) {
  const std::vector<PortInfo> inputs = model.algorithm(options.doctor.algorithm).inputs;
  if (!options.data.data.empty()) return diagnose_data(model, inputs, options);
  DoctorOptions doctor = options.doctor;
  doctor.synthetic = true;
  const NamedValues feeds =
      synthetic_feeds(inputs, static_cast<std::int64_t>(options.batch_size), options.load.seed + 1,
                      parse_shapes(options.shapes, inputs));
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

int run_doctor(const DoctorArguments& options) {
  Model model = Model::load(options.model, options.load);
  if (options.initialize) model.initialize(options.load.seed);
  const std::vector<Finding> findings = examine(model, options);
  if (options.as_json) {
    print_json(findings);
  } else {
    print(findings, options.data.data.empty());
  }
  return findings.empty() ? 0 : 1;
}

}  // namespace

void add_doctor(Parser& parser) {
  auto options = std::make_shared<DoctorArguments>();
  Command command = parser.add(
      "doctor", "Look for what keeps a training model from learning; exit code 1 if there is any",
      "  ondine doctor train.onnx\n"
      "  ondine doctor train.onnx --data flowers/ --batch-size 16 --initialize\n"
      "  ondine doctor train.onnx --shape input=4x3x64x64 --json\n");
  command.option("MODEL", &options->model, "Training model").required();
  add_data_options(command, options->data, options->load.deadline);
  command.table(OptionGroup::evaluate, options->map, {"map"});
  command.option("--batch-size", &options->batch_size, "Rows of the batch").positive();
  command.option(
      "--shape", &options->shapes,
      "Without --data: INPUT=DIMxDIMx..., the shape of an input with dynamic dimensions");
  command.option("--initialize", &options->initialize,
                 "Examine the model's initialization instead of its initializers");
  command.option("--seed", &options->load.seed, "Seed of the batch and of random operators");
  command.option("--algorithm", &options->doctor.algorithm, "Index of the training algorithm");
  command.option("--json", &options->as_json, "Print JSON");
  add_load_options(command, options->load);
  command.runs([options] { return run_doctor(*options); });
}

}  // namespace ondine::cli

// The command `federate`: a node of a federation.
#include <iostream>
#include <memory>

#include <ondine/federated.h>
#include <ondine/printable.h>
#include <ondine/weights.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/take_weights.h"
#include "ondine/train/data_options.h"
#include "ondine/train/interrupt.h"

namespace ondine::cli {
namespace {

struct FederateArguments {
  std::string model;
  DataOptions data;
  OptionValues training;    // of the table
  OptionValues federation;  // of the table
  LoadOptions load;
  std::string output;
  bool quiet = false;
};

FederatedOptions federated_options_of(const FederateArguments& options, const Model& model) {
  FederatedOptions result = federated_options(options.federation, OptionSpelling::dashes);
  const std::size_t algorithm =
      trainer_options(options.training, {}, OptionSpelling::dashes).algorithm;
  std::vector<PortInfo> inputs;
  if (algorithm < model.algorithm_count()) inputs = model.algorithm(algorithm).inputs;
  result.trainer = trainer_options(options.training, inputs, OptionSpelling::dashes);
  result.trainer.seed = options.load.seed;
  result.limits = options.load.limits;
  return result;
}

void write_result(const Model& model, const FederateArguments& options) {
  if (options.output.empty()) return;
  if (is_safetensors(options.output)) {
    save_weights(model, options.output);
  } else {
    model.export_inference(options.output);
  }
  if (!options.quiet) std::cout << "wrote " << options.output << '\n';
}

int run_federate(const FederateArguments& options) {
  Model model = Model::load(options.model, options.load);
  print_warnings(model);
  if (!options.output.empty()) require_writable(options.output);
  const FederatedOptions federated = federated_options_of(options, model);
  Dataset data = open_dataset(options.data.data, options.data, model);
  print_skipped(data);
  const InterruptGuard guard;
  FederatedNode node(model, std::move(data), federated);
  node.on_wait([] { return !InterruptGuard::requested(); });
  node.on_note(
      [](const std::string& note) { std::cerr << "note: " << printable(note) << std::endl; });
  node.on_message([&](const FederatedMessage& message) {
    if (!message.failure.empty()) {
      std::cerr << message << std::endl;
    } else if (!options.quiet) {
      std::cout << message << std::endl;
    }
  });
  const FederatedReport report = node.run();
  if (!options.quiet) {
    std::cout << report.answered << " messages answered, " << report.failed << " with an error; "
              << report.refused << " refused\n";
  }
  write_result(model, options);
  return 0;
}

}  // namespace

void add_federate(Parser& parser) {
  auto options = std::make_shared<FederateArguments>();
  Command command = parser.add(
      "federate", "Train on own data as a node of a federation of Flower",
      "  ondine federate --superlink example.org:9092 --model train.onnx --data photos \\\n"
      "      --checkpoint node.ckpt\n"
      "  ondine federate --superlink 127.0.0.1:9092 --insecure --model train.onnx --data x.npy "
      "y.npy \\\n"
      "      --map image=x --map label=y --epochs 2 -o last.onnx\n");
  command.option("--model", &options->model, "Training model").required();
  command.heading("Data");
  options->data.cache_bytes = {};
  add_data_options(command, options->data, options->load.deadline).required();
  command.table(OptionGroup::federate, options->federation);
  command.find("--superlink").required();
  command.table(
      OptionGroup::train, options->training,
      {"epochs", "batch-size", "learning-rate", "validation-split", "augment", "max-time",
       "max-steps", "accumulate", "algorithm", "map", "set", "metrics", "class-axis", "on-nan"});
  command.heading("Result");
  command.option("-o,--output", &options->output,
                 "Inference model with the weights of the last message to write, or these as "
                 ".safetensors");
  command.option("--quiet", &options->quiet, "Print errors, notes and warnings only");
  add_load_options(command, options->load);
  add_seed(command, options->load);
  command.takes_job_file("federate");
  command.runs([options] { return run_federate(*options); });
}

}  // namespace ondine::cli

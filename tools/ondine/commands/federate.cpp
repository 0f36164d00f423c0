// The command `federate`: a node of a federation.
#include <iostream>

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

FederatedOptions federated_options_of(const CommandOptions& options, const LoadOptions& load,
                                      const Model& model) {
  FederatedOptions result =
      federated_options(options.of(OptionGroup::federate), OptionSpelling::dashes);
  const OptionValues training = options.of(OptionGroup::train);
  const std::size_t algorithm = trainer_options(training, {}, OptionSpelling::dashes).algorithm;
  std::vector<PortInfo> inputs;
  if (algorithm < model.algorithm_count()) inputs = model.algorithm(algorithm).inputs;
  result.trainer = trainer_options(training, inputs, OptionSpelling::dashes);
  result.trainer.seed = load.seed;
  result.limits = load.limits;
  return result;
}

void write_result(const Model& model, const std::string& output, bool is_quiet) {
  if (output.empty()) return;
  if (is_safetensors(output)) {
    save_weights(model, output);
  } else {
    model.export_inference(output);
  }
  if (!is_quiet) std::cout << "wrote " << output << '\n';
}

int run_federate(const CommandOptions& options) {
  const LoadOptions load = load_of(options);
  const std::string output = options.text("output");
  const bool is_quiet = options.has("quiet");
  Model model = Model::load(options.text("model"), load);
  print_warnings(model);
  if (!output.empty()) require_writable(output);
  const FederatedOptions federated = federated_options_of(options, load, model);
  const DataOptions places = data_of(options);
  Dataset data = open_dataset(places.data, places, model);
  print_skipped(data);
  const InterruptGuard guard;
  FederatedNode node(model, std::move(data), federated);
  node.on_wait([] { return !InterruptGuard::requested(); });
  node.on_note(
      [](const std::string& note) { std::cerr << "note: " << printable(note) << std::endl; });
  node.on_message([&](const FederatedMessage& message) {
    if (!message.failure.empty()) {
      std::cerr << message << std::endl;
    } else if (!is_quiet) {
      std::cout << message << std::endl;
    }
  });
  const FederatedReport report = node.run();
  if (!is_quiet) {
    std::cout << report.answered << " messages answered, " << report.failed << " with an error; "
              << report.refused << " refused\n";
  }
  write_result(model, output, is_quiet);
  return 0;
}

}  // namespace

void add_federate(Parser& parser) {
  parser.add(
      "federate", "Train on own data as a node of a federation of Flower",
      "  ondine federate --superlink example.org:9092 --model train.onnx --data photos \\\n"
      "      --checkpoint node.ckpt\n"
      "  ondine federate --superlink 127.0.0.1:9092 --insecure --model train.onnx --data x.npy "
      "y.npy \\\n"
      "      --map image=x --map label=y --epochs 2 -o last.onnx\n",
      run_federate);
}

}  // namespace ondine::cli

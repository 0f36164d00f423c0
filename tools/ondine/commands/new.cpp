#include <iostream>
#include <memory>
#include <ostream>

#include <ondine/error.h>
#include <ondine/networks.h>
#include <ondine/replace_file.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/train/data_options.h"

namespace ondine::cli {
namespace {

struct NewArguments {
  std::string kind;
  std::string output;
  DataOptions data;
  LoadOptions load;      // its deadline
  OptionValues network;  // of the table, but for those of data
};

int run_new(const NewArguments& options) {
  if (options.data.data.empty()) throw WrongUsage("new needs --data, which sizes the network");
  const NetworkKind kind = network_kind_from_name(options.kind);
  const DatasetOptions reading = plain_dataset_options(options.data);
  const Dataset data = Dataset::open(to_paths(options.data.data), reading);
  print_skipped(data);
  OptionValues values = options.network;
  for (const auto& one : options.data.values) {
    if (find_option(OptionGroup::network, one.first) != nullptr) values.push_back(one);
  }
  const NetworkOptions network = network_options(values, OptionSpelling::dashes);
  const NewNetwork made = new_network(kind, data, network);
  replace_file(options.output, [&](std::ostream& out) {
    out.write(reinterpret_cast<const char*>(made.model.data()),
              static_cast<std::streamsize>(made.model.size()));
  });
  std::cout << "wrote " << options.output << ": " << made.description << '\n';
  return 0;
}

}  // namespace

void add_new(Parser& parser) {
  auto options = std::make_shared<NewArguments>();
  Command command =
      parser.add("new", "Write a small standard network, sized by data, with initial weights",
                 "  ondine new cnn --data photos/ -o net.onnx\n"
                 "  ondine new mlp --data table.csv --target price -o net.onnx --seed 1\n");
  command.option("KIND", &options->kind, "mlp, cnn, unet, text or audio").required();
  add_data_options(command, options->data, options->load.deadline);
  command.table(OptionGroup::network, options->network, {"targets", "seed"});
  command.option("-o,--output", &options->output, "Inference model to write").required();
  add_deadline(command, options->load);
  command.runs([options] { return run_new(*options); });
}

}  // namespace ondine::cli

#include <iostream>
#include <ostream>

#include <ondine/error.h>
#include <ondine/networks.h>
#include <ondine/replace_file.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/train/data_options.h"

namespace ondine::cli {
namespace {

int run_new(const CommandOptions& options) {
  const NetworkKind kind = network_kind_from_name(options.text("kind"));
  const DataOptions places = data_of(options);
  const Dataset data = Dataset::open(to_paths(places.data), plain_dataset_options(places));
  print_skipped(data);
  OptionValues values = options.of(OptionGroup::network);
  for (const auto& one : places.values) {
    if (find_option(OptionGroup::network, one.first) != nullptr) values.push_back(one);
  }
  const std::string output = options.text("output");
  const NetworkOptions network = network_options(values, OptionSpelling::dashes);
  const NewNetwork made = new_network(kind, data, network);
  replace_file(output, [&](std::ostream& out) {
    out.write(reinterpret_cast<const char*>(made.model.data()),
              static_cast<std::streamsize>(made.model.size()));
  });
  std::cout << "wrote " << output << ": " << made.description << '\n';
  return 0;
}

}  // namespace

void add_new(Parser& parser) {
  parser.add("new", "Write a small standard network, sized by data, with initial weights",
             "  ondine new cnn --data photos/ -o net.onnx\n"
             "  ondine new mlp --data table.csv --target price -o net.onnx --seed 1\n",
             run_new);
}

}  // namespace ondine::cli

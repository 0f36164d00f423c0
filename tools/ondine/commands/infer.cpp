#include <algorithm>
#include <iostream>
#include <memory>

#include <ondine/printable.h>
#include <ondine/replace_file.h>
#include <ondine/text.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/infer_data.h"
#include "ondine/take_checkpoint.h"
#include "ondine/take_weights.h"

namespace ondine::cli {
namespace {

namespace fs = std::filesystem;

struct InferArguments {
  std::string model;
  std::vector<std::string> inputs;
  std::string checkpoint;
  std::vector<std::string> adapters;
  std::string folder;
  InferDataOptions on_data;
  LoadOptions load;
  std::string prompt;
  SampleOptions sample;
};

// One row of the right size is used as it is; a stack of images is converted to the dims and range
// of the input.
Value fit(const PortInfo& port, const Tensor& array) {
  const bool exact =
      array.dtype() == port.dtype && (!port.dims || port.dims->size() == array.shape().rank());
  if (exact || array.shape().empty() || array.shape()[0] == 0) return array;
  Feeder feeder(std::vector{port}, {{port.name, array}});
  std::vector<std::uint64_t> rows(feeder.size());
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = i;
  return feeder.take(rows)[0].second;
}

Value load_feed(const PortInfo& port, const fs::path& file) {
  if (file.extension() == ".pb") return load_value(file, port.type).second;
  return fit(port, load_array(file));
}

void print(const NamedValue& output) {
  if (!output.second.is_tensor()) {
    std::cout << printable(output.first) << "  " << to_string(output.second.kind()) << '\n';
    return;
  }
  const Tensor& tensor = output.second.tensor();
  std::cout << printable(output.first) << "  " << to_string(tensor.dtype())
            << tensor.shape().to_string() << " ";
  const std::int64_t shown = std::min<std::int64_t>(tensor.size(), 10);
  for (std::int64_t i = 0; i < shown; ++i) {
    if (tensor.dtype() == DType::string) {
      std::cout << " \"" << printable(tensor.values<std::string>()[static_cast<std::size_t>(i)])
                << '"';
    } else {
      std::cout << ' ' << element_text(tensor, i);
    }
  }
  std::cout << (shown < tensor.size() ? " ...\n" : "\n");
}

void save(const NamedValue& output, const fs::path& base) {
  if (output.second.is_tensor()) {
    try {
      save_array(base.string() + ".npy", output.second.tensor());
      return;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
    }
  }
  save_value(base.string() + ".pb", output);
}

void sample(const Model& model, const InferArguments& options) {
  if (!options.inputs.empty() || !options.on_data.data.data.empty()) {
    throw WrongUsage("infer takes --input, --data or --prompt");
  }
  SampleOptions how = options.sample;
  how.encoding = dataset_options(options.on_data.data, model, DataUse::inference).text.encoding;
  const std::string text = options.prompt + sample_text(model, options.prompt, how);
  if (options.folder.empty()) {
    std::cout << text << '\n';
    return;
  }
  replace_file(options.folder, [&](std::ostream& out) { out << text; });
}

int run_infer(const InferArguments& options) {
  Model model = Model::load(options.model, options.load);
  const std::size_t warned = print_warnings(model);
  if (!options.checkpoint.empty()) take_checkpoint(model, options.checkpoint);
  model = with_adapter_folders(std::move(model), options.adapters, options.load);
  if (!options.prompt.empty()) {
    require_data(options.on_data.data, {"tokenizer"});
    sample(model, options);
    return 0;
  }
  if (!options.on_data.data.data.empty()) {
    if (!options.inputs.empty()) throw WrongUsage("infer takes --input or --data");
    InferDataOptions on_data = options.on_data;
    on_data.output = options.folder;
    infer_data(model, on_data);
    print_warnings(model, warned);
    return 0;
  }
  require_data(options.on_data.data);
  if (!options.on_data.masks.empty()) throw WrongUsage("--masks needs --data");
  const std::vector<PortInfo> ports = model.inputs();
  NamedValues feeds;
  for (const std::string& pair : options.inputs) {
    const auto [name, file] = split_pair(pair, "--input", ports);
    const auto port =
        std::find_if(ports.begin(), ports.end(),
                     [&, &wanted = name](const PortInfo& one) { return one.name == wanted; });
    if (port == ports.end()) {
      throw Error(ErrorCode::mismatch, "the model has no input '" + name + "'");
    }
    feeds.emplace_back(name, load_feed(*port, file));
  }
  const NamedValues outputs = model.infer(feeds);
  print_warnings(model, warned);
  if (options.folder.empty()) {
    for (const NamedValue& output : outputs) print(output);
    return 0;
  }
  fs::create_directories(options.folder);
  std::vector<std::string> names;
  for (const NamedValue& output : outputs) names.push_back(output.first);
  const std::vector<std::string> files = file_names_of(names);
  for (std::size_t i = 0; i < files.size(); ++i) {
    save(outputs[i], fs::path(options.folder) / files[i]);
  }
  return 0;
}

}  // namespace

void add_infer(Parser& parser) {
  auto options = std::make_shared<InferArguments>();
  Command command =
      parser.add("infer", "Run a model on inputs from files (.npy, .pb, IDX), images or a data set",
                 "  ondine infer model.onnx --input image=x.npy\n"
                 "  ondine infer model.onnx --input a=a.npy --input b=b.npy -o results\n"
                 "  ondine infer tuned.onnx --data rose.jpg tulip.png --top 5\n"
                 "  ondine infer tuned.onnx --data photos -o classes.csv\n"
                 "  ondine infer tuned.onnx --prompt 'In the beginning' --sample 200\n");
  command.option("MODEL", &options->model, "Model file").required();
  command.option("--input", &options->inputs, "NAME=FILE; repeat for each input");
  command.option("--checkpoint", &options->checkpoint, "Checkpoint whose state to use");
  command.option("--adapter", &options->adapters,
                 "FOLDER or FOLDER=WEIGHT: a folder of PEFT's whose adapters count WEIGHT times, 1 "
                 "if absent; repeat for several");
  command.option(
      "-o,--output", &options->folder,
      "Folder to write the outputs to, as NAME.npy; with --data a .csv file, with --prompt "
      "a text");
  add_data_options(command, options->on_data.data, options->load.deadline);
  command.table(OptionGroup::evaluate, options->on_data.map, {"map"});
  command.option("--top", &options->on_data.top, "With --data: the K best classes of each row")
      .positive();
  command.option("--model-output", &options->on_data.model_output,
                 "With --data: output to show; the one that was trained if absent");
  command.option("--all-outputs", &options->on_data.all_outputs,
                 "With --data: show the other outputs too, as they are");
  Option masks = command.option(
      "--masks", &options->on_data.masks,
      "With --data of pictures: folder for a .png with the class of each pixel, in the "
      "size of the picture");
  Option prompt = command.option("--prompt", &options->prompt,
                                 "Text to continue, by a model of the next byte or piece");
  masks.excludes(prompt);
  command.option("--sample", &options->sample.tokens, "With --prompt: bytes or pieces to add")
      .needs(prompt);
  command
      .option("--temperature", &options->sample.temperature,
              "With --prompt: divides the scores; 0 takes the largest one each time")
      .needs(prompt);
  command.option("--seed", &options->sample.seed, "With --prompt: seed of the random choice")
      .needs(prompt);
  add_threads(command, options->load);
  add_deadline(command, options->load);
  add_operator_sets(command, options->load);
  command.runs([options] { return run_infer(*options); });
}

}  // namespace ondine::cli

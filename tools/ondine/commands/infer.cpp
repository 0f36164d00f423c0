#include <algorithm>
#include <iostream>

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

void sample(const Model& model, const CommandOptions& options) {
  SampleOptions how;
  how.tokens = options.count("sample");
  how.temperature = options.real("temperature");
  how.seed = options.count("seed");
  how.encoding = dataset_options(data_of(options), model, DataUse::inference).text.encoding;
  const std::string prompt = options.text("prompt");
  const std::string text = prompt + sample_text(model, prompt, how);
  if (!options.has("output")) {
    std::cout << text << '\n';
    return;
  }
  replace_file(options.text("output"), [&](std::ostream& out) { out << text; });
}

InferDataOptions infer_data_of(const CommandOptions& options) {
  InferDataOptions result;
  result.data = data_of(options);
  result.map = options.of(OptionGroup::evaluate);
  if (options.has("top")) result.top = options.count("top");
  result.model_output = options.text("model-output");
  result.all_outputs = options.has("all-outputs");
  result.output = options.text("output");
  result.masks = options.text("masks");
  return result;
}

NamedValues load_feeds(const Model& model, const std::vector<std::string>& pairs) {
  const std::vector<PortInfo> ports = model.inputs();
  NamedValues feeds;
  for (const std::string& pair : pairs) {
    const auto [name, file] = split_pair(pair, "--input", ports);
    const auto port =
        std::find_if(ports.begin(), ports.end(),
                     [&, &wanted = name](const PortInfo& one) { return one.name == wanted; });
    if (port == ports.end()) {
      throw Error(ErrorCode::mismatch, "the model has no input '" + name + "'");
    }
    feeds.emplace_back(name, load_feed(*port, file));
  }
  return feeds;
}

void save_all(const NamedValues& outputs, const fs::path& folder) {
  fs::create_directories(folder);
  std::vector<std::string> names;
  for (const NamedValue& output : outputs) names.push_back(output.first);
  const std::vector<std::string> files = file_names_of(names);
  for (std::size_t i = 0; i < files.size(); ++i) save(outputs[i], folder / files[i]);
}

int run_infer(const CommandOptions& options) {
  const LoadOptions load = load_of(options);
  note_precision(load);
  Model model = Model::load(options.text("model"), load);
  const std::size_t warned = print_warnings(model);
  if (options.has("checkpoint")) take_checkpoint(model, options.text("checkpoint"));
  model = with_adapter_folders(std::move(model), options.texts("adapter"), load);
  if (options.has("prompt")) {
    sample(model, options);
    return 0;
  }
  if (options.has("data")) {
    infer_data(model, infer_data_of(options));
    print_warnings(model, warned);
    return 0;
  }
  const NamedValues outputs = model.infer(load_feeds(model, options.texts("input")));
  print_warnings(model, warned);
  if (options.has("output")) {
    save_all(outputs, options.text("output"));
  } else {
    for (const NamedValue& output : outputs) print(output);
  }
  return 0;
}

}  // namespace

void add_infer(Parser& parser) {
  parser.add("infer", "Run a model on inputs from files (.npy, .pb, IDX), images or a data set",
             "  ondine infer model.onnx --input image=x.npy\n"
             "  ondine infer model.onnx --input a=a.npy --input b=b.npy -o results\n"
             "  ondine infer tuned.onnx --data rose.jpg tulip.png --top 5\n"
             "  ondine infer tuned.onnx --data photos -o classes.csv\n"
             "  ondine infer tuned.onnx --prompt 'In the beginning' --sample 200\n",
             run_infer);
}

}  // namespace ondine::cli

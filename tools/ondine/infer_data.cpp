#include "ondine/infer_data.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <numeric>

#include <ondine/data.h>
#include <ondine/metadata.h>
#include <ondine/printable.h>
#include <ondine/trainer.h>

#include "ondine/common.h"

namespace ondine::cli {
namespace {

// A field of a .csv file.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::vector<double> softmax(std::vector<double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score /= sum;
  return scores;
}

class DataInference {
 public:
  DataInference(const Model& model, const InferDataOptions& options)
      : model_(&model), options_(&options), names_(class_names(model)) {
    if (model.outputs().empty()) throw Error(ErrorCode::mismatch, "the model has no output");
    output_ = model.outputs()[0].name;
    are_logits_ = metadata_of(model, "ondine.loss") == "softmax-cross-entropy" &&
                  metadata_of(model, "ondine.prediction") == output_;
    if (options.output.empty()) return;
    require_writable(options.output);
    file_.open(options.output, std::ios::trunc);
    if (!file_) throw Error(ErrorCode::io, "cannot write '" + options.output + "'");
  }

  void run() {
    const Dataset opened = open_dataset(options_->data.data, options_->data, *model_, names_);
    // Files named for validation alone, as t10k-images, are the rows then.
    const Dataset data =
        opened.rows() == 0 && opened.has_validation() ? opened.validation() : opened;
    print_skipped(data);
    if (has_own_sizes(data)) {
      DatasetOptions open = dataset_options(options_->data, *model_);
      for (std::uint64_t row = 0; row < data.rows(); ++row) {
        run_batches(Dataset::open(data.file(row), open), row);
      }
    } else {
      run_batches(data, 0);
    }
    if (file_.is_open() && !file_.flush()) {
      throw Error(ErrorCode::io, "cannot write '" + options_->output + "'");
    }
  }

 private:
  // Images that the model takes in the size of each file.
  bool has_own_sizes(const Dataset& data) const {
    if (data.rows() == 0 || data.file(0).empty() || !options_->data.image_size.empty())
      return false;
    const std::vector<PortInfo> inputs = model_->inputs();
    return std::any_of(inputs.begin(), inputs.end(), [](const PortInfo& input) {
      return input.dims && input.dims->size() == 4 && (*input.dims)[2] < 0;
    });
  }

  void run_batches(const Dataset& data, std::uint64_t first_row) {
    const std::vector<PortInfo> inputs = model_->inputs();
    const ArrayMap map = parse_map(options_->map, inputs);
    Feeder feeder(inputs, data, map);
    const std::uint64_t size = feeder.fixed_batch().value_or(32);
    for (const Batch& batch :
         data.batches(size, {.shuffle = false, .inputs = inputs, .map = map})) {
      run_batch(data, batch.feeds(), batch.rows(), first_row);
    }
    if (!feeder.fixed_batch() || feeder.size() % size == 0) return;
    // The last row fills up a batch of fixed size.
    std::vector<std::uint64_t> rows;
    for (std::uint64_t i = feeder.size() - feeder.size() % size; rows.size() < size; ++i) {
      rows.push_back(std::min(i, feeder.size() - 1));
    }
    run_batch(data, feeder.take(rows), std::span(rows).first(feeder.size() % size), first_row);
  }

  void run_batch(const Dataset& data, std::span<const NamedValue> feeds,
                 std::span<const std::uint64_t> rows, std::uint64_t first_row) {
    const Results results = model_->infer(feeds, std::vector{output_});
    const Tensor& output = results[output_].tensor();
    for (std::uint64_t i = 0; i < rows.size(); ++i) {
      const std::string file = data.file(rows[i]);
      const std::vector<double> values = scores(output, i);
      write(file.empty() ? std::to_string(first_row + rows[i]) : file, values,
            values.size() == 1 ? element_text(output, static_cast<std::int64_t>(i)) : "");
    }
  }

  static std::vector<double> scores(const Tensor& output, std::uint64_t row) {
    const std::int64_t count = output.shape().size(1, output.shape().rank());
    std::vector<double> result;
    for (std::int64_t i = 0; i < count; ++i) {
      result.push_back(element_of(output, static_cast<std::int64_t>(row) * count + i));
    }
    return result;
  }

  // `only`: the text of a single value.
  void write(const std::string& name, const std::vector<double>& values, const std::string& only) {
    std::vector<std::pair<std::string, std::string>> found;
    const bool has_classes = values.size() > 1;
    const std::vector<double> shown = are_logits_ && has_classes ? softmax(values) : values;
    std::vector<std::size_t> order(shown.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (has_classes) {
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return shown[a] > shown[b]; });
      order.resize(std::min<std::size_t>(order.size(), options_->top));
    }
    for (const std::size_t i : order) {
      found.emplace_back(i < names_.size() ? names_[i] : std::to_string(i),
                         has_classes ? number(shown[i]) : only);
    }
    file_.is_open() ? write_csv(name, found, has_classes) : print(name, found, has_classes);
  }

  using Found = std::vector<std::pair<std::string, std::string>>;

  static void print(const std::string& name, const Found& found, bool has_classes) {
    std::cout << printable(name) << ' ';
    const char* separator = " ";
    for (const auto& [one, score] : found) {
      std::cout << separator << (has_classes ? printable(one) + " " : "") << score;
      separator = ", ";
    }
    std::cout << '\n';
  }

  void write_csv(const std::string& name, const Found& found, bool has_classes) {
    if (!has_header_) {
      file_ << "file";
      for (std::size_t i = 1; i <= found.size(); ++i) {
        const std::string suffix = i == 1 ? "" : std::to_string(i);
        file_ << (has_classes ? ",class" + suffix + ",score" + suffix : ",value" + suffix);
      }
      file_ << '\n';
      has_header_ = true;
    }
    file_ << csv_field(name);
    for (const auto& [one, score] : found) {
      file_ << (has_classes ? "," + csv_field(one) : std::string()) << ',' << score;
    }
    file_ << '\n';
  }

  const Model* model_;
  const InferDataOptions* options_;
  std::vector<std::string> names_;
  std::string output_;
  bool are_logits_ = false;
  bool has_header_ = false;
  std::ofstream file_;
};

}  // namespace

void infer_data(const Model& model, const InferDataOptions& options) {
  DataInference(model, options).run();
}

}  // namespace ondine::cli

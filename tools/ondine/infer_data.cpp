#include "ondine/infer_data.h"

#include <algorithm>
#include <functional>
#include <iostream>

#include <ondine/all_rows.h>
#include <ondine/data.h>
#include <ondine/data_record.h>
#include <ondine/printable.h>
#include <ondine/replace_file.h>
#include <ondine/trainer.h>

#include "ondine/common.h"
#include "ondine/mask_folder.h"
#include "ondine/row_answer.h"

namespace ondine::cli {
namespace {

constexpr std::size_t printed_values = 10;

// A field of a .csv file.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

class Writer {
 public:
  // `table`: the .csv file; nullptr: lines are printed.
  explicit Writer(std::ostream* table) : table_(table) {}

  void write(const std::string& name, const std::vector<RowAnswer>& answers) {
    table_ == nullptr ? print(name, answers) : tabulate(name, answers);
  }

 private:
  static void print(const std::string& name, const std::vector<RowAnswer>& answers) {
    std::cout << printable(name) << ' ';
    const char* between = " ";
    for (const RowAnswer& answer : answers) {
      std::cout << between;
      between = "; ";
      const std::size_t shown =
          answer.are_pairs ? answer.fields.size() : std::min(answer.fields.size(), printed_values);
      for (std::size_t i = 0; i < shown; ++i) {
        if (i != 0) std::cout << (answer.are_pairs && i % 2 == 1 ? " " : ", ");
        std::cout << printable(answer.fields[i]);
      }
      if (shown < answer.fields.size()) std::cout << ", ...";
    }
    std::cout << '\n';
  }

  void tabulate(const std::string& name, const std::vector<RowAnswer>& answers) {
    std::size_t count = 0;
    for (const RowAnswer& answer : answers) count += answer.fields.size();
    if (!has_header_) {
      *table_ << "file";
      for (const RowAnswer& answer : answers) {
        for (const std::string& one : answer.names) *table_ << ',' << csv_field(one);
      }
      *table_ << '\n';
      has_header_ = true;
      columns_ = count;
    }
    if (count != columns_) {
      throw Error(ErrorCode::mismatch, "row '" + name + "' has " + std::to_string(count) +
                                           " fields, the rows before it " +
                                           std::to_string(columns_));
    }
    *table_ << csv_field(name);
    for (const RowAnswer& answer : answers) {
      for (const std::string& field : answer.fields) *table_ << ',' << csv_field(field);
    }
    *table_ << '\n';
  }

  std::ostream* table_;
  bool has_header_ = false;
  std::size_t columns_ = 0;
};

std::string target_of(const DataRecord& record) {
  if (record.table && !record.table->target.empty()) return record.table->target;
  const DataRecord::Input* label = record.find_input(record.prediction.label);
  return label == nullptr ? std::string() : label->column;
}

class DataInference {
 public:
  DataInference(const Model& model, const InferDataOptions& options)
      : model_(&model), options_(&options), record_(data_record(model)) {
    outputs_.push_back(find_prediction(model, options.model_output).output);
    if (options.all_outputs) {
      for (const PortInfo& port : model.outputs()) {
        if (port.name != outputs_[0]) outputs_.push_back(port.name);
      }
    }
    for (const std::string& name : outputs_) readers_.emplace_back(reader_options(name));
  }

  void run(std::ostream* table) {
    Writer writer(table);
    if (!options_->masks.empty()) {
      masks_.emplace(options_->masks, *model_, options_->data,
                     find_prediction(*model_, options_->model_output));
    }
    const Dataset opened =
        open_dataset(options_->data.data, options_->data, *model_, DataUse::inference);
    // Files named for validation alone, as t10k-images, are the rows then.
    const Dataset data =
        opened.rows() == 0 && opened.has_validation() ? opened.validation() : opened;
    print_skipped(data);
    run(data, writer);
    for (const RowReader& reader : readers_) {
      if (!reader.note().empty()) std::cerr << "note: " << printable(reader.note()) << '\n';
    }
  }

 private:
  RowReader::Options reader_options(const std::string& output) const {
    RowReader::Options options;
    options.top = options_->top;
    options.prediction.output = output;
    // An output beside the recorded one is of the same loss only if it is asked for by name.
    if (output == outputs_[0]) {
      options.prediction = find_prediction(*model_, output);
      options.classes = record_.classes;
      options.target = target_of(record_);
    }
    if (!record_.text.encoding.empty()) {
      options.texts = dataset_options(options_->data, *model_, DataUse::inference).text.encoding;
    }
    return options;
  }

  void run(const Dataset& data, Writer& writer) {
    const std::vector<PortInfo> inputs = model_->inputs();
    const ArrayMap map = evaluate_options(options_->map, inputs, OptionSpelling::dashes).map;
    const RecordedFeeder recorded = recorded_feeder(*model_, inputs, data, map);
    for (const std::string& note : recorded.notes) {
      std::cerr << "note: " << printable(note) << '\n';
    }
    Feeder feeder = recorded.feeder;
    for_all_rows(feeder, batch_size,
                 [&](auto feeds, auto rows) { run_batch(data, feeds, rows, writer); });
  }

  void run_batch(const Dataset& data, std::span<const NamedValue> feeds,
                 std::span<const std::uint64_t> rows, Writer& writer) {
    const Results results = model_->infer(feeds, outputs_);
    for (std::uint64_t i = 0; i < rows.size(); ++i) {
      const std::string file = data.file(rows[i]);
      std::vector<RowAnswer> answers;
      for (std::size_t k = 0; k < outputs_.size(); ++k) {
        answers.push_back(answer(k, results[outputs_[k]], i, feeds));
      }
      writer.write(file.empty() ? std::to_string(rows[i]) : file, answers);
      if (masks_) masks_->write(results[outputs_[0]].tensor(), i, file, rows[i]);
    }
  }

  RowAnswer answer(std::size_t k, const Value& value, std::uint64_t row,
                   std::span<const NamedValue> feeds) {
    const bool has_rows = value.is_tensor() && !value.tensor().shape().empty() &&
                          value.tensor().shape()[0] > static_cast<std::int64_t>(row) &&
                          value.tensor().dtype() != DType::string;
    if (!has_rows) {
      throw Error(ErrorCode::mismatch, "output '" + outputs_[k] +
                                           "' has no row of numbers for each row of the data; use "
                                           "--input, which prints outputs as they are");
    }
    return readers_[k].read(value.tensor(), row, text_length(feeds, row));
  }

  // Ids of a text without the padding at its end; 0 where no input holds texts.
  std::int64_t text_length(std::span<const NamedValue> feeds, std::uint64_t row) const {
    if (record_.text.encoding.empty()) return 0;
    for (const auto& [name, value] : feeds) {
      const Tensor& ids = value.tensor();
      if (!is_integer(ids.dtype()) || ids.shape().rank() != 2) continue;
      const std::int64_t length = ids.shape()[1];
      const auto padding = static_cast<double>(padding_);
      std::int64_t used = length;
      while (used > 1 &&
             element_of(ids, static_cast<std::int64_t>(row) * length + used - 1) == padding) {
        --used;
      }
      return used;
    }
    return 0;
  }

  static constexpr std::uint64_t batch_size = 32;

  const Model* model_;
  const InferDataOptions* options_;
  DataRecord record_;
  std::vector<std::string> outputs_;
  std::vector<RowReader> readers_;
  std::optional<MaskFolder> masks_;
  std::int64_t padding_ = text_options(*model_).encoding.padding_id();
};

}  // namespace

void infer_data(const Model& model, const InferDataOptions& options) {
  DataInference inference(model, options);
  if (options.output.empty()) return inference.run(nullptr);
  require_writable(options.output);
  replace_file(options.output, [&](std::ostream& table) { inference.run(&table); });
}

}  // namespace ondine::cli

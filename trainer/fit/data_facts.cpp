#include "trainer/fit/data_facts.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/message.h"
#include "graph/record/record.h"
#include "trainer/data/batch_reader.h"
#include "trainer/data/fingerprint.h"
#include "trainer/model/model_impl.h"
#include "trainer/text/text_metadata.h"

namespace ondine::fit {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), shown); ++i) {
    text += (i == 0 ? "" : ", ") + quoted(names[i]);
  }
  return names.size() > shown ? text + ", ..." : text;
}

// Names in their order; empty where one of both does not say.
void require_names(const char* what, const std::vector<std::string>& found,
                   const std::vector<std::string>& known) {
  if (found.empty() || known.empty() || found == known) return;
  fail(ErrorCode::mismatch, "the ", what, " of the data (", list_of(found),
       ") are not those of the model (", list_of(known), "); open the data with ",
       "recorded_options(model)");
}

void require_encoding(const DataRecord& record, const Dataset& data) {
  if (!data.text() || record.text.encoding.empty()) return;
  const TextEncoding& encoding = data.text()->encoding;
  const TextEncoding known = text::encoding_of(record.text);
  if (known == encoding) return;
  fail(ErrorCode::mismatch, "the texts of the data are encoded as ", quoted(encoding.name()),
       ", those of the model as ", quoted(known.name()),
       known.name() == encoding.name() ? " with other pieces" : "");
}

// Rows of prompts and padding have labels that the loss must leave out, and what was learnt once
// stays so.
void require_next_rows(const DataRecord& record, const Dataset& data) {
  const TextOptions text = data.text().value_or(TextOptions());
  if (!text.next.rows || !data::PartAccess::of(data).opened.predicts_next) return;
  const auto& ignored = record.prediction.ignored_label;
  if (!record.prediction.loss.empty() && ignored != text.next.ignored_label) {
    fail(ErrorCode::mismatch, "labels of the data that do not count are ", text.next.ignored_label,
         ", the model's loss leaves out ", ignored ? std::to_string(*ignored) : "none",
         ": prepare it with --ignore-index ", text.next.ignored_label);
  }
  if (record.text.loss_on && text.next.loss_on && record.text.loss_on != text.next.loss_on) {
    fail(ErrorCode::mismatch,
         "the data count other tokens (--loss-on) than the model was trained "
         "with");
  }
  const std::string& known = record.text.chat_template;
  if (!known.empty() && !text.next.chat_template.empty() && known != text.next.chat_template) {
    fail(ErrorCode::mismatch,
         "the template of conversations is not the one that the model was trained with");
  }
}

// Tokens of the longest rows of texts; 0 where rows are no texts, or hold several whose positions
// begin anew.
std::int64_t tokens_of_rows(const Dataset& data) {
  if (!data.text() || data.text()->next.pack) return 0;
  std::int64_t tokens = 0;
  for (const auto& column : data::PartAccess::of(data).columns) {
    if (column->rows() == 0 || !column->ids_of(0)) continue;
    const PortInfo port = column->port();
    if (port.dims && port.dims->size() == 2) tokens = std::max(tokens, (*port.dims)[1]);
  }
  return tokens;
}

void require_length(const DataRecord& record, const Dataset& data) {
  const DataRecord::Context& most = record.text.context;
  if (!most.is_limit || most.tokens == 0) return;
  const std::int64_t tokens = tokens_of_rows(data);
  if (tokens <= most.tokens) return;
  fail(ErrorCode::mismatch, "the rows have ", tokens, " tokens, the model takes at most ",
       most.tokens, " (", most.source, "); --text-length ", most.tokens,
       " cuts them off (TextOptions::length)");
}

void require_rate(const DataRecord& record, const Dataset& data) {
  const std::int64_t rate = data.sample_rate();
  if (rate == 0 || record.audio.rate == 0 || record.audio.rate == rate) return;
  fail(ErrorCode::mismatch, "the recordings are taken at ", rate,
       " samples a second, the model takes ", record.audio.rate);
}

std::vector<DataRecord::Input> inputs_of(const Feeder& feeder) {
  std::vector<DataRecord::Input> result;
  for (const data::RowSource& source : data::BatchReader::sources_of(feeder)) {
    const PortInfo stored = source.column->port();
    result.push_back(
        {source.input, source.column->name(), stored.dtype, source.type.is_scaled ? 1.0 / 255 : 1});
  }
  return result;
}

// A target that is an input itself, or the text one token later, says more than the loss.
void take_meaning(DataRecord& record, const Model& model, const Dataset& training) {
  DataRecord::Prediction& prediction = record.prediction;
  const DataRecord::Input* label = record.find_input(prediction.label);
  if (label == nullptr) return;
  const std::vector<PortInfo> main = model.inputs();
  const bool is_input = std::any_of(main.begin(), main.end(), [&](const PortInfo& port) {
    const DataRecord::Input* one = record.find_input(port.name);
    return one != nullptr && one->column == label->column;
  });
  const OutputMeaning meaning = prediction.meaning;
  if (is_input && meaning == OutputMeaning::numbers) {
    prediction.meaning = OutputMeaning::reconstruction;
  }
  const bool has_scores = meaning == OutputMeaning::logits ||
                          meaning == OutputMeaning::probabilities ||
                          meaning == OutputMeaning::log_probabilities;
  const bool is_next = training.text() && data::PartAccess::of(training).opened.predicts_next &&
                       label->column == training.target();
  if (has_scores && is_next) prediction.meaning = OutputMeaning::next_token;
}

// How the rows of the last training were made.
void take_next_rows(DataRecord::Text& record, const NextTokenOptions& next) {
  if (!next.rows) return;
  record.rows = next.rows;
  record.prompt = next.prompt;
  record.completion = next.completion;
  record.messages = next.messages;
  if (next.loss_on) record.loss_on = next.loss_on;
  if (!next.chat_template.empty()) record.chat_template = next.chat_template;
}

void take_text(DataRecord& record, const Dataset& training) {
  if (training.text()) take_next_rows(record.text, training.text()->next);
  if (!training.text()) return;
  const TextOptions& text = *training.text();
  if (record.text.encoding.empty()) {
    record.text.encoding = text.encoding.name();
    const std::span<const std::byte> file = text.encoding.model();
    record.text.pieces.assign(reinterpret_cast<const char*>(file.data()), file.size());
  }
  // A model that came with its tokenizer does not tell these.
  if (record.text.column.empty()) record.text.column = text.column;
  if (record.text.length == 0) record.text.length = text.length;
}

void take_images(DataRecord& record, const Dataset& training) {
  const Dataset::Part& part = data::PartAccess::of(training);
  const bool has_images =
      std::any_of(part.columns.begin(), part.columns.end(), [](const auto& one) {
        const PortInfo port = one->port();
        return port.dims && port.dims->size() == 4;
      });
  if (!has_images) return;
  record.images =
      DataRecord::Images{part.opened.image_size, part.opened.image_fit, part.opened.layout, true};
}

}  // namespace

void require_recorded(const DataRecord& record, const Dataset& data) {
  require_names("classes", data.classes(), record.classes);
  if (record.table && data.table()) {
    require_names("columns", data.table()->features, record.table->features);
  }
  require_encoding(record, data);
  require_next_rows(record, data);
  require_length(record, data);
  require_rate(record, data);
}

void require_weights(const DataRecord& record, std::span<const PortInfo> inputs,
                     const Dataset& data) {
  const std::string& weights = record.prediction.weights;
  const bool reads_weights = std::any_of(inputs.begin(), inputs.end(), [&](const PortInfo& one) {
    return !weights.empty() && one.name == weights;
  });
  if (reads_weights == !data.weights().empty()) return;
  if (reads_weights) {
    fail(ErrorCode::mismatch, "the loss weighs rows by its input ", quoted(weights),
         ", but the data have no weights: name their column (--weight-column)");
  }
  fail(ErrorCode::mismatch, "the data have weights of rows (column ", quoted(data.weights()),
       "), which the model's loss does not take: prepare it with --row-weights");
}

ArrayMap recorded_map(const DataRecord& record, std::span<const PortInfo> inputs,
                      const Dataset& data, const ArrayMap& map) {
  ArrayMap result = map;
  const std::string& weights = data.weights();
  if (!weights.empty() && !record.prediction.weights.empty()) {
    std::erase_if(result, [&](const auto& one) { return one.first == record.prediction.weights; });
  }
  const std::vector<PortInfo> columns = data.columns();
  for (const PortInfo& port : inputs) {
    if (!weights.empty() && port.name == record.prediction.weights) {
      result.emplace_back(port.name, weights);
      continue;
    }
    const DataRecord::Input* known = record.find_input(port.name);
    const bool is_named = std::any_of(map.begin(), map.end(),
                                      [&](const auto& one) { return one.first == port.name; });
    if (known == nullptr || is_named) continue;
    const bool is_there = std::any_of(columns.begin(), columns.end(), [&](const PortInfo& one) {
      return one.name == known->column;
    });
    if (is_there) result.emplace_back(port.name, known->column);
  }
  return result;
}

std::vector<std::string> input_notes(const DataRecord& record, std::span<const PortInfo> inputs,
                                     const Dataset& data, const ArrayMap& map) {
  std::vector<std::string> notes;
  ArrayMap own = map;
  std::erase_if(own, [&](const auto& one) {
    return std::none_of(inputs.begin(), inputs.end(),
                        [&](const PortInfo& input) { return input.name == one.first; });
  });
  const Feeder feeder = make_feeder(record, inputs, data, own);
  for (const DataRecord::Input& now : inputs_of(feeder)) {
    const DataRecord::Input* known = record.find_input(now.name);
    if (known == nullptr || known->dtype == DType::undefined || known->scale == now.scale) continue;
    if (is_integer(known->dtype) && is_integer(now.dtype) && known->dtype != now.dtype) {
      fail(ErrorCode::mismatch, "input ", quoted(now.name), " was trained with ", known->dtype,
           " elements times ", known->scale, "; the data has ", now.dtype,
           " elements, which are not scaled: convert them to ", known->dtype);
    }
    notes.push_back(cat("input ", quoted(now.name), " was trained with ", known->dtype,
                        " elements times ", known->scale, "; the data has ", now.dtype,
                        " elements, which are taken times ", now.scale));
  }
  for (std::string& note : unknown_categories(record, data)) notes.push_back(std::move(note));
  const DataRecord::Context& known = record.text.context;
  const std::int64_t tokens = known.is_limit || known.tokens == 0 ? 0 : tokens_of_rows(data);
  if (tokens > known.tokens) {
    notes.push_back(cat("the rows have ", tokens, " tokens, the network was trained with at most ",
                        known.tokens, " (", known.source, ")"));
  }
  return notes;
}

std::vector<std::string> unknown_categories(const DataRecord& record, const Dataset& data) {
  std::vector<std::string> notes;
  if (!record.table_plan) return notes;
  const Dataset::Part& part = data::PartAccess::of(data);
  for (const TableColumn& known : record.table_plan->columns) {
    const auto column = std::find_if(part.columns.begin(), part.columns.end(),
                                     [&](const auto& one) { return one->name() == known.name; });
    if (column == part.columns.end() || (*column)->texts() == nullptr) continue;
    const std::set<std::string_view> values(known.values.begin(), known.values.end());
    std::uint64_t unknown = 0;
    std::uint64_t missing = 0;
    std::string example;
    for (std::uint64_t row = 0; row < part.size(); ++row) {
      const std::string& text = (*(*column)->texts())[static_cast<std::size_t>(part.stored(row))];
      if (values.contains(text)) continue;
      if (text.empty()) {
        if (known.fill_value.empty()) ++missing;
      } else if (unknown++ == 0) {
        example = text;
      }
    }
    const std::string of = cat(" of ", part.size(), " rows");
    if (unknown > 0) {
      notes.push_back(cat("column ", quoted(known.name), " has values in ", unknown, of,
                          " that the model does not know, for example ", quoted(example),
                          "; they have code 0"));
    }
    if (missing > 0) {
      notes.push_back(cat("column ", quoted(known.name), " has no value in ", missing, of,
                          "; they have code 0"));
    }
  }
  return notes;
}

std::string other_statistics(const DataRecord& record, const Dataset& training) {
  if (!record.table_plan || record.table_plan->rows == 0 || !training.table()) return {};
  const TablePlan& plan = *record.table_plan;
  if (plan.rows == training.rows() && plan.fingerprint == data::fingerprint(training)) return {};
  return cat("the columns' values, fills, means and deviations were computed from ", plan.rows,
             " other rows than the ", training.rows(),
             " training rows; prepare the model with the same data, --validation-split and --seed "
             "to compute them from these");
}

std::string other_data(const DataRecord& record, const Dataset& training) {
  if (record.data.rows == 0 || training.empty()) return {};
  if (record.data.rows != training.rows()) {
    return cat("the data has ", training.rows(), " training rows, that of the checkpoint has ",
               record.data.rows);
  }
  if (record.data.fingerprint == data::fingerprint(training)) return {};
  return "the training rows are not those of the checkpoint";
}

Feeder make_feeder(const DataRecord& record, std::span<const PortInfo> inputs, const Dataset& data,
                   const ArrayMap& map, std::vector<std::string> targets) {
  FeedRoles roles{std::move(targets), {}};
  const auto& known = record.inputs;
  const bool is_known = std::all_of(inputs.begin(), inputs.end(), [&](const PortInfo& input) {
    const auto& others = roles.targets;
    return input.has_default || record.find_input(input.name) != nullptr ||
           std::find(others.begin(), others.end(), input.name) != others.end();
  });
  if (is_known && !known.empty()) {
    roles.scaled.emplace();
    for (const DataRecord::Input& one : known) {
      if (one.scale != 1) roles.scaled->push_back(one.name);
    }
  }
  return {inputs, data, recorded_map(record, inputs, data, map), roles};
}

void remember_data(Model& model, const Dataset& training, std::span<const PortInfo> inputs,
                   const ArrayMap& map, const std::vector<std::string>& targets) {
  if (training.empty()) return;
  DataRecord record = data_record(model);
  require_recorded(record, training);
  const Feeder feeder = make_feeder(record, inputs, training, map, targets);
  record.inputs = inputs_of(feeder);
  if (record.classes.empty()) record.classes = training.classes();
  if (training.table()) record.table = training.table();
  if (record.audio.rate == 0) record.audio.rate = training.sample_rate();
  if (training.sample_rate() != 0) {
    record.audio.seconds = data::PartAccess::of(training).opened.audio_seconds;
  }
  take_text(record, training);
  take_images(record, training);
  take_meaning(record, model, training);
  record.data = {training.rows(), data::fingerprint(training)};
  ModelAccess::set_record(model, record);
}

}  // namespace ondine::fit

#include <ondine/data_record.h>

#include <ondine/trainer.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/record/record.h"
#include "trainer/fit/data_facts.h"
#include "trainer/fit/score/prediction.h"
#include "trainer/model/model_impl.h"

namespace ondine {
namespace {

// Number of features of the only input of numbers [N, F] with a fixed F; 0 otherwise.
std::int64_t feature_count(const Model& model) {
  std::int64_t count = 0;
  for (const PortInfo& input : model.inputs()) {
    if (input.has_default) continue;
    const bool is_row = is_float(input.dtype) && input.dims && input.dims->size() == 2;
    if (count != 0 || !is_row) return 0;
    count = std::max<std::int64_t>(0, (*input.dims)[1]);
  }
  return count;
}

// The column that gave the labels in training, where the data were no table: of texts, and of lists
// of files. Class folders name theirs "label", which says nothing of the columns of a list. Labels
// of the next token are no column of a file.
std::string label_column(const DataRecord& record) {
  if (record.prediction.meaning == OutputMeaning::next_token) return {};
  const DataRecord::Input* label = record.find_input(record.prediction.label);
  if (label == nullptr || (label->column == "label" && record.text.encoding.empty())) return {};
  return label->column;
}

void take_images(const DataRecord& record, DatasetOptions& options) {
  if (record.images) {
    options.image_size = record.images->size;
    options.image_fit = record.images->fit;
    options.layout = record.images->layout;
  }
  for (const DataRecord::Preprocessing& one : record.preprocessing) {
    if (one.resize) options.inner_resize = {*one.resize, one.antialias};
  }
}

}  // namespace

void ModelAccess::set_record(Model& model, const DataRecord& record) {
  const std::unique_lock lock(model.impl_->metadata_mutex);
  graph::write_record(model.impl_->def.metadata, record);
}

DataRecord data_record(const Model& model) {
  return guard_memory("read the metadata",
                      [&] { return graph::read_record(ModelAccess::impl(model).metadata()); });
}

DataRecord::Prediction find_prediction(const Model& model, const std::string& output) {
  return guard_memory("read the metadata",
                      [&] { return fit::find_prediction(model, data_record(model), output); });
}

RecordedFeeder recorded_feeder(const Model& model, std::span<const PortInfo> inputs,
                               const Dataset& data, const ArrayMap& map) {
  return guard_memory("read the data", [&]() -> RecordedFeeder {
    const DataRecord record = data_record(model);
    fit::require_recorded(record, data);
    return {fit::make_feeder(record, inputs, data, map),
            fit::input_notes(record, inputs, data, map)};
  });
}

DatasetOptions recorded_options(const Model& model, DataUse use) {
  return guard_memory("read the metadata", [&] {
    const DataRecord record = data_record(model);
    DatasetOptions options;
    options.use = use;
    options.classes = record.classes;
    if (record.table) {
      options.features = record.table->features;
      options.target = record.table->target;
      options.fill = record.table->fill;
    } else {
      options.target = label_column(record);
    }
    if (const auto* weights = record.find_input(record.prediction.weights)) {
      options.weights = weights->column;
      options.weights_are_optional = use == DataUse::evaluation;
    }
    if (record.table_plan) options.raw = raw_table(*record.table_plan);
    options.feature_count = feature_count(model);
    options.text = text_options(model);
    options.audio.rate = record.audio.rate;
    options.audio.seconds = record.audio.seconds;
    take_images(record, options);
    return options;
  });
}

std::vector<std::string> class_names(const Model& model) { return data_record(model).classes; }

std::int64_t sample_rate(const Model& model) { return data_record(model).audio.rate; }

}  // namespace ondine

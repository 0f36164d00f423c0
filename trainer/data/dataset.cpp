#include <ondine/dataset.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/data/arrays.h"
#include "trainer/data/column.h"
#include "trainer/data/files/file_places.h"
#include "trainer/data/files/mask_folder.h"
#include "trainer/data/rows_column.h"
#include "trainer/data/table/table.h"
#include "trainer/data/text/next_tables.h"
#include "trainer/data/text/text_places.h"
#include "trainer/data/weights.h"

namespace ondine {
namespace {

// nullptr where a row of it can be fed.
const char* why_no_column(const Tensor& array) {
  const Shape& shape = array.shape();
  if (array.dtype() == DType::string) return "texts";
  if (shape.empty()) return "a single number";
  // Such rows take no bytes of a file, however many it says it has.
  if (shape[0] > 0 && shape.size() == 0) return "rows without elements";
  return nullptr;
}

std::shared_ptr<Dataset::Part> part_of(NamedValues arrays, Layout layout) {
  auto part = std::make_shared<Dataset::Part>();
  part->opened.layout = layout;
  for (auto& [name, value] : arrays) {
    if (const char* why = why_no_column(value.tensor())) {
      part->left_out.push_back({std::move(name), why});
      continue;
    }
    part->columns.push_back(data::array_column(std::move(name), std::move(value.tensor()), layout));
  }
  return part;
}

// Places of no other kind must be arrays: data of other kinds are read from files of one kind.
void require_one_kind(std::span<const std::filesystem::path> places) {
  if (places.size() < 2) return;
  for (const std::filesystem::path& place : places) {
    const std::string name = place.string();
    const bool is_other = data::is_table(place) || data::is_json_lines(place) ||
                          data::is_running_text(place) || data::image_files.has(name) ||
                          data::sound_files.has(name);
    if (!is_other) continue;
    const auto& other = places[&place == &places[0] ? 1 : 0];
    fail(ErrorCode::mismatch, "files of different kinds are no data set: ", quoted(name), " and ",
         quoted(other.string()));
  }
}

std::shared_ptr<const Dataset::Part> no_part() { return std::make_shared<const Dataset::Part>(); }

}  // namespace

bool data::are_feature_tables(std::span<const std::filesystem::path> places,
                              const DatasetOptions& options) {
  if (!are_tables(places)) return false;
  const std::vector<TableStart> starts = table_starts(places, options.limits);
  return !are_file_lists(image_files, starts) && !are_file_lists(sound_files, starts) &&
         !next_token_rows(places, options) && !are_text_tables(places, starts, options);
}

void data::add_note(Parts& parts, const std::string& note) {
  if (note.empty()) return;
  parts.train.notes.push_back(note);
  parts.validation.notes.push_back(note);
}

std::string data::describe(const std::vector<LeftOutArray>& left_out) {
  std::string text;
  for (const LeftOutArray& one : left_out) {
    text += (text.empty() ? "; left out: " : ", ") + quoted(one.name) + " (" + one.why + ")";
  }
  return text;
}

std::uint64_t Dataset::Part::stored_rows() const {
  std::map<std::uint64_t, double> elements;  // by number of rows
  for (const auto& column : columns) {
    double row = 1;
    const PortInfo port = column->port();
    for (const std::int64_t dim : port.dims.value_or(data::Dims())) {
      row *= std::abs(static_cast<double>(dim));
    }
    elements[column->rows()] += row * static_cast<double>(column->rows());
  }
  const auto most = std::max_element(elements.begin(), elements.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return most == elements.end() ? 0 : most->first;
}

Dataset::Dataset(data::Parts parts)
    : train_(std::make_shared<const Part>(std::move(parts.train))),
      validation_(std::make_shared<const Part>(std::move(parts.validation))) {}

Dataset::Dataset() : train_(no_part()), validation_(train_) {}

Dataset Dataset::open(const std::filesystem::path& place, const DatasetOptions& options) {
  return open(std::span(&place, 1), options);
}

Dataset Dataset::open(std::span<const std::filesystem::path> places,
                      const DatasetOptions& options) {
  const StopScope scope(data::Reading(options).stop());
  if (options.raw && options.fill) {
    fail(ErrorCode::mismatch,
         "the model itself fills missing numbers, so that a fill (--fill) has no effect");
  }
  Dataset data = read(places, options);
  if (!options.drop.empty() && !data.table()) {
    fail(ErrorCode::mismatch, "columns are dropped (--drop) of a .csv file of features");
  }
  data::require_next_effect(data, options);
  data.set_reading(options);
  return data;
}

Dataset Dataset::read(std::span<const std::filesystem::path> places,
                      const DatasetOptions& options) {
  return guard_memory("read the data", [&] {
    const std::array kinds{&data::image_files, &data::sound_files};
    const std::vector<data::TableStart> starts = data::table_starts(places, options.limits);
    for (const data::FileKind* kind : kinds) {
      if (data::are_file_lists(*kind, starts)) {
        return Dataset(data::open_file_lists(*kind, places, options));
      }
    }
    if (const auto rows = data::next_token_rows(places, options)) {
      return Dataset(data::open_next_tables(places, options, *rows));
    }
    if (data::are_text_tables(places, starts, options)) {
      return Dataset(data::open_text_tables(places, options));
    }
    if (data::are_tables(places)) return Dataset(data::open_tables(places, options));
    if (places.size() == 1 && data::is_mask_folder(places[0])) {
      return Dataset(data::open_mask_folder(places[0], options));
    }
    for (const data::FileKind* kind : kinds) {
      if (places.size() == 1 && data::is_class_folder(*kind, places[0])) {
        return Dataset(data::open_class_folder(*kind, places[0], options));
      }
      if (data::are_files(*kind, places)) return Dataset(data::open_files(*kind, places, options));
    }
    if (data::are_texts(places)) return Dataset(data::open_texts(places, options));
    require_one_kind(places);
    data::ArrayParts arrays = data::read_arrays(places, options.limits);
    Dataset data;
    const auto train = part_of(std::move(arrays.splits.train), options.layout);
    const auto validation = part_of(std::move(arrays.splits.validation), options.layout);
    for (const auto& part : {train, validation}) {
      part->left_out.insert(part->left_out.end(), arrays.left_out.begin(), arrays.left_out.end());
      if (!arrays.note.empty()) part->notes.push_back(arrays.note);
    }
    data.train_ = train;
    data.validation_ = validation;
    return data;
  });
}

Dataset Dataset::from(NamedValues train, NamedValues validation, const DatasetOptions& options) {
  return guard_memory("read the data", [&] {
    Dataset data;
    data.train_ = part_of(std::move(train), options.layout);
    data.validation_ = part_of(std::move(validation), options.layout);
    data.set_reading(options);
    return data;
  });
}

Dataset Dataset::from_rows(std::vector<RowColumn> columns, std::uint64_t rows, RowReader read,
                           const DatasetOptions& options) {
  return guard_memory("read the data", [&] {
    auto part = std::make_shared<Part>();
    part->opened.layout = options.layout;
    part->columns = data::rows_columns(std::move(columns), rows, std::move(read), options.layout);
    Dataset data;
    data.train_ = std::move(part);
    data.set_reading(options);
    return data;
  });
}

void Dataset::set_reading(const DatasetOptions& options) {
  guard_memory("read the data", [&] {
    for (std::shared_ptr<const Part>* part : {&train_, &validation_}) {
      Part bounded = **part;
      bounded.reading = data::Reading(options);
      data::set_weights(bounded, options);
      *part = std::make_shared<const Part>(std::move(bounded));
    }
  });
}

std::uint64_t Dataset::rows() const { return train_->size(); }

bool Dataset::empty() const { return train_->columns.empty(); }

Dataset Dataset::train() const {
  Dataset data(*this);
  data.validation_ = no_part();
  return data;
}

Dataset Dataset::validation() const {
  Dataset data;
  data.train_ = validation_;
  return data;
}

const std::vector<std::string>& Dataset::classes() const { return train_->classes; }

std::string Dataset::file(std::uint64_t row) const {
  return guard_memory("read the data", [&] {
    if (row >= rows()) fail(ErrorCode::mismatch, "row ", row, " of ", rows());
    const std::uint64_t stored = train_->stored(row);
    for (const auto& column : train_->columns) {
      if (std::string file = column->file(stored); !file.empty()) return file;
    }
    return std::string();
  });
}

std::int64_t Dataset::sample_rate() const {
  std::int64_t rate = 0;
  for (const auto& column : train_->columns) rate = std::max(rate, column->sample_rate());
  return rate;
}

std::vector<std::string> Dataset::notes() const {
  return guard_memory("read the data", [&] {
    std::vector<std::string> notes = train_->notes;
    for (const auto& column : train_->columns) {
      if (std::string note = column->note(); !note.empty()) notes.push_back(std::move(note));
    }
    return notes;
  });
}

const std::vector<std::string>& Dataset::skipped() const { return train_->skipped; }

const std::string& Dataset::target() const { return train_->target; }

const std::string& Dataset::weights() const { return train_->weights; }

const std::optional<TableColumns>& Dataset::table() const { return train_->table; }

const std::optional<TextOptions>& Dataset::text() const { return train_->text; }

std::vector<PortInfo> Dataset::columns() const {
  std::vector<PortInfo> ports;
  for (const auto& column : train_->columns) {
    if (column->rows() == train_->stored_rows()) ports.push_back(column->port());
  }
  return ports;
}

DatasetOptions options_like(const Dataset& training, DatasetOptions options) {
  options.classes = training.classes();
  if (training.table()) {
    options.drop.clear();
    options.features = training.table()->features;
    options.target = training.table()->target;
  } else if (training.text() && training.text()->next.rows) {
    options.target.clear();
    options.text.next = training.text()->next;
  } else if (training.text() && options.target.empty()) {
    options.target = training.target();
  }
  options.weights = training.weights();
  options.weights_are_optional = false;
  if (training.sample_rate() != 0) options.audio.rate = training.sample_rate();
  return options;
}

}  // namespace ondine

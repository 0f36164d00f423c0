#include <ondine/dataset.h>

#include <algorithm>
#include <array>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/data/column.h"
#include "trainer/data/files/file_places.h"
#include "trainer/data/table.h"
#include "trainer/data/text/text_places.h"

namespace ondine {
namespace {

Dataset::Part part_of(NamedValues arrays, Layout layout) {
  Dataset::Part part;
  for (auto& [name, value] : arrays) {
    part.columns.push_back(data::array_column(std::move(name), std::move(value.tensor()), layout));
  }
  return part;
}

std::shared_ptr<const Dataset::Part> no_part() { return std::make_shared<const Dataset::Part>(); }

data::Parts open_parts(std::span<const std::filesystem::path> places,
                       const DatasetOptions& options) {
  const std::array kinds{&data::image_files, &data::sound_files};
  for (const data::FileKind* kind : kinds) {
    if (data::are_file_lists(*kind, places)) return data::open_file_lists(*kind, places, options);
  }
  if (data::are_text_tables(places, options)) return data::open_text_tables(places, options);
  if (data::are_tables(places)) return data::open_tables(places, options);
  for (const data::FileKind* kind : kinds) {
    if (places.size() == 1 && data::is_class_folder(*kind, places[0])) {
      return data::open_class_folder(*kind, places[0], options);
    }
    if (data::are_files(*kind, places)) return data::open_files(*kind, places, options);
  }
  if (data::are_texts(places)) return data::open_texts(places, options);
  DataSplits splits = load_splits(places, options.limits);
  return {part_of(std::move(splits.train), options.layout),
          part_of(std::move(splits.validation), options.layout)};
}

}  // namespace

std::uint64_t Dataset::Part::size() const {
  if (columns.empty()) return 0;
  if (rows) return rows->size();
  const std::uint64_t first = columns[0]->rows();
  for (const auto& column : columns) {
    if (column->rows() != first) {
      fail(ErrorCode::mismatch, "array ", quoted(columns[0]->name()), " has ", first,
           " rows, array ", quoted(column->name()), " has ", column->rows());
    }
  }
  return first;
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
  return guard_memory("read the data", [&] {
    const data::Reading reading(options);
    const StopScope scope(reading.stop());
    data::Parts parts = open_parts(places, options);
    parts.train.reading = parts.validation.reading = reading;
    return Dataset(std::move(parts));
  });
}

Dataset Dataset::from(NamedValues train, NamedValues validation, const DatasetOptions& options) {
  return guard_memory("read the data", [&] {
    data::Parts parts{part_of(std::move(train), options.layout),
                      part_of(std::move(validation), options.layout)};
    parts.train.reading = parts.validation.reading = data::Reading(options);
    return Dataset(std::move(parts));
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
    const std::uint64_t stored = train_->rows ? (*train_->rows)[row] : row;
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
    std::vector<std::string> notes;
    for (const auto& column : train_->columns) {
      if (std::string note = column->note(); !note.empty()) notes.push_back(std::move(note));
    }
    return notes;
  });
}

const std::vector<std::string>& Dataset::skipped() const { return train_->skipped; }

const std::optional<TextOptions>& Dataset::text() const { return train_->text; }

std::vector<PortInfo> Dataset::columns() const {
  std::vector<PortInfo> ports;
  for (const auto& column : train_->columns) ports.push_back(column->port());
  return ports;
}

}  // namespace ondine

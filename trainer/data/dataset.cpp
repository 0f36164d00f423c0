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

std::shared_ptr<const Dataset::Part> part_of(NamedValues arrays, Layout layout) {
  auto part = std::make_shared<Dataset::Part>();
  for (auto& [name, value] : arrays) {
    part->columns.push_back(data::array_column(std::move(name), std::move(value.tensor()), layout));
  }
  return part;
}

std::shared_ptr<const Dataset::Part> no_part() { return std::make_shared<const Dataset::Part>(); }

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
  const StopScope scope(data::Reading(options).stop());
  Dataset data = read(places, options);
  data.set_reading(options);
  return data;
}

Dataset Dataset::read(std::span<const std::filesystem::path> places,
                      const DatasetOptions& options) {
  return guard_memory("read the data", [&] {
    const std::array kinds{&data::image_files, &data::sound_files};
    for (const data::FileKind* kind : kinds) {
      if (data::are_file_lists(*kind, places)) {
        return Dataset(data::open_file_lists(*kind, places, options));
      }
    }
    if (data::are_text_tables(places, options)) {
      return Dataset(data::open_text_tables(places, options));
    }
    if (data::are_tables(places)) return Dataset(data::open_tables(places, options));
    for (const data::FileKind* kind : kinds) {
      if (places.size() == 1 && data::is_class_folder(*kind, places[0])) {
        return Dataset(data::open_class_folder(*kind, places[0], options));
      }
      if (data::are_files(*kind, places)) return Dataset(data::open_files(*kind, places, options));
    }
    if (data::are_texts(places)) return Dataset(data::open_texts(places, options));
    DataSplits splits = load_splits(places, options.limits);
    return from(std::move(splits.train), std::move(splits.validation), options);
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

void Dataset::set_reading(const DatasetOptions& options) {
  guard_memory("read the data", [&] {
    for (std::shared_ptr<const Part>* part : {&train_, &validation_}) {
      Part bounded = **part;
      bounded.reading = data::Reading(options);
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

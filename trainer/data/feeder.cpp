#include <algorithm>
#include <set>

#include <ondine/data.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/data/column.h"
#include "trainer/data/convert_row.h"
#include "trainer/data/text/beside_ids.h"
#include "trainer/data/text/empty_cache.h"
#include "trainer/data/text/id_column.h"
#include "trainer/data/text/pair_columns.h"

namespace ondine {
namespace {

using ColumnRef = std::shared_ptr<const data::Column>;

std::vector<std::int64_t> require_fit(const PortInfo& input, const data::Column& column) {
  auto dims = column.fit(input);
  if (!dims) {
    fail(ErrorCode::mismatch, "an array ", column.describe(), " does not fit input ",
         quoted(input.name), " of type ", input.type, column.hint(input));
  }
  return std::move(*dims);
}

// "; the data has: ..."
std::string describe(const Dataset::Part& part) {
  std::string text;
  for (const ColumnRef& column : part.columns) {
    text += (text.empty() ? "" : ", ") + quoted(column->name()) + " " + column->describe();
  }
  return (text.empty() ? "; this part of the data is empty" : "; the data has: " + text) +
         data::describe(part.left_out);
}

// The column's labels as probabilities, where that fits; nullptr elsewhere.
ColumnRef as_probabilities(const PortInfo& input, const data::Column& column) {
  const bool takes_them = data::find_copy(DType::float64, input.dtype) != nullptr &&
                          is_float(input.dtype) && input.dims && input.dims->size() == 2 &&
                          input.dims->back() > 1;
  if (!takes_them || !column.labels()) return nullptr;
  return data::one_hot_column(column, input.dims->back());
}

// The column in another form, where that fits.
ColumnRef in_other_form(const PortInfo& input, const data::Column& column) {
  if (ColumnRef labels = as_probabilities(input, column)) return labels;
  return column.exact(input);
}

ColumnRef find_column(const std::vector<ColumnRef>& columns, std::string_view name) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const ColumnRef& one) { return one->name() == name; });
  return found == columns.end() ? nullptr : *found;
}

// As stored, or one that follows from the ids of texts.
ColumnRef find_or_make_column(const std::vector<ColumnRef>& columns, const std::string& name) {
  if (ColumnRef column = find_column(columns, name)) return column;
  return data::column_beside_ids(columns, name);
}

// fit() left sizes to each row.
bool is_open(const std::vector<std::int64_t>& dims) {
  return std::any_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim < 0; });
}

constexpr std::string_view of_second = "_pair";

// Whether an input takes the second texts of pairs: it is called as another one, with "_pair".
bool is_of_second(const PortInfo& input, std::span<const PortInfo> inputs) {
  const std::string_view name = input.name;
  return name.ends_with(of_second) && std::ranges::any_of(inputs, [&](const PortInfo& one) {
           return one.name == name.substr(0, name.size() - of_second.size());
         });
}

// The columns of the inputs; nullptr where an input with a default stays without.
class Assignment {
 public:
  Assignment(std::span<const PortInfo> inputs, const Dataset::Part& part, const FeedRoles& roles)
      : inputs_(inputs),
        part_(part),
        targets_(roles.targets),
        columns_(part.columns),
        chosen_(inputs.size()) {
    const bool takes_both = std::ranges::any_of(inputs, [&](const PortInfo& input) {
      return data::takes_ids(input) && is_of_second(input, inputs);
    });
    if (takes_both) part_texts();
  }

  std::vector<ColumnRef> make(const ArrayMap& map) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) choose_by_name(i, map);
    for (const auto& [input, array] : map) {
      if (std::none_of(inputs_.begin(), inputs_.end(),
                       [&, &wanted = input](const PortInfo& one) { return one.name == wanted; })) {
        fail(ErrorCode::mismatch, "the model has no input ", quoted(input), " to map to");
      }
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (chosen_[i] == nullptr && !inputs_[i].has_default) choose_by_fit(i);
    }
    require_segments();
    return std::move(chosen_);
  }

 private:
  // Pairs for a model that reads both texts by themselves.
  void part_texts() {
    const auto apart = data::texts_apart(columns_);
    if (!apart) return;
    std::erase_if(columns_, [](const ColumnRef& column) { return data::has_pairs(*column); });
    columns_.push_back(apart->first);
    second_.push_back(apart->second);
  }

  // Columns that the input may take, and its name among them.
  const std::vector<ColumnRef>& columns_of(const PortInfo& input) const {
    return !second_.empty() && is_of_second(input, inputs_) ? second_ : columns_;
  }
  std::string name_of(const PortInfo& input) const {
    const bool has_end = &columns_of(input) == &second_;
    return input.name.substr(0, input.name.size() - (has_end ? of_second.size() : 0));
  }

  // Texts that share a row would read each other.
  void require_segments() const {
    const bool is_packed = part_.text && part_.text->next.pack;
    if (!is_packed || columns_.empty() || used_.contains(data::segment_ids)) return;
    fail(ErrorCode::mismatch,
         "rows hold several texts (--pack), and there is no input 'segment_ids' that tells them "
         "apart: training needs a model prepared with --packing, evaluation rows of one text");
  }

  void choose(std::size_t i, ColumnRef column) {
    used_.insert(column->name());
    chosen_[i] = std::move(column);
  }

  void choose_by_name(std::size_t i, const ArrayMap& map) {
    for (const auto& [input, array] : map) {
      if (input != inputs_[i].name) continue;
      const ColumnRef column = find_or_make_column(columns_of(inputs_[i]), array);
      if (column == nullptr) {
        fail(ErrorCode::not_found, "there is no array ", quoted(array), describe(part_));
      }
      choose(i, column);
    }
    if (chosen_[i] == nullptr) {
      ColumnRef column = find_or_make_column(columns_of(inputs_[i]), name_of(inputs_[i]));
      if (column == nullptr) column = data::empty_cache(columns_, inputs_[i]);
      if (column != nullptr) choose(i, std::move(column));
    }
    if (chosen_[i] == nullptr) return;
    if (!chosen_[i]->fit(inputs_[i])) {
      if (ColumnRef other = in_other_form(inputs_[i], *chosen_[i])) chosen_[i] = other;
    }
    require_fit(inputs_[i], *chosen_[i]);
  }

  void choose_by_fit(std::size_t i) {
    std::string hint;
    std::vector<ColumnRef> fitting = find_fitting(inputs_[i], true, hint);
    // Its rows are refused with a message of their own.
    if (fitting.empty()) fitting = find_fitting(inputs_[i], false, hint);
    if (fitting.size() != 1) {
      fail(ErrorCode::mismatch, fitting.empty() ? "no array fits" : "several arrays fit", " input ",
           quoted(inputs_[i].name), " of type ", inputs_[i].type, describe(part_),
           fitting.empty() ? hint : "");
    }
    choose(i, fitting[0]);
  }

  // The columns left that fit, in another form only where none does as it is. `alike`: with as many
  // rows as the data.
  std::vector<ColumnRef> find_fitting(const PortInfo& input, bool alike, std::string& hint) const {
    std::vector<ColumnRef> fitting;
    std::vector<ColumnRef> others;
    for (const ColumnRef& column : columns_of(input)) {
      const bool is_taken = used_.contains(column->name()) || column->name() == part_.weights;
      if (is_taken || (column->rows() == part_.stored_rows()) != alike) {
        continue;
      }
      if (column->is_label() && (is_no_target(input) || is_of_second(input, inputs_))) continue;
      if (column->fit(input)) {
        fitting.push_back(column);
        continue;
      }
      if (hint.empty()) hint = column->hint(input);
      others.push_back(column);
    }
    if (fitting.empty()) {
      for (const ColumnRef& column : others) {
        if (ColumnRef other = in_other_form(input, *column)) fitting.push_back(other);
      }
    }
    if (fitting.size() > 1) {
      std::erase_if(fitting, [](const ColumnRef& column) { return column->is_label(); });
    }
    return fitting;
  }

  // Whether the input is no target of a model whose targets are known. A label is no feature.
  bool is_no_target(const PortInfo& input) const {
    return !targets_.empty() &&
           std::find(targets_.begin(), targets_.end(), input.name) == targets_.end();
  }

  std::span<const PortInfo> inputs_;
  const Dataset::Part& part_;
  const std::vector<std::string>& targets_;
  std::vector<ColumnRef> columns_;
  std::vector<ColumnRef> second_;  // second texts of pairs, where they stand by themselves
  std::vector<ColumnRef> chosen_;
  std::set<std::string, std::less<>> used_;
};

}  // namespace

Feeder::Feeder(std::span<const PortInfo> inputs, const Dataset& data, const ArrayMap& map,
               const FeedRoles& roles)
    : part_(data.train_) {
  guard_memory("read the data", [&] {
    const std::vector<ColumnRef> chosen = Assignment(inputs, *part_, roles).make(map);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (chosen[i] != nullptr) add(inputs[i], chosen[i], roles);
    }
    if (!roles.scaled) scale_alike();
    if (part_->rows && !sources_.empty()) size_ = part_->rows->size();
  });
}

Feeder::Feeder(std::span<const PortInfo> inputs, const NamedValues& arrays, const ArrayMap& map)
    : Feeder(inputs, guard_memory("read the data", [&] { return Dataset::from(arrays); }), map) {}

// Inputs that are compared with an image, as in an autoencoder, get its scale.
void Feeder::scale_alike() {
  for (const Source& scaled : sources_) {
    if (!scaled.is_scaled) continue;
    for (Source& one : sources_) {
      if (one.column == scaled.column && data::find_pixel_copy(one.dtype)) one.is_scaled = true;
    }
  }
}

void Feeder::add(const PortInfo& input, const ColumnRef& column, const FeedRoles& roles) {
  std::vector<std::int64_t> dims = require_fit(input, *column);
  if (!sources_.empty() && column->rows() != size_) {
    fail(ErrorCode::mismatch, "input ", quoted(feeds_[0].first), " has ", size_, " rows, input ",
         quoted(input.name), " has ", column->rows());
  }
  size_ = column->rows();
  if (part_->rows && size_ != part_->stored_rows()) {
    fail(ErrorCode::mismatch, "array ", quoted(column->name()), " has ", size_,
         " rows, the data of which a part was chosen has ", part_->stored_rows());
  }
  if (input.dims && !input.dims->empty() && input.dims->front() >= 0) {
    fixed_batch_ = static_cast<std::uint64_t>(input.dims->front());
  }
  const bool is_scaled = data::are_pixels(*column, input, dims, roles);
  sources_.push_back({column, input.dtype, std::move(dims), is_scaled});
  feeds_.emplace_back(input.name, Value());
}

std::span<const NamedValue> Feeder::take(std::span<const std::uint64_t> rows) {
  return guard_memory("take a batch", [&]() -> std::span<const NamedValue> {
    for (const std::uint64_t row : rows) {
      if (row >= size_) fail(ErrorCode::mismatch, "row ", row, " of ", size_);
    }
    if (part_->rows) {
      stored_rows_.resize(rows.size());
      std::transform(rows.begin(), rows.end(), stored_rows_.begin(),
                     [&](std::uint64_t row) { return (*part_->rows)[row]; });
      rows = stored_rows_;
    }
    if (rows.size() > 1 && has_own_sizes()) {
      fail(ErrorCode::mismatch, "pictures that keep their own sizes are taken one at a time");
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      Shape shape{static_cast<std::int64_t>(rows.size())};
      std::vector<std::int64_t> dims = sources_[i].row_dims;
      if (is_open(dims) && !rows.empty()) dims = sources_[i].column->dims_of(rows[0], dims);
      for (const std::int64_t extent : dims) shape.push_back(extent);
      Value& feed = feeds_[i].second;
      if (!feed.is_tensor() || !(feed.tensor().shape() == shape)) {
        feed = Tensor(sources_[i].dtype, shape);
      }
      const data::RowType type{sources_[i].dtype, std::move(dims), sources_[i].is_scaled};
      sources_[i].column->copy(rows, type, static_cast<std::byte*>(feed.tensor().mutable_data()));
    }
    return feeds_;
  });
}

bool Feeder::has_own_sizes() const noexcept {
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const Source& source) { return is_open(source.row_dims); });
}

std::vector<std::string> Feeder::scaled() const {
  return guard_memory("take a batch", [&] {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (sources_[i].is_scaled) names.push_back(feeds_[i].first);
    }
    return names;
  });
}

std::vector<std::string> Feeder::inputs() const {
  return guard_memory("take a batch", [&] {
    std::vector<std::string> names;
    for (const NamedValue& feed : feeds_) names.push_back(feed.first);
    return names;
  });
}

}  // namespace ondine

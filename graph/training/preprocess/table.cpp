#include "graph/training/preprocess/table.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "core/filled_tensor.h"
#include "core/message.h"
#include "core/random/random.h"
#include "graph/contract/opsets.h"
#include "graph/record/record.h"
#include "graph/training/prepare/writer.h"
#include "graph/training/preprocess/raw_input.h"

namespace ondine::graph {
namespace {

using Kind = TableColumn::Kind;

constexpr const char* ml_domain = "ai.onnx.ml";
constexpr std::int64_t imported_ml = 3;  // where the model imports none
constexpr std::int64_t first_keys = 2;   // whose LabelEncoder has keys and values

// Numbers of the standard normal distribution, as initialization draws embeddings.
Tensor drawn(const Shape& shape, DType dtype, const RandomKey& key) {
  return filled_tensor(shape, dtype, [&](std::size_t i) { return normal_at(key, i); });
}

class TableWriter {
 public:
  TableWriter(ModelDef& model, const TablePlan& plan)
      : model_(&model),
        plan_(&plan),
        names_(model),
        opset_(Opsets(model.opsets).version("").value_or(0)),
        input_(find_raw_input(model.graph, plan.input)),
        writer_(front_, names_, opset_) {}

  std::vector<std::string> write() {
    require_no_output(model_->graph, input_);
    check_columns();
    check_width();
    import_encoder();
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < plan_->columns.size();) {
      std::size_t end = i;
      while (end < plan_->columns.size() && !plan_->columns[end].is_category()) ++end;
      if (end > i) {
        parts.push_back(numbers(std::span(plan_->columns).subspan(i, end - i)));
        i = end;
      } else {
        parts.push_back(category(plan_->columns[i++]));
      }
    }
    const std::string result = names_.fresh(input_.name + "_preprocessed");
    if (parts.size() == 1) {
      writer_.node("Identity", parts, result);
    } else {
      writer_.node("Concat", parts, result, {{"axis", std::int64_t{1}}});
    }
    front_.nodes.back().outputs = {result};
    record();
    replace_inputs();
    put_in_front(model_->graph, std::move(front_), input_.name, result, input_);
    return std::move(embeddings_);
  }

 private:
  void check_columns() {
    if (opset_ < 9) {
      fail(ErrorCode::unsupported, "the columns of a table need ai.onnx 9 or newer, the model ",
           "imports ai.onnx ", opset_);
    }
    if (plan_->columns.empty()) fail(ErrorCode::mismatch, "the plan of a table has no columns");
    std::set<std::string_view> seen;
    for (const TableColumn& column : plan_->columns) {
      const bool is_taken = names_.contains(column.name) && column.name != input_.name;
      if (column.name.empty() || is_taken || !seen.insert(column.name).second) {
        fail(ErrorCode::mismatch, "column ", quoted(column.name), " of the table ",
             is_taken ? "has the name of a value of the model; rename one of them"
                      : "needs a name of its own");
      }
      if (column.is_category() && column.values.empty()) {
        fail(ErrorCode::mismatch, "column ", quoted(column.name), " has no values");
      }
      const std::set<std::string_view> values(column.values.begin(), column.values.end());
      const bool is_known = column.fill_value.empty() || values.contains(column.fill_value);
      if (values.size() != column.values.size() || values.contains("") || !is_known) {
        fail(ErrorCode::mismatch, "the values of column ", quoted(column.name),
             " are not distinct, or the empty text is one, or the fill is none");
      }
      if (column.kind == Kind::embedding && column.size < 1) {
        fail(ErrorCode::mismatch, "the embedding of column ", quoted(column.name), " has ",
             column.size, " numbers");
      }
      if (!(column.deviation > 0)) {
        fail(ErrorCode::mismatch, "the deviation of column ", quoted(column.name), " is ",
             column.deviation);
      }
    }
    // Reserves the names of the new inputs.
    for (const TableColumn& column : plan_->columns) names_.fresh(column.name);
  }

  void check_width() const {
    std::int64_t sum = 0;
    std::string widths;
    for (const TableColumn& column : plan_->columns) {
      sum += width_of(column);
      if (width_of(column) == 1) continue;
      widths += cat(widths.empty() ? " (" : ", ", quoted(column.name), " ", width_of(column));
    }
    if (!widths.empty()) widths += sum == 1 ? ")" : ", others 1)";
    const bool is_matrix = !input_.type.dims || input_.type.dims->size() == 2;
    const std::optional<std::int64_t> wanted = size_of_dim(input_, 1);
    if (is_matrix && wanted.value_or(sum) == sum) return;
    fail(ErrorCode::mismatch, "the columns of the table become ", sum, " numbers", widths,
         ", input ", describe_input(input_), " does not take them");
  }

  void import_encoder() {
    if (std::none_of(plan_->columns.begin(), plan_->columns.end(),
                     [](const TableColumn& one) { return one.is_category(); })) {
      return;
    }
    const auto version = Opsets(model_->opsets).version(ml_domain);
    if (!version) model_->opsets.push_back({ml_domain, imported_ml});
    if (version.value_or(imported_ml) < first_keys) {
      fail(ErrorCode::unsupported, "categories need ", ml_domain, " 2 or newer, the model imports ",
           *version);
    }
  }

  template <class Number>
  std::string vector(const std::string& hint, const std::vector<Number>& values) {
    return writer_.initializer(
        hint, Tensor::of(Shape{1, static_cast<std::int64_t>(values.size())}, values));
  }

  // A run of columns of numbers as one matrix.
  std::string numbers(std::span<const TableColumn> columns) {
    std::vector<std::string> inputs;
    std::vector<double> fill;
    std::vector<double> mean;
    std::vector<double> deviation;
    bool fills = false;
    for (const TableColumn& one : columns) {
      inputs.push_back(one.name);
      fills = fills || one.fill;
      fill.push_back(one.fill.value_or(std::numeric_limits<double>::quiet_NaN()));
      mean.push_back(one.mean);
      deviation.push_back(one.deviation);
    }
    std::string value = inputs.front();
    if (inputs.size() > 1) {
      value = writer_.node("Concat", inputs, "preprocess.numbers", {{"axis", std::int64_t{1}}});
    }
    if (fills) {
      const std::string missing = writer_.node("IsNaN", {value}, "preprocess.missing");
      value = writer_.node("Where", {missing, vector("preprocess.fill", fill), value},
                           "preprocess.filled");
    }
    if (std::any_of(mean.begin(), mean.end(), [](double one) { return one != 0; })) {
      value = writer_.node("Sub", {value, vector("preprocess.mean", mean)}, "preprocess.centered");
    }
    if (std::any_of(deviation.begin(), deviation.end(), [](double one) { return one != 1; })) {
      value = writer_.node("Div", {value, vector("preprocess.deviation", deviation)},
                           "preprocess.standardized");
    }
    if (input_.type.dtype == DType::float64) return value;
    return writer_.cast(value, input_.type.dtype, "preprocess.cast");
  }

  std::string codes(const TableColumn& column) {
    std::vector<std::string> keys = column.values;
    std::vector<std::int64_t> values(keys.size());
    std::iota(values.begin(), values.end(), std::int64_t{1});
    if (!column.fill_value.empty()) {
      const auto at = std::find(keys.begin(), keys.end(), column.fill_value);
      values.push_back(1 + (at - keys.begin()));
      keys.emplace_back();
    }
    return writer_.node("LabelEncoder", {column.name}, "preprocess.code",
                        {{"keys_strings", std::move(keys)},
                         {"values_int64s", std::move(values)},
                         {"default_int64", std::int64_t{0}}},
                        ml_domain);
  }

  std::string category(const TableColumn& column) {
    const std::string code = codes(column);
    const auto count = static_cast<std::int64_t>(column.values.size());
    if (column.kind == Kind::one_hot) {
      std::vector<std::int64_t> all(column.values.size());
      std::iota(all.begin(), all.end(), std::int64_t{1});
      const std::string hit =
          writer_.node("Equal", {code, vector("preprocess.codes", all)}, "preprocess.hit");
      return writer_.cast(hit, input_.type.dtype, "preprocess.one_hot");
    }
    const auto stream = static_cast<std::uint32_t>(embeddings_.size());
    embeddings_.push_back(writer_.initializer(
        column.name + ".embedding",
        drawn(Shape{count + 1, column.size}, input_.type.dtype, RandomKey{.stream = stream})));
    const std::string rows =
        writer_.node("Gather", {embeddings_.back(), code}, column.name + ".row");
    return writer_.node("Flatten", {rows}, column.name + ".vector", {{"axis", std::int64_t{1}}});
  }

  void record() {
    DataRecord record = read_record(model_->metadata);
    record.table_plan = *plan_;
    record.table_plan->input = input_.name;
    record.table_plan->notes.clear();
    TableColumns& table = record.table.emplace();
    for (const TableColumn& column : plan_->columns) table.features.push_back(column.name);
    table.target = plan_->target;
    write_record(model_->metadata, record);
  }

  void replace_inputs() {
    GraphDef& graph = model_->graph;
    const auto at = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                 [&](const ValueDef& one) { return one.name == input_.name; });
    const DimDef rows =
        input_.type.dims ? input_.type.dims->front() : DimDef(DimName(names_.fresh("rows")));
    std::vector<ValueDef> columns;
    for (const TableColumn& column : plan_->columns) {
      ValueDef one;
      one.name = column.name;
      one.type = tensor_type(column.is_category() ? DType::string : DType::float64,
                             std::vector<DimDef>{rows, DimDef(std::int64_t{1})});
      columns.push_back(std::move(one));
    }
    const auto place = graph.inputs.erase(at);
    graph.inputs.insert(place, std::make_move_iterator(columns.begin()),
                        std::make_move_iterator(columns.end()));
  }

  ModelDef* model_;
  const TablePlan* plan_;
  Names names_;
  std::int64_t opset_;
  ValueDef input_;  // of the network itself
  GraphDef front_;
  GraphWriter writer_;
  std::vector<std::string> embeddings_;
};

}  // namespace

std::int64_t width_of(const TableColumn& column) {
  if (column.kind == TableColumn::Kind::number) return 1;
  return column.kind == TableColumn::Kind::one_hot ? static_cast<std::int64_t>(column.values.size())
                                                   : column.size;
}

std::vector<std::string> write_table(ModelDef& model, const TablePlan& plan) {
  return TableWriter(model, plan).write();
}

}  // namespace ondine::graph

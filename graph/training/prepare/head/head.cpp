#include "graph/training/prepare/head/head.h"

#include <algorithm>
#include <utility>

#include "core/filled_tensor.h"
#include "core/message.h"
#include "graph/record/record.h"
#include "graph/training/prepare/head/cut.h"
#include "graph/training/prepare/head/draw_weight.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {
namespace {

// Keeps nodes that the outputs need, and inputs that are read or were never read.
void remove_unneeded(GraphDef& main) {
  Strings read_before;
  for (const NodeDef& node : main.nodes) {
    for (const std::string& name : reads_of(node)) read_before.insert(name);
  }
  Strings needed;
  for (const ValueDef& output : main.outputs) needed.insert(output.name);
  std::vector<NodeDef> kept;
  for (auto node = main.nodes.rbegin(); node != main.nodes.rend(); ++node) {
    if (std::none_of(node->outputs.begin(), node->outputs.end(), [&](const std::string& name) {
          return !name.empty() && needed.contains(name);
        })) {
      continue;
    }
    for (const std::string& name : reads_of(*node)) needed.insert(name);
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  main.nodes = std::move(kept);
  Strings made = needed;
  for (const NodeDef& node : main.nodes) made.insert(node.outputs.begin(), node.outputs.end());
  const auto is_gone = [&](const auto& one) { return !needed.contains(one.name); };
  std::erase_if(main.initializers, is_gone);
  std::erase_if(main.sparse_initializers, is_gone);
  std::erase_if(main.value_infos, [&](const ValueDef& one) { return !made.contains(one.name); });
  std::erase_if(main.quantization,
                [&](const QuantizationDef& one) { return !made.contains(one.tensor); });
  std::erase_if(main.inputs, [&](const ValueDef& one) {
    return is_gone(one) && read_before.contains(one.name);
  });
}

Tensor vector_of(const std::vector<float>& numbers, DType dtype) {
  return filled_tensor({static_cast<std::int64_t>(numbers.size())}, dtype,
                       [&](std::size_t i) { return static_cast<double>(numbers[i]); });
}

class HeadWriter {
 public:
  HeadWriter(GraphDef& main, const ModelDef& model, std::int64_t opset, const Cut& cut,
             const NewHead& head)
      : names_(model),
        writer_(main, names_, opset),
        cut_(&cut),
        head_(&head),
        classes_(static_cast<std::int64_t>(head.classes)) {}

  PlacedHead write() {
    PlacedHead placed;
    placed.cut = cut_->value;
    std::string value = cut_->is_convolution ? convolution(placed) : linear(placed);
    const std::size_t rank = cut_->dims && !cut_->pools ? cut_->dims->size() : 2;
    if (!cut_->is_convolution) placed.class_axis = rank - 1;
    value = scale("Mul", std::move(value), head_->deviation, "head.deviation", placed);
    value = scale("Add", std::move(value), head_->mean, "head.mean", placed);
    placed.output = names_.fresh("logits");
    writer_.graph().nodes.back().outputs = {placed.output};
    ValueDef output;
    output.name = placed.output;
    output.type = tensor_type(cut_->dtype, dims(placed.class_axis));
    auto& outputs = writer_.graph().outputs;
    outputs.insert(outputs.begin(), std::move(output));
    return placed;
  }

 private:
  std::optional<std::vector<DimDef>> dims(std::size_t class_axis) const {
    if (!cut_->dims) return std::nullopt;
    std::vector<DimDef> result = *cut_->dims;
    if (cut_->pools) result.resize(2);
    result[class_axis] = classes_;
    return result;
  }

  std::string scale(const char* op, std::string value, const std::vector<float>& numbers,
                    const char* name, PlacedHead& placed) {
    if (numbers.empty()) return value;
    if (cut_->is_convolution && !cut_->pools) {
      fail(ErrorCode::mismatch, "a head that gives a score for each position has no scale");
    }
    placed.constants.push_back(writer_.initializer(name, vector_of(numbers, cut_->dtype)));
    return writer_.node(op, {value, placed.constants.back()}, "head");
  }

  std::string bias(PlacedHead& placed) {
    placed.bias = writer_.initializer("head.bias", Tensor(cut_->dtype, {classes_}));
    return placed.bias;
  }

  std::string linear(PlacedHead& placed) {
    const bool is_matrix = cut_->dims && cut_->dims->size() == 2;
    const Shape shape = is_matrix ? Shape{classes_, cut_->width} : Shape{cut_->width, classes_};
    placed.weight =
        writer_.initializer("head.weight", draw_weight(shape, cut_->dtype, cut_->width));
    if (is_matrix) {
      return writer_.node("Gemm", {cut_->value, placed.weight, bias(placed)}, "head",
                          {{"transB", std::int64_t{1}}});
    }
    const std::string product = writer_.node("MatMul", {cut_->value, placed.weight}, "head");
    return writer_.node("Add", {product, bias(placed)}, "head");
  }

  std::string convolution(PlacedHead& placed) {
    Shape shape{classes_, cut_->width};
    const std::size_t rank = cut_->dims ? cut_->dims->size() : 4;
    for (std::size_t i = 2; i < rank; ++i) shape.push_back(1);
    placed.weight =
        writer_.initializer("head.weight", draw_weight(shape, cut_->dtype, cut_->width));
    const std::string scores =
        writer_.node("Conv", {cut_->value, placed.weight, bias(placed)}, "head");
    if (!cut_->pools) return scores;
    const std::string mean = writer_.node("GlobalAveragePool", {scores}, "head");
    return writer_.node("Flatten", {mean}, "head");
  }

  Names names_;
  GraphWriter writer_;
  const Cut* cut_;
  const NewHead* head_;
  std::int64_t classes_;
};

// Replaces what the metadata says of the classes of the old head.
void write_classes(Properties& metadata, const NewHead& head) {
  std::erase_if(metadata, [](const auto& one) {
    return one_of(one.first, {"names", "classes", "class_names", "labels", "id2label"});
  });
  DataRecord record = read_record(metadata);
  record.class_count = head.classes;
  record.classes = head.names;
  if (record.table) record.table->target.clear();
  write_record(metadata, record);
}

}  // namespace

PlacedHead put_head(ModelDef& model, const PrepareOptions& options, const ValueTypes& types) {
  const NewHead& head = *options.head;
  if (head.classes == 0 || head.classes > 1 << 24) {
    fail(ErrorCode::mismatch, "a head needs at least one class and at most 2^24, found ",
         head.classes);
  }
  if (!head.names.empty() && head.names.size() != head.classes) {
    fail(ErrorCode::mismatch, "a head of ", head.classes, " classes has ", head.names.size(),
         " names");
  }
  for (const auto* numbers : {&head.mean, &head.deviation}) {
    if (numbers->empty() || numbers->size() == head.classes) continue;
    fail(ErrorCode::mismatch, "a head of ", head.classes, " numbers has ", numbers->size(),
         " means or deviations");
  }
  const Cut cut = find_cut(model.graph, options, types);
  ModelDef changed = model;
  GraphDef& main = changed.graph;
  const Strings after = values_after(main, cut.value);
  std::erase_if(main.outputs, [&](const ValueDef& one) {
    return one.name != cut.value && after.contains(one.name);
  });
  // The cut is an output while the rest goes.
  const bool is_output = std::any_of(main.outputs.begin(), main.outputs.end(),
                                     [&](const ValueDef& one) { return one.name == cut.value; });
  if (!is_output) {
    ValueDef kept;
    kept.name = cut.value;
    main.outputs.push_back(std::move(kept));
  }
  remove_unneeded(main);
  if (!is_output) main.outputs.pop_back();
  std::int64_t opset = 0;
  for (const OpsetImport& one : model.opsets) {
    if (one.domain.empty()) opset = one.version;
  }
  const auto kept = static_cast<std::ptrdiff_t>(main.nodes.size());
  PlacedHead placed = HeadWriter(main, changed, opset, cut, head).write();
  for (auto node = main.nodes.begin() + kept; node != main.nodes.end(); ++node) {
    placed.values.insert(placed.values.end(), node->outputs.begin(), node->outputs.end());
  }
  write_classes(changed.metadata, head);
  model = std::move(changed);
  return placed;
}

}  // namespace ondine::graph

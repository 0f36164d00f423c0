#include "graph/training/adapters/prompt.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/filled_tensor.h"
#include "core/message.h"
#include "core/random/random.h"
#include "core/to_doubles.h"
#include "graph/training/adapters/adapter_writer.h"
#include "graph/training/adapters/find_layers.h"
#include "graph/training/prepare/losses/pieces.h"
#include "graph/training/prepare/names.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t most_tokens = 1 << 16;

bool passes_ids(const NodeDef& node) {
  return is_standard(node, "Cast") || is_standard(node, "Identity") ||
         is_standard(node, "Reshape") || is_standard(node, "Unsqueeze");
}

double deviation_of(const Tensor& table) {
  const std::vector<double> values = *to_doubles(table);
  double sum = 0;
  double squares = 0;
  for (const double one : values) {
    sum += one;
    squares += one * one;
  }
  const auto count = static_cast<double>(values.size());
  return std::sqrt(std::max(squares / count - sum / count * (sum / count), 0.0));
}

bool has_word(const std::string& name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

class Prompter {
 public:
  Prompter(ModelDef& model, std::int64_t tokens, const ValueTypes& types, GraphWriter& writer)
      : graph_(&model.graph),
        tokens_(tokens),
        types_(known_types(model.graph, types)),
        finder_(model.graph, types),
        writer_(&writer) {}

  // The node that looks the tokens up.
  std::size_t find() {
    std::optional<std::size_t> found;
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      const std::optional<AdapterLayer> layer = finder_.find(graph_->nodes[i]);
      if (!layer || layer->form != LayerForm::embedding) continue;
      const std::string input = source_of(graph_->nodes[i].inputs[1]);
      if (input.empty() || layer->in <= rows) continue;
      rows = layer->in;
      found = i;
      layer_ = *layer;
      ids_ = input;
    }
    if (!found) {
      refuse("no input of token ids whose rows Gather looks up in a table", "");
    }
    require_length();
    require_readers(ids_, *found);
    return *found;
  }

  const AdapterLayer& layer() const { return layer_; }
  const Tensor* table() const { return finder_.stored(layer_.weight); }

  void lengthen_inputs() {
    for (const ValueDef& input : std::vector<ValueDef>(graph_->inputs)) {
      if (!input.type.dims || is_initializer(input.name)) continue;
      const std::size_t count = places_of_length(*input.type.dims);
      if (has_word(input.name, {"past", "position"})) {
        refuse("an input of past tokens or positions", input.name);
      }
      if (count == 0) continue;
      const bool is_row =
          count == 1 && input.type.dims->size() == 2 && (*input.type.dims)[1] == length_;
      const bool is_mask = has_word(input.name, {"mask"});
      if (!is_row ||
          (input.name != ids_ && !is_mask && !has_word(input.name, {"type", "segment"}))) {
        refuse("an input along the tokens whose elements for new ones are not known", input.name);
      }
      lengthen(input, is_mask && input.name != ids_ ? 1 : 0);
    }
  }

  void shorten_outputs() {
    for (const ValueDef& output : std::vector<ValueDef>(graph_->outputs)) {
      const auto type = types_.find(output.name);
      if (type == types_.end() || !type->second.dims) {
        refuse("an output of unknown shape", output.name);
      }
      const std::vector<DimDef>& dims = *type->second.dims;
      for (std::size_t i = 1; i < dims.size(); ++i) {
        if (std::holds_alternative<std::monostate>(dims[i])) {
          refuse("an output that may be along the tokens or not", output.name);
        }
      }
      const std::size_t count = places_of_length(dims);
      if (count == 0) continue;
      if (count > 1 || dims.size() < 2 || !(dims[1] == length_)) {
        refuse("an output along the tokens in another dim than its second one", output.name);
      }
      shorten(output.name);
    }
  }

  std::string slice(const std::string& value, std::int64_t from, std::int64_t to,
                    const std::string& hint) {
    return writer_->node(
        "Slice",
        {value, integers(*writer_, hint + ".from", {from}), integers(*writer_, hint + ".to", {to}),
         integers(*writer_, hint + ".axis", {1})},
        hint);
  }

 private:
  [[noreturn]] static void refuse(const std::string& reason, const std::string& name) {
    fail(ErrorCode::unsupported,
         "a prompt (--prompt-tokens) needs a network that looks token ids [N, T] ",
         "up and takes their shape; here is ", reason, name.empty() ? "" : ": " + quoted(name));
  }

  bool is_initializer(const std::string& name) const {
    return std::any_of(graph_->initializers.begin(), graph_->initializers.end(),
                       [&](const auto& one) { return one.name == name; });
  }

  const NodeDef* producer(const std::string& name) const {
    for (const NodeDef& node : graph_->nodes) {
      if (std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end()) {
        return &node;
      }
    }
    return nullptr;
  }

  // The input of the graph of which the ids are a copy; "" if there is none.
  std::string source_of(std::string name) const {
    while (const NodeDef* node = producer(name)) {
      if (!passes_ids(*node)) return {};
      name = node->inputs[0];
    }
    const bool is_input = std::any_of(graph_->inputs.begin(), graph_->inputs.end(),
                                      [&](const auto& one) { return one.name == name; });
    return is_input && !is_initializer(name) ? name : std::string();
  }

  void require_length() {
    const auto input = std::find_if(graph_->inputs.begin(), graph_->inputs.end(),
                                    [&](const auto& one) { return one.name == ids_; });
    const auto& dims = input->type.dims;
    if (!dims || dims->size() != 2 || !std::holds_alternative<DimName>((*dims)[1])) {
      refuse("an input of token ids that is not [N, T] with any number T of tokens", ids_);
    }
    length_ = (*dims)[1];
    if ((*dims)[0] == length_) refuse("an input with as many rows as tokens", ids_);
  }

  // Checks the readers of the ids, and of the copies that the lookup reads.
  void require_readers(const std::string& ids, std::size_t lookup) const {
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      const NodeDef& node = graph_->nodes[i];
      const std::vector<std::string> read = reads_of(node);
      if (std::find(read.begin(), read.end(), ids) == read.end() || i == lookup) continue;
      if (is_standard(node, "Shape")) continue;
      if (!passes_ids(node) || node.inputs[0] != ids) {
        refuse("an operator " + node.op + " that computes with them, of the value",
               node.outputs.empty() ? node.name : node.outputs[0]);
      }
      require_readers(node.outputs[0], lookup);
    }
  }

  std::size_t places_of_length(const std::vector<DimDef>& dims) const {
    return static_cast<std::size_t>(std::count(dims.begin(), dims.end(), length_));
  }

  void replace_reads(const std::string& from, const std::string& to) {
    for (NodeDef& node : graph_->nodes) {
      for (const auto& body : subgraphs_of(node)) {
        if (captured_names(*body).contains(from)) refuse("a subgraph that reads the value", from);
      }
      std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    }
  }

  void lengthen(const ValueDef& input, std::int64_t value) {
    const DType dtype = input.type.dtype;
    Tensor filling(dtype, Shape{});
    if (dtype == DType::int64) {
      filling.mutable_values<std::int64_t>()[0] = value;
    } else if (dtype == DType::int32) {
      filling.mutable_values<std::int32_t>()[0] = static_cast<std::int32_t>(value);
    } else if (is_float(dtype)) {
      filling = filled_tensor({}, dtype, [&](std::size_t) { return static_cast<double>(value); });
    } else {
      refuse("an input along the tokens that is neither int64, int32 nor of floating point",
             input.name);
    }
    const std::string hint = input.name + ".longer";
    std::vector<NodeDef> nodes = std::move(graph_->nodes);
    graph_->nodes.clear();
    const std::string longer =
        writer_->node("Pad",
                      {input.name, integers(*writer_, hint + ".pads", {0, tokens_, 0, 0}),
                       writer_->initializer(hint + ".value", std::move(filling))},
                      hint);
    std::vector<NodeDef> added = std::move(graph_->nodes);
    graph_->nodes = std::move(nodes);
    replace_reads(input.name, longer);
    graph_->nodes.insert(graph_->nodes.begin(), added.begin(), added.end());
  }

  void shorten(const std::string& output) {
    if (producer(output) == nullptr) refuse("an output that is an input", output);
    const std::string whole = writer_->names().fresh(output + ".whole");
    replace_reads(output, whole);
    for (NodeDef& node : graph_->nodes) {
      std::replace(node.outputs.begin(), node.outputs.end(), output, whole);
    }
    slice(whole, tokens_, std::numeric_limits<std::int64_t>::max(), output + ".slice");
    graph_->nodes.back().outputs = {output};
  }

  GraphDef* graph_;
  std::int64_t tokens_;
  ValueTypes types_;
  LayerFinder finder_;
  GraphWriter* writer_;
  AdapterLayer layer_;
  std::string ids_;
  DimDef length_;
};

}  // namespace

void attach_prompt(ModelDef& model, const PromptTuning& prompt, const ValueTypes& types,
                   GraphWriter& writer, Adapters& record, AttachedAdapters& attached) {
  if (prompt.tokens < 1 || prompt.tokens > most_tokens) {
    fail(ErrorCode::mismatch, "a prompt has ", prompt.tokens, " tokens, needed: 1 to ",
         most_tokens);
  }
  if (writer.opset() < 11) {
    fail(ErrorCode::unsupported,
         "a prompt (--prompt-tokens) needs ai.onnx 11 or newer, the model imports ",
         writer.opset());
  }
  GraphDef& graph = model.graph;
  Prompter prompter(model, prompt.tokens, types, writer);
  const std::size_t lookup = prompter.find();
  const AdapterLayer layer = prompter.layer();
  const double deviation = prompter.table() == nullptr ? 1 : deviation_of(*prompter.table());
  Adapter adapter;
  adapter.kind = AdapterKind::prompt;
  adapter.form = LayerForm::embedding;
  adapter.module = layer.module;
  adapter.weight = layer.weight;
  const AdapterWriter to{&model, &writer, nullptr, &record, &attached};
  Tensor rows = filled_tensor({prompt.tokens, layer.out}, layer.dtype,
                              [&](std::size_t i) { return deviation * normal_at(RandomKey{}, i); });
  adapter.prompt = to.parameter("prompt_embeddings", std::move(rows), DrawnNormal{deviation});

  std::vector<NodeDef> after(
      std::make_move_iterator(graph.nodes.begin() + static_cast<std::ptrdiff_t>(lookup) + 1),
      std::make_move_iterator(graph.nodes.end()));
  graph.nodes.resize(lookup + 1);
  to.move_aside(adapter);
  const std::string hint = "prompt";
  const std::string first = prompter.slice(adapter.base, 0, prompt.tokens, hint + ".places");
  const std::string rest = prompter.slice(adapter.base, prompt.tokens,
                                          std::numeric_limits<std::int64_t>::max(), hint + ".text");
  const std::string shape = writer.node("Shape", {first}, hint + ".shape");
  const std::string wide = writer.node("Expand", {adapter.prompt, shape}, hint + ".rows");
  writer.node("Concat", {wide, rest}, adapter.output, {{"axis", std::int64_t{1}}});
  to.finish(std::move(adapter));
  std::move(after.begin(), after.end(), std::back_inserter(graph.nodes));
  prompter.lengthen_inputs();
  prompter.shorten_outputs();
  attached.note = cat("a prompt of ", prompt.tokens, " tokens");
}

}  // namespace ondine::graph

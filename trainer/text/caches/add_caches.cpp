#include "trainer/text/caches/add_caches.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "core/message.h"
#include "graph/contract/node_view.h"
#include "graph/contract/op_def.h"
#include "graph/passes/rewrite.h"
#include "graph/training/lower/to_definition.h"
#include "trainer/text/generate/cache_ports.h"

namespace ondine::text {

using namespace graph;  // NOLINT

namespace {

constexpr auto int64_type = static_cast<std::int64_t>(DType::int64);
constexpr auto bool_type = static_cast<std::int64_t>(DType::boolean);

class Writer {
 public:
  Writer(const Graph& graph, const TextInputs& inputs, LengthValues& lengths,
         const Catalogue& catalogue, ValueId scores)
      : graph_(graph), inputs_(inputs), lengths_(lengths), catalogue_(catalogue), scores_(scores) {
    graph_.symbols = std::make_shared<Symbols>(*graph.symbols);
    typed_ = lengths.typed(typed_length, {&scores, 1});
  }

  GraphDef write(const CacheSites& sites, const std::string& scores_name) {
    std::vector<Node> old = std::move(graph_.nodes);
    add_inputs();
    for (std::size_t i = 0; i < old.size(); ++i) {
      rewrite(old[i], i, sites);
      nodes_.push_back(std::move(old[i]));
    }
    graph_.nodes = std::move(nodes_);
    graph_.outputs = {scores_};
    graph_.inputs.clear();
    for (const auto& [name, id] : ports_.inputs) graph_.inputs.push_back(id);
    ports_.outputs.insert(ports_.outputs.begin(), {scores_name, scores_});
    for (const auto& [name, id] : presents_) {
      graph_.outputs.push_back(id);
      ports_.outputs.emplace_back(name, id);
    }
    drop_dead_nodes(graph_);
    return to_definition(graph_, ports_);
  }

 private:
  static constexpr std::int64_t typed_length = 5;

  Dim symbol(const char* name) { return graph_.symbols->get(name); }

  ValueId node(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    Node& one = nodes_.emplace_back();
    one.op = catalogue_.find("", op);
    if (one.op == nullptr) fail(ErrorCode::unsupported, "this build has no ", op);
    one.inputs = std::move(inputs);
    one.attributes = std::move(attributes);
    one.outputs = {graph_.add_temporary("cached_" + std::string(op))};
    return one.outputs[0];
  }
  ValueId constant(Tensor tensor) {
    const ValueId id = graph_.add_temporary("cached", Type::tensor(tensor.dtype(), tensor.shape()));
    graph_[id].constant = std::move(tensor);
    return id;
  }
  ValueId integers(const std::vector<std::int64_t>& values) {
    return constant(Tensor::of(Shape{std::ssize(values)}, values));
  }
  ValueId reshaped(ValueId id, const std::vector<std::int64_t>& dims) {
    return node("Reshape", {id, integers(dims)});
  }

  void add_port(ValueId id, DType dtype, const char* length) {
    graph_[id].declared = {};
    graph_[id].type = Type::tensor(dtype, Dims{Dim(1), symbol(length)});
    ports_.inputs.emplace_back(graph_[id].name, id);
  }

  // Places of the new tokens and of those that are seen, and which of these are.
  void add_inputs() {
    add_port(inputs_.ids, graph_[inputs_.ids].type.dtype, "new_tokens");
    const ValueId mask = inputs_.mask ? *inputs_.mask : graph_.add_temporary("attention_mask");
    add_port(mask, inputs_.mask ? graph_[mask].type.dtype : DType::int64, "all_tokens");
    const ValueId positions =
        inputs_.positions ? *inputs_.positions : graph_.add_temporary("position_ids");
    add_port(positions, inputs_.positions ? graph_[positions].type.dtype : DType::int64,
             "new_tokens");
    query_ = reshaped(node("Cast", {positions}, {{"to", int64_type}}), {-1});
    const ValueId given = reshaped(node("Cast", {mask}, {{"to", int64_type}}), {-1});
    const ValueId zero = constant(Tensor::scalar(std::int64_t{0}));
    const ValueId one = constant(Tensor::scalar(std::int64_t{1}));
    key_ = node("Max", {node("Sub", {node("CumSum", {given, zero}), one}), zero});
    const ValueId before =
        node("LessOrEqual", {reshaped(key_, {1, -1}), reshaped(query_, {-1, 1})});
    seen_ = node("And", {before, node("Cast", {reshaped(given, {1, -1})}, {{"to", bool_type}})});
    low_ = constant(Tensor::scalar(std::numeric_limits<float>::lowest()));
  }

  void rewrite(Node& one, std::size_t index, const CacheSites& sites) {
    // Whose dims were those of the ids, and now are those of all that is seen.
    const bool measures = one.op->name == "Shape" || one.op->name == "Size";
    if (measures && inputs_.mask && one.inputs[0] == *inputs_.mask) one.inputs[0] = inputs_.ids;
    for (const LengthOperand& site : sites.lengths) {
      if (site.node == index) one.inputs[site.input] = places_of(one.inputs[site.input], site);
    }
    for (const SeenOperand& site : sites.seen) {
      if (site.node == index) one.inputs[site.input] = with_past(one.inputs[site.input], site.axis);
    }
    if (std::ranges::find(sites.softmaxes, index) != sites.softmaxes.end()) {
      require_float(one.inputs[0]);
      one.inputs[0] = node("Where", {seen_, one.inputs[0], low_});
    }
    if (std::ranges::find(sites.attentions, index) == sites.attentions.end()) return;
    require_float(one.inputs[0]);
    std::erase_if(one.attributes, [](const Attribute& each) { return each.name == "is_causal"; });
    one.inputs.resize(4, no_value);
    ValueId& mask = one.inputs[3];
    if (mask == no_value) {
      mask = seen_;
    } else if (masks_.contains(mask)) {
      mask = node("Where", {seen_, mask, low_});
    } else {
      mask = node("And", {mask, seen_});
    }
  }

  void require_float(ValueId id) const {
    if (typed_[id].type.dtype == DType::float32) return;
    fail(ErrorCode::unsupported, "scores of ", typed_[id].type.dtype,
         " get no cache, needed: float32");
  }

  // The rows of a table for the new tokens and the columns for those that are seen.
  ValueId places_of(ValueId id, const LengthOperand& site) {
    const auto [known, is_new] = places_.emplace(std::tuple(id, site.token, site.key), no_value);
    if (!is_new) return known->second;
    const Tensor& table = lengths_.table(id);
    const bool is_number = table.dtype() != DType::boolean;
    ValueId result = constant(table);
    const auto pick = [&](std::optional<std::size_t> axis, ValueId by) {
      if (!axis) return;
      result = node("Gather", {result, by}, {{"axis", static_cast<std::int64_t>(*axis)}});
    };
    pick(site.token, query_);
    pick(site.key, key_);
    if (is_number) masks_.emplace(result, true);
    known->second = result;
    return result;
  }

  ValueId with_past(ValueId id, std::size_t axis) {
    const auto [known, is_new] = joined_.emplace(std::pair(id, axis), no_value);
    if (!is_new) return known->second;
    const auto shape = typed_[id].type.shape();
    require_float(id);
    if (!shape || shape->rank() < 3) {
      fail(ErrorCode::unsupported, "keys and values of fewer than 3 dims get no cache");
    }
    const std::string number = std::to_string(joined_.size() - 1);
    const ValueId past = graph_.add_temporary("past_key_values." + number);
    Dims dims = to_dims(*shape);
    dims[axis] = symbol("past_tokens");
    graph_[past].type = Type::tensor(DType::float32, dims);
    ports_.inputs.emplace_back(graph_[past].name, past);
    const ValueId all = node("Concat", {past, id}, {{"axis", static_cast<std::int64_t>(axis)}});
    dims[axis] = symbol("all_tokens");
    graph_[all].type = Type::tensor(DType::float32, dims);
    presents_.emplace_back("present." + number, all);
    const ValueId fresh = node("Identity", {id});
    dims[axis] = symbol("new_tokens");
    graph_[fresh].type = Type::tensor(DType::float32, dims);
    presents_.emplace_back(cat(fresh_prefix, graph_[past].name), fresh);
    known->second = all;
    return all;
  }

  Graph graph_, typed_;
  TextInputs inputs_;
  LengthValues& lengths_;
  const Catalogue& catalogue_;
  ValueId scores_;
  std::vector<Node> nodes_;
  GraphPorts ports_;
  std::vector<std::pair<std::string, ValueId>> presents_;  // and what is new of them
  ValueId query_ = no_value, key_ = no_value, seen_ = no_value, low_ = no_value;
  std::map<std::tuple<ValueId, std::optional<std::size_t>, std::optional<std::size_t>>, ValueId>
      places_;
  std::map<ValueId, bool> masks_;  // places of numbers, which are added to scores
  std::map<std::pair<ValueId, std::size_t>, ValueId> joined_;
};

}  // namespace

GraphDef add_caches(const Graph& graph, const TextInputs& inputs, ValueId scores,
                    const std::string& scores_name, const CacheSites& sites, LengthValues& lengths,
                    const Catalogue& catalogue) {
  return Writer(graph, inputs, lengths, catalogue, scores).write(sites, scores_name);
}

}  // namespace ondine::text

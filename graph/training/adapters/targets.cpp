#include "graph/training/adapters/targets.h"

#include <algorithm>
#include <charconv>

#include "core/message.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/origin.h"
#include "graph/training/prepare/parameters/parameters.h"

namespace ondine::graph {
namespace {

constexpr std::string_view all_linear = "all-linear";
constexpr std::string_view layer_kinds =
    "MatMul, Gemm, MatMulNBits, Conv of one group, or Gather of rows, with a floating point weight "
    "that is a constant";

// "@7=value" of the node that gives the value.
std::string_view value_of(std::string_view pattern) {
  if (!pattern.starts_with('@')) return {};
  const std::size_t at = pattern.find('=');
  return at == std::string_view::npos ? std::string_view() : pattern.substr(at + 1);
}

std::string number_of(std::string_view pattern) {
  return std::string(pattern.substr(1, pattern.find('=') - 1));
}

void add_named(const GraphDef& graph, std::string_view pattern, std::vector<std::string>& to) {
  std::string_view rest = pattern.substr(1);
  while (true) {
    const std::string_view text = rest.substr(0, rest.find(','));
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      fail(ErrorCode::mismatch, "the target ", quoted(pattern),
           " of adapters is no list of nodes, needed: @N,M,... with numbers that ondine info "
           "--layers prints");
    }
    if (number >= graph.nodes.size() || graph.nodes[number].outputs.empty()) {
      fail(ErrorCode::mismatch, "the target ", quoted(pattern), " of adapters names node ", number,
           "; the model has nodes 0 to ", graph.nodes.size() - 1);
    }
    to.push_back(cat("@", number, "=", graph.nodes[number].outputs[0]));
    if (text.size() == rest.size()) return;
    rest.remove_prefix(text.size() + 1);
  }
}

void name_nodes(const GraphDef& graph, std::vector<std::string>& patterns) {
  std::vector<std::string> result;
  for (std::string& one : patterns) {
    if (one.starts_with('@')) {
      add_named(graph, one, result);
    } else {
      result.push_back(std::move(one));
    }
  }
  patterns = std::move(result);
}

bool matches(const std::string& pattern, const AdapterLayer& layer, const NodeDef& node) {
  if (pattern.starts_with('@')) return value_of(pattern) == node.outputs[0];
  return matches_glob(pattern, layer.weight) || matches_glob(pattern, layer.module) ||
         matches_glob("*." + pattern, layer.module);
}

}  // namespace

void name_numbered_nodes(const GraphDef& graph, PrepareOptions& options) {
  if (options.lora) name_nodes(graph, options.lora->targets);
  if (!options.ia3) return;
  name_nodes(graph, options.ia3->targets);
  name_nodes(graph, options.ia3->feedforward);
}

bool Targets::choose(const AdapterLayer& layer, const NodeDef& node, const LayerFinder& finder,
                     bool all) {
  const bool is_shared = finder.is_shared(layer.weight);
  const bool is_linear = layer.form == LayerForm::linear && !layer.is_last;
  const bool is_inner = is_linear && !is_shared;
  const bool takes_all = patterns_->empty() ? all : std::ranges::count(*patterns_, all_linear) > 0;
  if (takes_all && is_linear && is_shared && std::ranges::count(shared_, layer.weight) == 0) {
    shared_.push_back(layer.weight);
  }
  if (patterns_->empty()) return all && is_inner;
  bool chosen = false;
  for (std::size_t i = 0; i < patterns_->size(); ++i) {
    const std::string& pattern = (*patterns_)[i];
    if (pattern == all_linear) {
      chosen |= is_inner;
      matched_[i] = true;
    } else if (matches(pattern, layer, node)) {
      chosen = matched_[i] = true;
    }
  }
  if (chosen && is_shared) {
    fail(ErrorCode::mismatch, "several nodes read the weight ", quoted(layer.weight),
         ", which an adapter beside one of them would change for all");
  }
  return chosen;
}

void Targets::require_all_matched(const GraphDef& graph, const LayerFinder& finder) const {
  const auto missed = std::find(matched_.begin(), matched_.end(), false);
  if (missed == matched_.end()) return;
  const std::string& pattern = (*patterns_)[static_cast<std::size_t>(missed - matched_.begin())];
  if (pattern.starts_with('@')) {
    const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const auto& one) {
      return !one.outputs.empty() && one.outputs[0] == value_of(pattern);
    });
    fail(ErrorCode::mismatch, "node ", number_of(pattern), " (",
         node == graph.nodes.end() ? "which is replaced" : node->op, ", of the value ",
         quoted(value_of(pattern)), ") can have no adapter (", option_, "), needed: ", layer_kinds);
  }
  constexpr std::size_t most = 20;
  std::vector<std::string> found;
  bool has_names = false;
  for (const NodeDef& node : graph.nodes) {
    const std::optional<AdapterLayer> layer = finder.find(node);
    if (!layer) continue;
    found.push_back(quoted(layer->module));
    has_names |= layer->module != layer->weight || !is_generated_name(layer->weight);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i) {
    text += (i == 0 ? "" : ", ") + found[i];
  }
  if (found.size() > most) text += ", ...";
  fail(ErrorCode::mismatch, "the target ", quoted(pattern), " of adapters (", option_,
       ") matches no layer; there are: ", found.empty() ? "none" : text,
       has_names || found.empty()
           ? ""
           : cat("; the file does not tell the names of modules: give numbers of nodes, ", option_,
                 " @N,M, as ondine info --layers prints them"));
}

}  // namespace ondine::graph

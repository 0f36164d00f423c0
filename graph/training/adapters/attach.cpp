#include "graph/training/adapters/attach.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/message.h"
#include "graph/contract/opsets.h"
#include "graph/training/adapters/adapter_writer.h"
#include "graph/training/adapters/channels.h"
#include "graph/training/adapters/prompt.h"
#include "graph/training/adapters/targets.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/parameters.h"

namespace ondine::graph {
namespace {

// A chosen layer, by the node after or before which its adapter stands.
struct Place {
  AdapterLayer layer;
  bool of_inputs = false;
  std::string bias = {};
};
struct Places {
  std::map<std::size_t, Place> of_nodes;
  std::vector<std::string> shared = {};  // weights of layers that can have none
};

std::string left_out(const std::vector<std::string>& shared) {
  if (shared.empty()) return {};
  return cat("; none beside ", shared.size(), shared.size() == 1 ? " matrix" : " matrices",
             " that several nodes read (", quoted(shared[0]), shared.size() == 1 ? "" : ", ...",
             "), which an adapter beside one node would change for all");
}

Places low_rank_places(const GraphDef& graph, const LayerFinder& finder, const Lora& lora) {
  Places places;
  Targets targets(lora.targets, "--lora-targets");
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    std::optional<AdapterLayer> layer = finder.find(graph.nodes[i]);
    if (!layer || !targets.choose(*layer, graph.nodes[i], finder, true)) continue;
    places.of_nodes.emplace(i, Place{std::move(*layer)});
  }
  targets.require_all_matched(graph, finder);
  places.shared = targets.shared();
  if (places.of_nodes.empty()) {
    fail(ErrorCode::mismatch,
         "the model has no linear layer for adapters: no MatMul or Gemm of a constant matrix",
         left_out(places.shared),
         "; name layers by targets (--lora-targets), also convolutions and embeddings");
  }
  return places;
}

std::string bias_of(const LayerFinder& finder, const AdapterLayer& layer, const std::string& name) {
  if (!name.empty() && finder.is_shared(name)) {
    fail(ErrorCode::mismatch, "several nodes read the bias ", quoted(name), " of the layer ",
         quoted(layer.module), ", which a factor of its outputs would change for all");
  }
  return name;
}

Places factor_places(const GraphDef& graph, const LayerFinder& finder, const Ia3& ia3) {
  if (ia3.targets.empty() && ia3.feedforward.empty()) {
    fail(ErrorCode::mismatch, "factors of layers (IA3) need targets (--ia3, --ia3-feedforward)");
  }
  Places places;
  Targets outputs(ia3.targets, "--ia3");
  Targets inputs(ia3.feedforward, "--ia3-feedforward");
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeDef& node = graph.nodes[i];
    std::optional<AdapterLayer> layer = finder.find(node);
    if (!layer || layer->form == LayerForm::embedding) continue;
    const bool of_outputs = outputs.choose(*layer, node, finder, false);
    if (inputs.choose(*layer, node, finder, false)) {
      places.of_nodes.emplace(i, Place{std::move(*layer), true});
    } else if (of_outputs) {
      const auto added = layer->bias.empty() ? finder.added_bias(node, *layer) : std::nullopt;
      std::string bias = bias_of(finder, *layer, added ? added->name : layer->bias);
      places.of_nodes.emplace(added ? added->node : i,
                              Place{std::move(*layer), false, std::move(bias)});
    }
  }
  outputs.require_all_matched(graph, finder);
  inputs.require_all_matched(graph, finder);
  return places;
}

Adapters record_of(const PrepareOptions& options) {
  Adapters record;
  if (!options.lora) return record;
  record.rank = options.lora->rank;
  record.alpha = static_cast<double>(options.lora->alpha);
  record.dropout = static_cast<double>(options.lora->dropout);
  record.rank_stabilized = options.lora->rank_stabilized;
  record.dora = options.lora->dora;
  record.pissa = options.lora->init == LoraInit::pissa;
  return record;
}

std::string note_of(const PrepareOptions& options, const Places& places) {
  const std::size_t count = places.of_nodes.size();
  if (options.ia3) return cat("factors (IA3) of ", count, " layers");
  std::string of_kind = cat("adapters of rank ", options.lora->rank);
  if (options.lora->dora) of_kind += ", with lengths of their own (DoRA),";
  if (options.lora->init == LoraInit::pissa) of_kind += ", from singular values (PiSSA),";
  return cat(of_kind, " beside ", count, count == 1 ? " layer" : " layers",
             left_out(places.shared));
}

void attach_to_layers(ModelDef& model, const PrepareOptions& options, const ValueTypes& types,
                      std::span<const std::string> read, GraphWriter& writer, Adapters& record,
                      AttachedAdapters& attached) {
  GraphDef& graph = model.graph;
  const GraphDef before = graph;
  const LayerFinder finder(before, types, read);
  Places places = options.lora ? low_rank_places(before, finder, *options.lora)
                               : factor_places(before, finder, *options.ia3);
  const AdapterWriter to{&model, &writer, &finder, &record, &attached};
  std::optional<LowRankWriter> low_rank;
  if (options.lora) low_rank.emplace(to, *options.lora);
  std::vector<NodeDef> nodes = std::move(graph.nodes);
  graph.nodes.clear();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto place = places.of_nodes.find(i);
    if (place != places.of_nodes.end() && place->second.of_inputs) {
      add_input_factor(to, place->second.layer, nodes[i]);
    }
    graph.nodes.push_back(std::move(nodes[i]));
    if (place == places.of_nodes.end() || place->second.of_inputs) continue;
    if (low_rank) {
      low_rank->add(place->second.layer);
    } else {
      add_output_factor(to, place->second.layer, place->second.bias);
    }
  }
  attached.note = note_of(options, places);
}

}  // namespace

AttachedAdapters attach_adapters(ModelDef& model, const PrepareOptions& options,
                                 const std::vector<TrainedChannels>& channels,
                                 const ValueTypes& types, std::span<const std::string> read) {
  if (options.lora) check_lora(*options.lora);
  if (!read_adapters(model.metadata).layers.empty()) {
    fail(ErrorCode::mismatch, "the model has adapters already; an export merges them");
  }
  Names names(model);
  GraphWriter writer(model.graph, names, Opsets(model.opsets).version("").value_or(0));
  AttachedAdapters attached;
  Adapters record = record_of(options);
  if (!channels.empty()) {
    attach_channels(model, channels, types, read, writer, record, attached);
  } else if (options.prompt) {
    attach_prompt(model, *options.prompt, types, writer, record, attached);
  } else {
    attach_to_layers(model, options, types, read, writer, record, attached);
  }
  write_adapters(model.metadata, record);
  return attached;
}

void explain_adapters(PrepareReport& report, const PrepareOptions& asked, const Fresh& added) {
  for (ParameterInfo& one : report.parameters) {
    const auto is_named = [&](const std::string& pattern) {
      return matches_glob(pattern, one.name);
    };
    const bool is_asked = std::any_of(asked.train.begin(), asked.train.end(), is_named);
    const auto rule = added.find(one.name);
    const bool is_drawn =
        rule != added.end() && (std::holds_alternative<DrawnByUse>(rule->second) ||
                                std::holds_alternative<DrawnNormal>(rule->second));
    if (one.trained && !is_asked) one.reason = is_drawn ? "added, drawn" : "added";
    if (one.reason == "matches no train pattern") one.reason = "adapters train in its place";
  }
}

}  // namespace ondine::graph

// y = x w + x[channels] d: d begins as zeros and trains, w stays. The derivative, the states of the
// optimizer and what a step keeps of x then exist for these channels alone (Lin et al. 2022, "On-
// device training under 256KB memory", choose among the inputs of a layer for the same reason).
#include "graph/training/adapters/channels.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/message.h"
#include "graph/contract/opsets.h"
#include "graph/training/adapters/adapter_writer.h"
#include "graph/training/adapters/check_adapters.h"
#include "graph/training/prepare/losses/pieces.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/parameters.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t most_channels = std::int64_t{1} << 24;

std::optional<std::int64_t> channel_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return {};
  return value;
}

// Nothing unless the text is a list of numbers and ranges.
std::optional<std::vector<std::int64_t>> read_channels(std::string_view text,
                                                       const std::string& entry) {
  std::vector<std::int64_t> channels;
  for (bool ends = false; !ends;) {
    const std::size_t comma = text.find(',');
    ends = comma == std::string_view::npos;
    const std::string_view part = text.substr(0, comma);
    text = ends ? std::string_view() : text.substr(comma + 1);
    const std::size_t dash = part.find('-');
    const auto first = channel_number(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : channel_number(part.substr(dash + 1));
    if (!first || !last) return {};
    if (*last < *first || *last >= most_channels ||
        (!channels.empty() && *first <= channels.back())) {
      fail(ErrorCode::mismatch, "the channels of ", quoted(entry),
           " (--train) are not numbers in rising order, each once and below ", most_channels);
    }
    for (std::int64_t one = *first; one <= *last; ++one) channels.push_back(one);
  }
  return channels;
}

void require_apart(const std::vector<TrainedChannels>& chosen,
                   const std::vector<std::string>& train) {
  for (auto one = chosen.begin(); one != chosen.end(); ++one) {
    const bool is_twice = std::any_of(chosen.begin(), one, [&](const TrainedChannels& other) {
      return other.weight == one->weight;
    });
    const bool is_whole = std::any_of(train.begin(), train.end(), [&](const std::string& pattern) {
      return matches_glob(pattern, one->weight);
    });
    if (!is_twice && !is_whole) continue;
    fail(
        ErrorCode::mismatch, "channels of ", quoted(one->weight),
        is_twice ? " are named twice (--train)" : " are named, and a pattern trains all (--train)");
  }
}

class ChannelWriter {
 public:
  ChannelWriter(const AdapterWriter& to, const AdapterLayer& layer, const TrainedChannels& chosen)
      : to_(to), layer_(&layer), chosen_(&chosen) {}

  // The layer's node is the last one of the graph.
  void write() {
    GraphWriter& writer = *to_.writer;
    Adapter adapter;
    adapter.kind = AdapterKind::channels;
    adapter.form = layer_->form;
    adapter.module = layer_->module;
    adapter.weight = layer_->weight;
    adapter.transposed = layer_->transposed;
    const std::string hint = layer_->weight + ".channels";
    adapter.a = integers(writer, hint + ".numbers", chosen_->channels);
    adapter.b = to_.parameter(hint, Tensor(layer_->dtype, shape()), FilledWith{0});
    to_.move_aside(adapter);
    const NodeDef base = writer.graph().nodes.back();
    const bool is_convolution = layer_->form == LayerForm::convolution;
    const std::string x = writer.node("Gather", {base.inputs[layer_->data], adapter.a}, hint + ".x",
                                      {{"axis", std::int64_t{is_convolution ? 1 : -1}}});
    std::string added = is_convolution
                            ? writer.node("Conv", {x, adapter.b}, hint + ".y", base.attributes)
                            : writer.node("MatMul", {x, adapter.b}, hint + ".y");
    if (layer_->factor != 1) {  // as of the whole weight
      const std::string factor = writer.scalar(hint + ".factor", layer_->factor, layer_->dtype);
      added = writer.node("Mul", {added, factor}, hint + ".y");
    }
    writer.node("Add", {adapter.base, added}, adapter.output);
    to_.finish(std::move(adapter));
  }

 private:
  Shape shape() const {
    const auto count = static_cast<std::int64_t>(chosen_->channels.size());
    if (layer_->form == LayerForm::linear) return {count, layer_->out};
    Shape shape = layer_->shape;
    shape[1] = count;
    return shape;
  }

  AdapterWriter to_;
  const AdapterLayer* layer_;
  const TrainedChannels* chosen_;
};

void require_alone(const PrepareOptions& options) {
  const std::vector<const char*> ways = ways_of(options);
  const char* excluded = !ways.empty()         ? ways[0]
                         : options.last_layers ? "last_layers"
                         : options.qat         ? "qat"
                                               : nullptr;
  if (options.init != WeightInit::automatic && options.init != WeightInit::keep) excluded = "init";
  if (excluded == nullptr) return;
  fail(ErrorCode::mismatch,
       "channels that train (--train) leave the rest of their weights alone, "
       "which excludes ",
       excluded);
}

using ChannelPlaces = std::map<std::size_t, std::pair<AdapterLayer, const TrainedChannels*>>;

ChannelPlaces channel_places(const GraphDef& graph, const LayerFinder& finder,
                             const std::vector<TrainedChannels>& chosen) {
  ChannelPlaces places;
  for (const TrainedChannels& one : chosen) {
    bool is_found = false;
    for (std::size_t i = 0; i < graph.nodes.size() && !is_found; ++i) {
      std::optional<AdapterLayer> layer = finder.find(graph.nodes[i]);
      is_found = layer && layer->weight == one.weight && has_channels(finder, *layer);
      if (!is_found) continue;
      if (one.channels.back() >= layer->channels) {
        fail(ErrorCode::mismatch, "channel ", one.channels.back(), " of ", quoted(one.weight),
             " (--train) is none of the ", layer->channels, " inputs of its layer");
      }
      places.emplace(i, std::pair(std::move(*layer), &one));
    }
    if (is_found) continue;
    fail(ErrorCode::mismatch, quoted(one.weight),
         ", of which channels are to train (--train), is "
         "no weight of one linear layer or convolution of one group");
  }
  return places;
}

}  // namespace

std::string to_pattern(const TrainedChannels& trained) {
  std::string text = trained.weight + "@";
  const std::vector<std::int64_t>& channels = trained.channels;
  for (std::size_t first = 0; first < channels.size();) {
    std::size_t last = first;
    while (last + 1 < channels.size() && channels[last + 1] == channels[last] + 1) ++last;
    text += (first == 0 ? "" : ",") + std::to_string(channels[first]);
    if (last > first) text += "-" + std::to_string(channels[last]);
    first = last + 1;
  }
  return text;
}

std::vector<TrainedChannels> take_channels(const GraphDef& graph, PrepareOptions& options) {
  std::vector<TrainedChannels> chosen;
  std::erase_if(options.train, [&](const std::string& entry) {
    const std::size_t at = entry.rfind('@');
    if (at == std::string::npos || find_initializer(graph, entry) != nullptr) return false;
    auto channels = read_channels(std::string_view(entry).substr(at + 1), entry);
    if (!channels) return false;
    chosen.push_back({entry.substr(0, at), std::move(*channels)});
    return true;
  });
  require_apart(chosen, options.train);
  if (!chosen.empty()) require_alone(options);
  return chosen;
}

bool has_channels(const LayerFinder& finder, const AdapterLayer& layer) {
  return layer.form != LayerForm::embedding && finder.stored(layer.weight) != nullptr &&
         !finder.is_shared(layer.weight);
}

void attach_channels(ModelDef& model, const std::vector<TrainedChannels>& chosen,
                     const ValueTypes& types, std::span<const std::string> read,
                     GraphWriter& writer, Adapters& record, AttachedAdapters& attached) {
  GraphDef& graph = model.graph;
  const GraphDef before = graph;
  const LayerFinder finder(before, types, read);
  const ChannelPlaces places = channel_places(before, finder, chosen);
  const AdapterWriter to{&model, &writer, &finder, &record, &attached};
  std::vector<NodeDef> nodes = std::move(graph.nodes);
  graph.nodes.clear();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    graph.nodes.push_back(std::move(nodes[i]));
    const auto place = places.find(i);
    if (place == places.end()) continue;
    ChannelWriter(to, place->second.first, *place->second.second).write();
  }
  attached.note = cat("channels of ", places.size(), " weights train");
}

void explain_channels(PrepareReport& report, const std::vector<TrainedChannels>& chosen) {
  for (ParameterInfo& one : report.parameters) {
    for (const TrainedChannels& trained : chosen) {
      if (one.name == trained.weight) {
        one.reason = cat(trained.channels.size(), " of its channels train");
      }
    }
  }
}

}  // namespace ondine::graph

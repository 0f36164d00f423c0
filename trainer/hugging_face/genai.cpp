#include "trainer/hugging_face/genai.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "core/message.h"
#include "trainer/hugging_face/decoder_traits.h"

namespace ondine::hugging_face {
namespace {

constexpr std::int64_t most_head_size = 65'536;

struct Port {
  std::string_view member;
  std::string_view usual;
  bool of_layers;  // its name has %d for the number of the layer
};
constexpr std::array<Port, 5> genai_inputs{
    {{"input_ids", "input_ids", false},
     {"attention_mask", "attention_mask", false},
     {"position_ids", "position_ids", false},
     {"past_key_names", "past_key_values.%d.key", true},
     {"past_value_names", "past_key_values.%d.value", true}}};
constexpr std::array<Port, 3> genai_outputs{{{"logits", "logits", false},
                                             {"present_key_names", "present.%d.key", true},
                                             {"present_value_names", "present.%d.value", true}}};

// The name of a layer's cache, by a pattern with %d.
std::string name_of(const Config& config, const Port& port, std::int64_t layer) {
  std::string name = config.text_or(port.member, std::string(port.usual));
  const std::size_t at = name.find("%d");
  if (at == std::string::npos || name.find('%', at + 1) != std::string::npos) {
    fail(ErrorCode::corrupt, config.member(port.member), " is ", quoted(name),
         ", needed: a name with one %d for the number of the layer");
  }
  return name.replace(at, 2, std::to_string(layer));
}

void set_head_size(graph::ValueDef& value, std::int64_t size) {
  auto& dims = value.type.dims;
  if (value.type.kind != graph::TypeKind::tensor || !dims || dims->size() != 4) {
    fail(ErrorCode::mismatch, quoted(value.name), " is no tensor of rank 4, as caches are");
  }
  const auto* const found = std::get_if<std::int64_t>(&dims->back());
  if (found != nullptr && *found != size) {
    fail(ErrorCode::mismatch, quoted(value.name), " has ", *found, " elements for each token, ",
         genai_file, " says head_size ", size);
  }
  dims->back() = size;
}

// Compares the inputs, or the outputs, with what the config calls them.
class Ports {
 public:
  Ports(std::vector<graph::ValueDef>& values, std::string_view what)
      : values_(&values), what_(what) {}

  void take(const Config& config, std::span<const Port> known, std::int64_t layers,
            std::int64_t head_size) {
    for (const Port& port : known) {
      if (!config.has(port.member)) continue;
      if (!port.of_layers) {
        require_usual(config, port);
        require(std::string(port.usual));
      }
      for (std::int64_t layer = 0; port.of_layers && layer < layers; ++layer) {
        set_head_size(require(name_of(config, port, layer)), head_size);
      }
    }
    for (const graph::ValueDef& value : *values_) {
      if (taken_.contains(value.name)) continue;
      fail(ErrorCode::unsupported, what_, " ", quoted(value.name),
           " is none that a decoder of ids with caches has by ", genai_file);
    }
  }

 private:
  static void require_usual(const Config& config, const Port& port) {
    const std::string name = config.text_or(port.member, std::string(port.usual));
    if (name == port.usual) return;
    fail(ErrorCode::unsupported, config.member(port.member), " is ", quoted(name),
         ", supported is ", quoted(port.usual));
  }
  graph::ValueDef& require(const std::string& name) {
    const auto found = std::ranges::find(*values_, name, &graph::ValueDef::name);
    if (found == values_->end()) {
      fail(ErrorCode::mismatch, "the model has no ", what_, " ", quoted(name), ", which ",
           genai_file, " names");
    }
    taken_.insert(name);
    return *found;
  }

  std::vector<graph::ValueDef>* values_;
  std::string_view what_;
  std::set<std::string, std::less<>> taken_;
};

Config require_object(const Config& config, std::string_view name) {
  if (auto found = config.object(name)) return *std::move(found);
  fail(ErrorCode::mismatch, config.member(name), " is missing");
}

std::filesystem::path file_of(const std::filesystem::path& folder, const Config& decoder) {
  const std::string name = decoder.text_or("filename", "model.onnx");
  const std::filesystem::path path(name);
  if (name.empty() || path.has_parent_path() || name == "." || name == "..") {
    fail(ErrorCode::corrupt, decoder.member("filename"), " is no name of a file");
  }
  return folder / path;
}

void take_ports(const Config& decoder, const Limits& limits, graph::GraphDef& graph) {
  const std::int64_t layers = decoder.count("num_hidden_layers", most_layers(limits));
  const std::int64_t head_size = decoder.count("head_size", most_head_size);
  Ports(graph.inputs, "input")
      .take(require_object(decoder, "inputs"), genai_inputs, layers, head_size);
  Ports(graph.outputs, "output")
      .take(require_object(decoder, "outputs"), genai_outputs, layers, head_size);
}

constexpr std::int64_t most_tokens = std::int64_t{1} << 40;

void take_lengths(const Config& model, const std::optional<Config>& search, GenaiFolder& to) {
  if (model.has("context_length")) {
    to.context = {model.count("context_length", most_tokens), model.member("context_length")};
  }
  if (!search || !search->has("max_length")) return;
  to.generated = {search->count("max_length", most_tokens), search->member("max_length")};
  if (to.context.tokens == 0 || to.generated.tokens <= to.context.tokens) return;
  to.notes.push_back(cat(to.generated.source, " is ", to.generated.tokens,
                         " tokens; texts end before, at the ", to.context.tokens, " of ",
                         to.context.source));
  to.generated = to.context;
}

// Turns the settings of the search into options of `generate`; notes those that are not followed.
void take_search(const Config& search, GenaiFolder& to) {
  const auto add = [&](const char* option, double value) {
    to.generate.emplace_back(option, cat(value));
  };
  if (search.integer("num_beams").value_or(1) > 1) {
    to.notes.push_back(
        cat(search.member("num_beams"), " is above 1, but one text is followed, without beams"));
  }
  for (const char* name : {"min_length", "no_repeat_ngram_size"}) {
    if (search.integer(name).value_or(0) == 0) continue;
    to.notes.push_back(cat(search.member(name), " is not followed"));
  }
  const double penalty = search.positive_or("repetition_penalty", 1);
  if (penalty != 1) add("repeat-penalty", penalty);
  if (!search.flag_or("do_sample", false)) return add("temperature", 0);
  const double temperature = search.positive_or("temperature", 1);
  if (temperature != 1) add("temperature", temperature);
  const std::int64_t top_k = search.integer("top_k").value_or(0);
  if (top_k > 0) to.generate.emplace_back("top-k", std::to_string(top_k));
  const double top_p = search.positive_or("top_p", 1);
  if (top_p < 1) add("top-p", top_p);
}

}  // namespace

GenaiFolder read_genai(const std::filesystem::path& folder, const LoadOptions& load) {
  const Config config = read_config(folder / genai_file, genai_file);
  const Config model = require_object(config, "model");
  for (const char* part : {"encoder", "embedding", "vision", "speech", "encoder_decoder_init"}) {
    model.require_absent(part);
  }
  const Config decoder = require_object(model, "decoder");
  for (const char* part : {"pipeline", "sliding_window"}) decoder.require_absent(part);
  GenaiFolder result{trainer::load_checked(file_of(folder, decoder), load), model};
  take_ports(decoder, load.limits, result.model.def.graph);
  const std::optional<Config> search = config.object("search");
  take_lengths(model, search, result);
  if (search) take_search(*search, result);
  return result;
}

}  // namespace ondine::hugging_face

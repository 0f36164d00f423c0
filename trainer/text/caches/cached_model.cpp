#include "trainer/text/caches/cached_model.h"

#include <algorithm>
#include <new>

#include "core/message.h"
#include "graph/contract/opsets.h"
#include "trainer/model/assemble.h"
#include "trainer/model/model_impl.h"
#include "trainer/text/caches/add_caches.h"
#include "trainer/text/caches/fresh_outputs.h"

namespace ondine::text {

using namespace graph;  // NOLINT

namespace {

// Tables of longer texts take too much memory: masks have that many rows and columns.
constexpr std::int64_t longest_table = 2048;
constexpr std::int64_t least_table = 32;
// Operators with the forms that are written here.
constexpr std::int64_t oldest_opset = 13;

void require_opsets(const ModelDef& def) {
  const auto version_of = [](const std::vector<OpsetImport>& imports) {
    return Opsets(imports).version("").value_or(0);
  };
  const std::int64_t version = version_of(def.opsets);
  if (version < oldest_opset) {
    fail(ErrorCode::unsupported, "it imports version ", version,
         " of ai.onnx, needed: ", oldest_opset);
  }
  for (const FunctionDef& function : def.functions) {
    if (version_of(function.opsets) != version) {
      fail(ErrorCode::unsupported, "function ", quoted(function.name),
           " imports another version of ai.onnx");
    }
  }
}

// The graph before operators are expanded.
Graph resolved(const ModelDef& def, const LoadOptions& options) {
  std::optional<Graph> found;
  trainer::assemble_plain(def, options, [&](Graph& graph) {
    if (!found) found = graph;
  });
  if (!found) fail(ErrorCode::unsupported, "it has no graph");
  return std::move(*found);
}

class Maker {
 public:
  Maker(const Model& model, const DecoderPorts& ports) : model_(model), ports_(ports) {}

  Model make(std::int64_t longest) {
    const auto& impl = ModelAccess::impl(model_);
    ModelDef def = impl.for_inference();
    require_opsets(def);
    if ((*ports_.ids.dims)[0] > 1 || (*ports_.ids.dims)[1] > 0) {
      fail(ErrorCode::unsupported, "it reads a fixed number of texts or tokens");
    }
    const Graph graph = resolved(def, impl.options);
    const TextInputs inputs = inputs_of(graph);
    const ValueId scores = require(graph, ports_.scores);
    LengthValues lengths(graph, inputs, longest, impl.options.limits);
    const CacheSites sites = find_cache_sites(graph, inputs, scores, lengths);
    if (sites.seen.empty()) fail(ErrorCode::unsupported, "no token sees another");
    def.graph =
        add_caches(graph, inputs, scores, ports_.scores, sites, lengths, trainer::all_operators());
    def.functions.clear();
    return remade(model_, std::move(def));
  }

 private:
  static ValueId require(const Graph& graph, const std::string& name) {
    const ValueId id = graph.find(name);
    if (id == no_value) fail(ErrorCode::unsupported, "its graph has no value ", quoted(name));
    return id;
  }

  TextInputs inputs_of(const Graph& graph) const {
    TextInputs inputs{.ids = require(graph, ports_.ids.name), .mask = {}, .positions = {}};
    if (ports_.mask) inputs.mask = require(graph, ports_.mask->name);
    if (ports_.positions) inputs.positions = require(graph, ports_.positions->name);
    const std::size_t count = 1 + (inputs.mask ? 1U : 0U) + (inputs.positions ? 1U : 0U);
    if (graph.inputs.size() != count) fail(ErrorCode::unsupported, "it has inputs with defaults");
    return inputs;
  }

  const Model& model_;
  const DecoderPorts& ports_;
};

}  // namespace

CachedModel make_cached_model(const Model& model, const DecoderPorts& ports, std::int64_t context) {
  CachedModel result;
  for (std::int64_t longest = std::min(context, longest_table);
       longest >= std::min(context, least_table); longest /= 2) {
    try {
      result.model = Maker(model, ports).make(longest);
      result.longest = longest;
      result.reason.clear();
      return result;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      result.reason = error.what();
      // Another one may come from the length: a model has positions for so many tokens.
      if (error.code() == ErrorCode::unsupported) return result;
    } catch (const std::bad_alloc&) {
      result.reason = "there is not enough memory for tables of its positions and masks";
    }
  }
  return result;
}

}  // namespace ondine::text

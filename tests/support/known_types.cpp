#include "tests/support/known_types.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/contract/clipped_dim.h"
#include "graph/contract/infer_node.h"
#include "graph/contract/signature.h"
#include "graph/evaluate/graph_runner.h"

namespace ondine::test {

using namespace graph;  // NOLINT

namespace {

constexpr std::int64_t small_size = 4096;  // elements of a case; larger ones are not repeated

Dim symbol_of(std::int64_t size) { return Dim::symbolic(static_cast<std::uint32_t>(size)); }

// The elements of a shape, of which every second one is unknown.
std::optional<Dims> some_elements(const Value& value) {
  if (!value.is_tensor() || value.tensor().dtype() != DType::int64) return std::nullopt;
  const Tensor& tensor = value.tensor();
  if (tensor.shape().rank() > 1 || tensor.size() == 0) return std::nullopt;
  Dims dims;
  for (const std::int64_t one : tensor.values<std::int64_t>()) {
    if (one < 0) return std::nullopt;
    dims.push_back(dims.size() % 2 == 0 ? Dim() : Dim(one));
  }
  return dims;
}

// Sizes in place of symbols.
Type with_sizes(Type type) {
  if (!type.dims) return type;
  for (Dim& dim : *type.dims) {
    if (const auto part = graph::clipped_dim(dim)) {
      dim = std::min(part->bound, static_cast<std::int64_t>(part->length.symbol()));
    }
    if (dim.is_symbolic()) dim = static_cast<std::int64_t>(dim.symbol());
  }
  return type;
}

Type known_type(Type type, Known known) {
  if (type.dims && known == Known::ranks) type.dims->assign(type.dims->size(), Dim());
  if (type.dims && known == Known::symbols) {
    for (Dim& dim : *type.dims) dim = symbol_of(dim.size());
  }
  if (known == Known::kinds) type.dims.reset();
  if (type.element) {
    type.element = known_type(*type.element, known);
  }
  return type;
}

bool is_small(const std::vector<Value>& values) {
  return std::all_of(values.begin(), values.end(), [](const Value& value) {
    return !value.is_tensor() || value.tensor().size() <= small_size;
  });
}

bool is_random(const OpCase& op_case) {
  const Signature* signature = find_signature(op_case.domain, op_case.op, op_case.version);
  return signature != nullptr && !signature->deterministic();
}

// Operators whose outputs have as many elements as their inputs' values say, or whose dims the
// contents of a map, a sequence, a subgraph or a file decide; and a cache of unknown length.
bool depends_on_contents(const OpCase& op_case) {
  static const std::set<std::string_view> operators{"CastMap",
                                                    "Compress",
                                                    "ConcatFromSequence",
                                                    "DictVectorizer",
                                                    "If",
                                                    "ImageDecoder",
                                                    "Loop",
                                                    "MultiHeadAttention",
                                                    "NonMaxSuppression",
                                                    "NonZero",
                                                    "OptionalGetElement",
                                                    "Scan",
                                                    "SequenceAt",
                                                    "SequenceMap",
                                                    "StringNormalizer",
                                                    "StringSplit",
                                                    "Unique"};
  return operators.contains(op_case.op);
}

// The case with every number and text among the attributes that it leaves to their default.
OpCase with_defaults(const OpCase& op_case) {
  OpCase result = op_case;
  const Signature* signature = find_signature(op_case.domain, op_case.op, op_case.version);
  if (signature == nullptr) return result;
  for (const AttributeSpec& one : signature->attributes()) {
    const std::string name(one.name);
    const std::string text(one.default_value);
    if (!one.has_default || find(op_case.attributes, name) != nullptr) continue;
    if (one.kind == AttributeKind::integer) {
      result.attributes.emplace_back(name, std::int64_t{std::stoll(text)});
    } else if (one.kind == AttributeKind::real) {
      result.attributes.emplace_back(name, std::stof(text));
    } else if (one.kind == AttributeKind::string) {
      result.attributes.emplace_back(name, text);
    }
  }
  return result;
}

void check_same(const OpCase& op_case, const std::vector<Value>& results,
                const std::vector<Value>& wanted) {
  if (is_random(op_case)) return;
  REQUIRE(results.size() == wanted.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    REQUIRE(results[i].kind() == wanted[i].kind());
    if (!results[i].is_tensor()) continue;
    const bool wide = wanted[i].tensor().dtype() == DType::float64;
    check_close(results[i].tensor(), wanted[i].tensor(),
                wide ? Closeness{1e-7, 1e-8} : Closeness{1e-5, 1e-6});
  }
}

void check_complete(const OpCase& op_case, const TypedRun& run) {
  if (depends_on_contents(op_case)) return;
  for (std::size_t i = 0; i < run.inferred.size(); ++i) {
    if (!run.results[i].is_tensor()) continue;
    CHECK(to_string(run.inferred[i]) == to_string(type_of(run.results[i])));
  }
}

}  // namespace

TypedRun run_known(const OpCase& op_case, std::int64_t version, Known known) {
  Graph graph;
  Builder builder(graph, catalogue());
  std::vector<Val> inputs;
  std::vector<Value> fed;
  for (const Value& value : op_case.inputs) {
    if (value.kind() == Value::Kind::none) {
      inputs.emplace_back();
      continue;
    }
    const ValueId id = graph.add_temporary("x", known_type(type_of(value), known));
    if (known == Known::values && value.is_tensor()) graph[id].constant = value.tensor();
    if (known == Known::parts) graph[id].known_dims = some_elements(value);
    graph.inputs.push_back(id);
    inputs.push_back(builder.value(id));
    fed.push_back(value);
  }
  const auto outputs = builder.nodes(op_case.op, inputs, op_case.attributes, op_case.outputs,
                                     op_case.domain, version);
  for (const Val output : outputs) graph.outputs.push_back(output.id());
  // Operators without a kernel run through their expansion.
  Graph runnable = graph;
  runnable.nodes.clear();
  Builder expander(runnable, catalogue());
  expander.set_expand([](const Node& node) { return node.op->bind == nullptr; });
  for (const Node& node : graph.nodes) expander.append(node);
  TypedRun run{evaluate(runnable, fed), {}};
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    const Type& inferred = outputs[i].type();
    INFO(op_case.op << " output " << i << " inferred as " << to_string(inferred));
    CHECK(compatible(known == Known::symbols ? with_sizes(inferred) : inferred,
                     type_of(run.results[i])));
    run.inferred.push_back(inferred);
  }
  return run;
}

void check_knowledge(const OpCase& op_case, const TypedRun& run) {
  if (!is_small(op_case.inputs) || !is_small(run.results)) return;
  {
    INFO(op_case.op << ", every value known");
    const TypedRun known = run_known(op_case, op_case.version, Known::values);
    check_same(op_case, known.results, run.results);
    check_complete(op_case, known);
  }
  const OpCase explicit_case = with_defaults(op_case);
  if (explicit_case.attributes.size() > op_case.attributes.size()) {
    INFO(op_case.op << " with its default attributes written out");
    check_same(op_case, run_known(explicit_case, op_case.version, Known::shapes).results,
               run.results);
  }
  // Operators of this library come from graphs that are known.
  if (op_case.domain == "ai.ondine") return;
  static const std::vector<std::pair<Known, const char*>> parts{
      {Known::parts, ", some elements known"},
      {Known::symbols, ", equal dims known"},
      {Known::ranks, ", ranks known"},
      {Known::kinds, ", kinds known"}};
  const bool is_partly_known =
      std::any_of(op_case.inputs.begin(), op_case.inputs.end(), some_elements);
  for (const auto& [known, what] : parts) {
    if (known == Known::parts && !is_partly_known) continue;
    INFO(op_case.op << what);
    try {
      check_same(op_case, run_known(op_case, op_case.version, known).results, run.results);
    } catch (const Error& error) {
      INFO(error.what());
      CHECK(error.code() == ErrorCode::unsupported);
      CHECK_THAT(error.what(), Catch::Contains("known") || Catch::Contains("does not follow"));
    }
  }
}

}  // namespace ondine::test

// Parts of a tensor that PyTorch's exporter writes as elements of a sequence.
#include <catch2/catch.hpp>

#include "kernels/catalogue.h"
#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

struct Form {
  Tensor split = Tensor::scalar<std::int64_t>(4);  // undefined: left out
  std::int64_t keepdims = 1;
  std::vector<std::int64_t> read = {0, 1, -1};
  std::int64_t axis = -1;
  bool length = false;  // of the sequence is read, too
  bool returned = false;
};

// The types of what is read after the pass, and whether a sequence is left. x is [N, 10].
struct Result {
  std::vector<Dims> dims;
  bool has_sequence;
};
Result resolved(const Form& form) {
  static const Catalogue catalogue = kernels::catalogue();
  Graph graph;
  graph.symbols = std::make_shared<Symbols>();
  const Dim n = graph.symbols->get("N");
  const ValueId x = graph.add_value("x", Type::tensor(DType::float32, Dims{n, 10}));
  graph.inputs = {x};
  Builder b(graph, catalogue);
  const Val split = form.split.defined() ? b.constant(form.split) : Val();
  const Val sequence = b.node("SplitToSequence", {b.value(x), split},
                              {{"axis", form.axis}, {"keepdims", form.keepdims}});
  for (const std::int64_t at : form.read) {
    graph.outputs.push_back(b.node("SequenceAt", {sequence, b.int64(at)}).id());
  }
  const std::size_t read = graph.outputs.size();
  if (form.length) graph.outputs.push_back(b.node("SequenceLength", {sequence}).id());
  if (form.returned) graph.outputs.push_back(sequence.id());
  PassContext context;
  context.catalogue = &catalogue;
  run_passes(graph, context, std::array{resolve_sequences});
  Result result;
  for (std::size_t i = 0; i < read; ++i) {
    const Type& type = graph[graph.outputs[i]].type;
    result.dims.push_back(type.ranked() ? *type.dims : Dims{});
  }
  result.has_sequence = std::ranges::any_of(
      graph.nodes, [](const Node& node) { return node.op->name == "SplitToSequence"; });
  return result;
}

}  // namespace

TEST_CASE("parts of a sequence at constant positions are those of a Split, with known sizes") {
  const Dim n = Dim::symbolic(0);
  const Result equal = resolved({});
  CHECK_FALSE(equal.has_sequence);
  CHECK(equal.dims == std::vector<Dims>{{n, 4}, {n, 4}, {n, 2}});
  const Result listed = resolved({.split = Tensor::of<std::int64_t>({2}, {3, 7}), .read = {1}});
  CHECK_FALSE(listed.has_sequence);
  CHECK(listed.dims == std::vector<Dims>{{n, 7}});
  const Result single = resolved({.split = {}, .read = {9}});
  CHECK_FALSE(single.has_sequence);
  CHECK(single.dims == std::vector<Dims>{{n, 1}});
}

TEST_CASE("a sequence stays whose parts are not known, or that something else reads") {
  CHECK(resolved({.axis = 0}).has_sequence);
  CHECK(resolved({.read = {0, 3}}).has_sequence);
  CHECK(resolved({.read = {-4}}).has_sequence);
  CHECK(resolved({.read = {0, 0}}).has_sequence);
  CHECK(resolved({.length = true}).has_sequence);
  CHECK(resolved({.returned = true}).has_sequence);
  CHECK(resolved({.split = {}, .keepdims = 0, .read = {0}}).has_sequence);
  CHECK(resolved({.split = Tensor::of<std::int64_t>({2}, {3, 8}), .read = {1}}).has_sequence);
  CHECK(resolved({.split = Tensor::of<std::int64_t>({2}, {-1, 11}), .read = {1}}).has_sequence);
  CHECK(resolved({.split = Tensor::scalar<std::int64_t>(0), .read = {0}}).has_sequence);
}

}  // namespace ondine::test

// Fingerprints against the hash of a byte string that is written out.
#include "graph/ir/fingerprint.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <functional>

#include "tests/support/models.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

const std::set<std::string, std::less<>> variables{"w", "v"};

class Bytes {
 public:
  Bytes& n(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) text_ += static_cast<char>(value >> shift);
    return *this;
  }
  Bytes& t(const std::string& text) {
    n(text.size());
    text_ += text;
    return *this;
  }
  Bytes& floats(std::initializer_list<float> values) {
    for (const float value : values) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      for (int shift = 0; shift < 32; shift += 8) text_ += static_cast<char>(bits >> shift);
    }
    return *this;
  }
  // A list of texts.
  Bytes& list(const std::vector<std::string>& texts) {
    n(texts.size());
    for (const std::string& one : texts) t(one);
    return *this;
  }
  // Name and type of a tensor of floats with the dims [N, 2].
  Bytes& port(const std::string& name) {
    return t(name)
        .n(std::uint64_t(TypeKind::tensor))
        .n(1)
        .n(1)
        .n(2)
        .n(DimDef(DimName("N")).index())
        .t("N")
        .n(DimDef(std::int64_t{2}).index())
        .n(2)
        .n(0);
  }
  Sha256Digest hash() const { return sha256(std::as_bytes(std::span(text_))); }

 private:
  std::string text_;
};

ValueDef port(const std::string& name) {
  return tensor_value(name, DType::float32, {DimDef(DimName("N")), DimDef(std::int64_t{2})});
}

ModelDef model() {
  ModelDef result;
  result.ir_version = 10;
  result.opsets = {{"", 18}, {"own", 3}};
  GraphDef& graph = result.graph;
  graph.name = "main";
  graph.inputs = {port("x")};
  graph.outputs = {port("y")};
  graph.nodes = {node("LeakyRelu", {"x"}, {"h"}, {{"alpha", 0.25F}}),
                 node("act", {"h", "", "w"}, {"y"},
                      {{"to", std::int64_t{7}}, {"by", std::string("hand")}}, "own")};
  graph.nodes[1].overload = "second";
  graph.initializers = {{"w", Tensor::of<float>({2}, {1, 2}), "", {}},
                        {"c", Tensor::of<float>({2}, {3, 4}), "", {}}};
  graph.sparse_initializers = {
      {"s", Tensor::of<float>({1}, {5}), Tensor::of<std::int64_t>({1}, {6}), Shape{9}},
      {"v", Tensor::of<float>({1}, {7}), Tensor::of<std::int64_t>({1}, {8}), Shape{9}}};
  FunctionDef& function = result.functions.emplace_back();
  function.name = "act";
  function.domain = "own";
  function.overload = "second";
  function.inputs = {"a", "b", "c"};
  function.outputs = {"d"};
  function.attributes = {"to"};
  function.defaults = {{"by", std::string("none")}};
  function.nodes = {node("Add", {"a", "c"}, {"d"})};
  function.opsets = {{"", 17}};
  TrainingInfoDef& training = result.training.emplace_back();
  training.algorithm.emplace();
  training.algorithm->name = "step";
  training.algorithm->initializers = {{"k", Tensor::of<float>({1}, {0.5F}), "", {}}};
  training.initialization_binding = {{"w", "start"}};
  training.update_binding = {{"w", "next"}, {"v", "other"}};
  return result;
}

// Empty lists of ports, nodes and initializers.
void put_nothing(Bytes& bytes, int lists) {
  for (int i = 0; i < lists; ++i) bytes.n(0);
}

Sha256Digest written_out() {
  const auto kind = [](AttributeKind one) { return std::uint64_t(one); };
  Bytes bytes;
  bytes.t("ondine model 1").n(2).t("").n(18).t("own").n(3);
  bytes.n(1).port("x").n(1).port("y");
  bytes.n(2);
  bytes.t("LeakyRelu").t("").t("").list({"x"}).list({"h"});
  bytes.n(1).t("alpha").t("").n(kind(AttributeKind::real)).n(std::bit_cast<std::uint32_t>(0.25F));
  bytes.t("act").t("own").t("second").list({"h", "", "w"}).list({"y"});
  bytes.n(2).t("by").t("").n(kind(AttributeKind::string)).t("hand");
  bytes.t("to").t("").n(kind(AttributeKind::integer)).n(7);
  // Initializers are ordered by name; a variable counts by element type and dims alone.
  bytes.n(2).t("c").n(1).n(1).n(2).floats({3, 4});
  bytes.t("w").n(1).n(1).n(2);
  bytes.n(2).t("s").n(1).n(1).n(1).floats({5}).n(7).n(1).n(1).n(6).n(1).n(9);
  bytes.t("v").n(1).n(1).n(9);
  bytes.n(1).t("act").t("own").t("second").list({"a", "b", "c"}).list({"d"}).list({"to"});
  bytes.n(1).t("by").t("").n(kind(AttributeKind::string)).t("none");
  bytes.n(1).t("Add").t("").t("").list({"a", "c"}).list({"d"}).n(0);
  bytes.n(1).t("").n(17);
  bytes.n(1).n(0).n(1);  // no initialization, an algorithm
  put_nothing(bytes, 3);
  bytes.n(1).t("k").n(1).n(1).n(1).floats({0.5F});
  put_nothing(bytes, 1);
  bytes.n(1).t("w").t("start").n(2).t("w").t("next").t("v").t("other");
  return bytes.hash();
}

}  // namespace

TEST_CASE("a fingerprint is the hash of all that determines what a model computes") {
  CHECK(fingerprint(model(), variables) == written_out());
  CHECK(fingerprint_bytes(model(), variables) == 8 + 4 + 8 + 4);
}

TEST_CASE("a fingerprint ignores texts, variables and the order of what has names") {
  const std::vector<std::function<void(ModelDef&)>> changes{
      [](ModelDef& def) { def.producer_name = "other"; },
      [](ModelDef& def) {
        def.metadata = {{"key", "value"}};
      },
      [](ModelDef& def) { def.graph.doc = "of the graph"; },
      [](ModelDef& def) { def.graph.nodes[0].name = "named"; },
      [](ModelDef& def) { def.graph.nodes[0].domain = "ai.onnx"; },
      [](ModelDef& def) { def.opsets[0].domain = "ai.onnx"; },
      [](ModelDef& def) {
        def.graph.initializers[0].value = Tensor::of<float>({2}, {-1, -2});
      },
      [](ModelDef& def) { def.graph.sparse_initializers[1].values = Tensor::of<float>({1}, {0}); },
      [](ModelDef& def) { std::ranges::reverse(def.graph.initializers); },
      [](ModelDef& def) { std::ranges::reverse(def.graph.sparse_initializers); },
      [](ModelDef& def) { std::ranges::reverse(def.graph.nodes[1].attributes); }};
  for (const auto& change : changes) {
    ModelDef def = model();
    change(def);
    CHECK(fingerprint(def, variables) == fingerprint(model(), variables));
  }
}

#include "graph/contract/signature.h"

#include <catch2/catch.hpp>
#include <set>

namespace ondine::graph {
namespace {

const Signature& get(std::string_view domain, std::string_view name, std::int64_t version) {
  const Signature* found = find_signature(domain, name, version);
  REQUIRE(found != nullptr);
  return *found;
}

TEST_CASE("the table has every version of every operator of the standard") {
  CHECK(all_signatures().size() == 659);
  std::size_t of_onnx = 0;
  std::size_t deprecated = 0;
  std::set<std::string_view> names;
  for (const auto& row : all_signatures()) {
    if (row.domain().empty()) ++of_onnx;
    if (row.deprecated()) ++deprecated;
    names.insert(row.name);
    CHECK(find_signature(row.domain(), row.name, row.since_version) == &row);
  }
  CHECK(of_onnx == 629);
  CHECK(deprecated == 5);
  CHECK(names.contains("FlexAttention"));
}

TEST_CASE("the newest versions of the standard's domains are known, others are 0") {
  CHECK(newest_version("") == 28);
  CHECK(newest_version("ai.onnx") == 28);
  CHECK(newest_version("ai.onnx.ml") == 5);
  CHECK(newest_version("ai.onnx.preview") == 1);
  CHECK(newest_version("ai.onnx.preview.training") == 1);
  CHECK(newest_version("com.example") == 0);
}

TEST_CASE("a signature is the newest one that is not newer than the version asked for") {
  CHECK(get("", "Relu", 1).since_version == 1);
  CHECK(get("", "Relu", 5).since_version == 1);
  CHECK(get("", "Relu", 6).since_version == 6);
  CHECK(get("ai.onnx", "Relu", 28).since_version == 14);
  CHECK(find_signature("", "Celu", 11) == nullptr);
  CHECK(find_signature("", "Rel", 28) == nullptr);
  CHECK(find_signature("", "Zzz", 28) == nullptr);
  CHECK(find_signature("", "", 28) == nullptr);
  CHECK(find_signature("ai.onnx.ml", "Relu", 5) == nullptr);
  CHECK(get("", "Upsample", 13).deprecated());
  CHECK_FALSE(get("", "Upsample", 9).deprecated());
}

TEST_CASE("a signature tells inputs, outputs, attributes and types as the standard does") {
  const Signature& clip = get("", "Clip", 13);
  REQUIRE(clip.inputs().size() == 3);
  CHECK(clip.inputs()[0].name == "input");
  CHECK(clip.inputs()[0].option == Option::single);
  CHECK(clip.inputs()[0].differentiation == Differentiation::differentiable);
  CHECK(clip.inputs()[1].name == "min");
  CHECK(clip.inputs()[1].option == Option::optional);
  CHECK(clip.outputs().size() == 1);
  CHECK(clip.attributes().empty());
  CHECK(clip.is_function());
  CHECK(clip.deterministic());

  const Signature& concat = get("", "Concat", 13);
  REQUIRE(concat.inputs().size() == 1);
  CHECK(concat.inputs()[0].option == Option::variadic);
  CHECK(concat.inputs()[0].min_arity == 1);
  CHECK(concat.inputs()[0].homogeneous);
  REQUIRE(concat.attribute("axis") != nullptr);
  CHECK(concat.attribute("axis")->required);
  CHECK(concat.attribute("axis")->kind == AttributeKind::integer);
  CHECK(concat.attribute("axes") == nullptr);

  const Signature& loop = get("", "Loop", 13);
  CHECK_FALSE(loop.inputs()[2].homogeneous);
  CHECK(loop.inputs()[2].min_arity == 0);
  CHECK(loop.attribute("body")->kind == AttributeKind::graph);

  const Signature& gemm = get("", "Gemm", 13);
  REQUIRE(gemm.attribute("alpha") != nullptr);
  CHECK(gemm.attribute("alpha")->has_default);
  CHECK(gemm.attribute("alpha")->default_value == "1");
  CHECK(get("", "Conv", 11).attribute("auto_pad")->default_value == "NOTSET");
  CHECK_FALSE(get("", "Dropout", 13).deterministic());
}

TEST_CASE("a type set holds what its constraint names") {
  const Signature& relu = get("", "Relu", 13);
  const TypeSet& floats = relu.constraints()[relu.inputs()[0].constraint].types();
  CHECK(floats.contains(Type::tensor(DType::float32)));
  CHECK(floats.contains(Type::tensor(DType::bfloat16)));
  CHECK_FALSE(floats.contains(Type::tensor(DType::int32)));
  CHECK(floats.contains({}));
  CHECK_FALSE(floats.contains(Type::sequence(Type::tensor(DType::float32))));
  CHECK(to_string(floats) == "tensor(float), tensor(float16), tensor(double), tensor(bfloat16)");

  const Signature& at = get("", "SequenceAt", 11);
  const TypeSet& sequences = at.constraints()[at.inputs()[0].constraint].types();
  CHECK(sequences.contains(Type::sequence(Type::tensor(DType::string))));
  CHECK_FALSE(sequences.contains(Type::tensor(DType::string)));

  const Signature& zip = get("ai.onnx.ml", "ZipMap", 1);
  const TypeSet& maps = zip.constraints()[zip.outputs()[0].constraint].types();
  const Type map = Type::map(DType::int64, Type::tensor(DType::float32));
  CHECK(maps.contains(Type::sequence(map)));
  CHECK_FALSE(maps.contains(map));
  CHECK_FALSE(maps.contains(Type::sequence(Type::map(DType::int64, Type::tensor(DType::int64)))));

  const Signature& get_element = get("", "OptionalGetElement", 15);
  const TypeSet& optionals = get_element.constraints()[get_element.inputs()[0].constraint].types();
  CHECK(optionals.contains(Type::optional(Type::tensor(DType::float32))));
  CHECK(optionals.contains(Type::optional(Type::sequence(Type::tensor(DType::int8)))));
}

}  // namespace
}  // namespace ondine::graph

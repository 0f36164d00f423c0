#include <catch2/catch.hpp>

#include <fstream>

#include <ondine/error.h>

#include "proto/import_operator_set.h"
#include "proto/recognize.h"
#include "tests/proto/operator_sets.h"
#include "tests/support/models.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using test::Wire;

namespace {

graph::OperatorSetDef load(const Wire& wire, const Limits& limits = {},
                           const ExternalDataReader& external = {}) {
  LeftOut left_out;
  graph::OperatorSetDef set = load_operator_set(wire.bytes(), limits, external, left_out);
  if (!left_out.errors.empty()) throw left_out.errors[0];
  return set;
}

void refuse(const Wire& wire, ErrorCode code, const std::string& text, const Limits& limits = {}) {
  try {
    load(wire, limits);
    FAIL_CHECK("was read: " << text);
  } catch (const Error& error) {
    CHECK(error.code() == code);
    CHECK_THAT(error.what(), Catch::Contains(text));
  }
}

}  // namespace

TEST_CASE("an operator set has header, operators and functions") {
  Wire wire = test::sample_set();
  wire.block(3, "rc1").block(6, "of the set").block(7, "b12");
  wire.message(8, test::wire_operator("Fold", 2).block(10, "folds"));
  wire.message(8, Wire().block(1, "Bend").number(2, 3).number(3, 0));
  const graph::OperatorSetDef set = load(wire);
  CHECK(set.magic == "ONNXOPSET");
  CHECK(set.ir_version == 10);
  CHECK(set.ir_prerelease == "rc1");
  CHECK(set.ir_build_metadata == "b12");
  CHECK(set.domain == "org.example");
  CHECK(set.version == 3);
  CHECK(set.doc == "of the set");
  REQUIRE(set.operators.size() == 2);
  CHECK(set.operators[0].name == "Fold");
  CHECK(set.operators[0].since_version == 2);
  CHECK(set.operators[0].stable);
  CHECK(set.operators[0].doc == "folds");
  CHECK_FALSE(set.operators[1].stable);
  REQUIRE(set.functions.size() == 3);
  CHECK(set.functions[1].name == "quadruple");
  CHECK(set.functions[1].opsets.size() == 2);
  CHECK(set.functions[2].defaults.size() == 1);
  CHECK(load(test::wire_set("ai.onnx", 7, {})).domain.empty());
}

TEST_CASE("tensors in the functions of an operator set may be external") {
  const auto entry = [](const char* key, const char* value) {
    return Wire().block(1, key).block(2, value);
  };
  Wire tensor = Wire().number(1, 2).number(2, 1).message(13, entry("location", "w.bin"));
  tensor.message(13, entry("length", "8")).number(14, 1);
  Wire constant = test::wire_node("Constant", {}, {"y"});
  constant.message(5, Wire().block(1, "value").message(5, tensor).number(20, 4));
  const Wire wire = test::wire_set(
      "org.example", 1, {test::wire_function("c", "org.example", {}, {"y"}, {constant})});
  const Tensor stored = Tensor::of<float>({2}, {1.5F, -4});
  const auto reader = [&](const ExternalDataRequest& request) {
    CHECK(request.location == "w.bin");
    CHECK(request.offset == 0);
    CHECK(request.length == 8);
    const auto* bytes = static_cast<const std::byte*>(stored.data());
    return std::vector<std::byte>(bytes, bytes + 8);
  };
  const graph::OperatorSetDef set = load(wire, {}, reader);
  const Tensor& value = *tensor_of(set.functions[0].nodes[0].attributes[0]);
  CHECK(value.values<float>()[1] == -4);
  refuse(wire, ErrorCode::invalid_model, "function 'c'");
  // Beside a file they are in files, which are told to the caller.
  const test::TemporaryFolder folder;
  const auto write = [&](const char* name, std::string_view bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
  };
  write("set.onnx", wire.text());
  write("w.bin", {static_cast<const char*>(stored.data()), 8});
  LeftOut left_out;
  const graph::OperatorSetDef read = load_operator_set(folder / "set.onnx", {}, left_out);
  CHECK(tensor_of(read.functions[0].nodes[0].attributes[0])->values<float>()[1] == -4);
  CHECK(left_out.files.size() == 1);
}

TEST_CASE("an operator set that ends anywhere is read or refused") {
  const std::string whole = test::sample_set().text();
  std::size_t complete = 0;
  for (std::size_t size = 1; size < whole.size(); ++size) {
    INFO(size);
    try {
      load(Wire().raw(whole.substr(0, size)));
      ++complete;
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_model);
      CHECK_THAT(error.what(), Catch::StartsWith("not an ONNX operator set"));
    }
  }
  // After magic, ir_version, domain, opset_version and two functions.
  CHECK(complete == 6);
}

TEST_CASE("operator sets are read within the limits of models") {
  const Wire set = test::sample_set();
  Limits limits;
  limits.functions = 2;
  refuse(set, ErrorCode::limit, "has 3 functions, more than 2", limits);
  limits = {};
  limits.model_bytes = 100;
  refuse(set, ErrorCode::limit, "the operator set has", limits);
  limits = {};
  limits.name_length = 8;
  refuse(set, ErrorCode::limit, "OperatorSetProto.magic has 9 bytes", limits);
  limits = {};
  limits.message_depth = 2;
  refuse(set, ErrorCode::limit, "nested deeper than 2", limits);
  limits = {};
  limits.parse_bytes = 1000;
  refuse(set, ErrorCode::limit, "decoding would take more than 1000 bytes", limits);
  // Five million empty functions.
  Wire empty = test::wire_set("org.example", 1, {});
  std::string functions(10'000'000, '\0');
  for (std::size_t i = 0; i < functions.size(); i += 2) functions[i] = '\x4a';
  refuse(empty.raw(functions), ErrorCode::limit, "nearly empty");
}

TEST_CASE("invalid functions of an operator set are left out and named") {
  Wire set = test::sample_set();
  Wire broken = test::wire_node("Constant", {}, {"y"});
  broken.message(5, Wire().block(1, "value").number(20, 4));
  set.message(9, test::wire_function("broken", "org.example", {}, {"y"}, {broken}));
  LeftOut left_out;
  const auto read = load_operator_set(set.bytes(), {}, {}, left_out);
  REQUIRE(left_out.errors.size() == 1);
  CHECK_THAT(left_out.errors[0].what(), Catch::Contains("function 'broken'"));
  CHECK(left_out.names == std::vector<std::string>{"value"});
  CHECK(read.functions.size() == 4);
}

TEST_CASE("what is no operator set is called what it is") {
  const auto model = test::encode(test::linear_regression(0.1F));
  const std::string text(reinterpret_cast<const char*>(model.data()), model.size());
  refuse(Wire().raw(text), ErrorCode::invalid_model, "not an ONNX operator set but an ONNX model");
  refuse(Wire().raw("PK\x03\x04 and so on"), ErrorCode::invalid_model, "but a zip archive");
  refuse(Wire().raw("{\"magic\": 1}"), ErrorCode::invalid_model, "but a JSON text");
  refuse(Wire(), ErrorCode::invalid_model, "there are no bytes");
  refuse(test::wire_set("d", 1, {}).message(8, Wire().block(1, "F").number(3, 2)),
         ErrorCode::invalid_model, "OperatorProto.status has the unknown value 2");
}

TEST_CASE("operator sets are recognized, also damaged or with another magic") {
  const std::string whole = test::sample_set().text();
  const auto recognized = [](const std::string& bytes) {
    return is_operator_set(std::as_bytes(std::span(bytes)));
  };
  CHECK(recognized(whole));
  CHECK(recognized(whole.substr(0, 60)));
  CHECK(recognized(Wire().block(4, "d").number(5, 1).block(1, "ONNXOPSET").text()));
  CHECK(recognized(Wire().block(1, "onnx").number(2, 8).block(4, "d").number(5, 1).text()));
  CHECK(recognized(Wire().number(2, 8).block(4, "d").number(5, 1).text()));
  CHECK_FALSE(recognized(Wire().number(1, 2).number(2, 1).block(8, "w").block(9, "1234").text()));
  const auto model = test::encode(test::linear_regression(0.1F));
  CHECK_FALSE(is_operator_set(model));
  CHECK(is_model(model));
  CHECK_FALSE(is_model(test::sample_set().bytes()));
  CHECK(std::string(other_format(std::as_bytes(std::span(whole)))) == "an OperatorSetProto");
}

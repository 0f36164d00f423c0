// Checkpoints that onnxruntime-training 1.19 wrote (tools/dev/check_import_ort.py --fixture), and
// damaged ones.
#include "trainer/import_ort/checkpoint.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include <ondine/error.h>

#include "tests/support/paths.h"
#include "tests/trainer/import_ort/flat_writer.h"

using namespace ondine;
using trainer::OrtCheckpoint;

namespace {

using Bytes = std::vector<std::byte>;

const std::filesystem::path files = test::source_folder() / "tests/trainer/import_ort/data";

Bytes bytes_of(const std::string& name) {
  std::ifstream stream(files / name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  REQUIRE_FALSE(text.empty());
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

OrtCheckpoint read(const Bytes& bytes) { return trainer::read_ort_checkpoint(bytes, {}); }

std::string message_of(const Bytes& bytes, const Limits& limits = {}) {
  try {
    trainer::read_ort_checkpoint(bytes, limits);
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return {};
}

std::vector<std::string> names_of(const std::vector<std::pair<std::string, Tensor>>& parameters) {
  std::vector<std::string> names;
  for (const auto& [name, value] : parameters) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

// A checkpoint whose one optimizer state has `count` moments that are one tensor of `count` bytes.
Bytes shared_moments(std::uint32_t count) {
  test::FlatWriter out("ODTC");
  using Out = test::FlatWriter;
  const auto link = [&](std::size_t table, std::size_t field, std::size_t target) {
    out.refer(Out::field(table, field), target);
  };
  const auto one = [&](std::size_t table, std::size_t field, std::vector<std::size_t> fields) {
    const std::size_t vector = out.references(1);
    link(table, field, vector);
    const std::size_t made = out.table(std::move(fields));
    out.refer(vector + 4, made);
    return made;
  };
  const std::size_t root = out.table({0, 2});
  out.refer(0, root);
  out.set(Out::field(root, 0), std::int32_t{2});
  const std::size_t group = one(root, 2, {3});
  const std::size_t state = one(group, 3, {1});
  const std::size_t moments = out.references(count);
  link(state, 1, moments);
  const std::size_t tensor = out.table({2, 3, 4});
  for (std::size_t i = 0; i < count; ++i) out.refer(moments + 4 + 4 * i, tensor);
  out.set(Out::field(tensor, 3), static_cast<std::int32_t>(DType::uint8));
  link(tensor, 2, out.end());
  out.number(std::uint32_t{1});
  out.number(std::int64_t{count});
  link(tensor, 4, out.end());
  out.number(count);
  for (std::uint32_t i = 0; i < count; ++i) out.number(std::uint8_t{7});
  return out.bytes();
}

}  // namespace

TEST_CASE("a checkpoint of onnxruntime-training before the first step has parameters only") {
  const OrtCheckpoint found = read(bytes_of("checkpoint"));
  CHECK(names_of(found.trained) ==
        std::vector<std::string>{"fc1.weight", "fc2.bias", "fc2.weight"});
  CHECK(names_of(found.frozen) == std::vector<std::string>{"fc1.bias"});
  CHECK(found.frozen[0].second.shape() == Shape{4});
  CHECK_FALSE(found.optimizer.has_value());
  CHECK(found.properties.empty());
}

TEST_CASE("a checkpoint of onnxruntime-training has moments, step, rate and properties") {
  const OrtCheckpoint found = read(bytes_of("saved"));
  REQUIRE(found.optimizer.has_value());
  CHECK(found.optimizer->step == 2);
  CHECK(found.optimizer->learning_rate == 0.001F);
  REQUIRE(found.optimizer->moments.size() == 3);
  for (const auto& [name, value] : found.trained) {
    CAPTURE(name);
    const auto& moments = found.optimizer->moments.at(name);
    REQUIRE(moments.size() == 2);
    CHECK(moments[0].shape() == value.shape());
    CHECK(moments[1].dtype() == DType::float32);
    // Squares are not negative, means of both signs.
    for (const float square : moments[1].values<float>()) CHECK(square >= 0);
  }
  const std::vector<std::pair<std::string, std::string>> expected{
      {"epoch", "3"}, {"best", "0.1"}, {"tag", "two steps"}};
  CHECK(found.properties == expected);
}

TEST_CASE("a truncated checkpoint of onnxruntime-training is corrupt, wherever it ends") {
  for (const char* name : {"checkpoint", "saved"}) {
    const Bytes whole = bytes_of(name);
    REQUIRE(message_of(whole).empty());
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(name, size);
      const std::string message = message_of(Bytes(whole.begin(), whole.begin() + size));
      // The last bytes are the end of a text and padding, which no object needs.
      if (size + 8 < whole.size()) CHECK_THAT(message, Catch::StartsWith("corrupt: "));
    }
  }
}

TEST_CASE("a checkpoint of onnxruntime-training with any byte changed is read or refused") {
  const Bytes whole = bytes_of("saved");
  std::size_t refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      Bytes changed = whole;
      changed[i] = static_cast<std::byte>(value);
      refused += message_of(changed).empty() ? 0 : 1;
    }
  }
  CHECK(refused > whole.size() / 4);
}

TEST_CASE("references to one tensor do not multiply what a checkpoint holds") {
  const OrtCheckpoint found = read(shared_moments(2));
  REQUIRE(found.optimizer.has_value());
  CHECK(found.optimizer->moments.at("").size() == 2);
  CHECK_THAT(message_of(shared_moments(5000)), Catch::Contains("the same bytes too often"));
}

TEST_CASE("limits, versions and identifiers of checkpoints are checked") {
  const Bytes whole = bytes_of("saved");
  Limits limits;
  limits.tensor_bytes = 10;
  CHECK_THAT(message_of(whole, limits), Catch::StartsWith("limit: ") && Catch::Contains("fc"));
  limits = {};
  limits.rank = 1;
  CHECK_THAT(message_of(whole, limits), Catch::Contains("rank 2, the limit is 1"));
  limits = {};
  limits.name_length = 4;
  CHECK_THAT(message_of(whole, limits), Catch::Contains("name of"));
  Bytes other = whole;
  other[5] = std::byte{'x'};
  CHECK_THAT(message_of(other), Catch::Contains("identifier 'ODTC'"));
  test::FlatWriter future("ODTC");
  const std::size_t root = future.table({0});
  future.refer(0, root);
  future.set(test::FlatWriter::field(root, 0), std::int32_t{9});
  CHECK_THAT(message_of(future.bytes()),
             Catch::StartsWith("unsupported: ") && Catch::Contains("version 9"));
  CHECK_THROWS_WITH(trainer::load_ort_checkpoint(files, {}), Catch::Contains("is a folder"));
  CHECK_THROWS_WITH(trainer::load_ort_checkpoint(files / "absent", {}), Catch::Contains("absent"));
}

TEST_CASE("nominal checkpoints and those with external data are refused by name") {
  for (const std::size_t flag : {std::size_t{2}, std::size_t{3}}) {
    test::FlatWriter out("ODTC");
    const std::size_t root = out.table({0, 1});
    out.refer(0, root);
    out.set(test::FlatWriter::field(root, 0), std::int32_t{2});
    const std::size_t table = out.table({flag});
    out.refer(test::FlatWriter::field(root, 1), table);
    out.set(test::FlatWriter::field(table, flag), std::uint8_t{1});
    CHECK_THAT(message_of(out.bytes()),
               Catch::Contains(flag == 2 ? "nominal checkpoint" : "separate file"));
  }
}

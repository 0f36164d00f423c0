#include "checkpoints/safetensors.h"

#include <catch2/catch.hpp>

#include <random>

#include "checkpoints/safetensors_header.h"
#include "core/digest.h"
#include "tests/checkpoints/sample.h"

using namespace ondine;
using namespace ondine::test;

namespace {

std::string file(const std::string& header, const std::string& elements) {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i));
  return length + header + elements;
}

Safetensors read(std::string_view bytes, const Limits& limits = {}) {
  MemorySource source(bytes_of(bytes));
  return read_safetensors(source, limits);
}

std::string written(const Safetensors& content) {
  MemorySink sink;
  write_safetensors(content, sink);
  return {reinterpret_cast<const char*>(sink.bytes().data()), sink.bytes().size()};
}

// "corrupt: message", or "" when it reads.
std::string outcome(std::string_view bytes, const Limits& limits = {}) {
  try {
    read(bytes, limits);
    return "";
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
}

const std::string one = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
const std::string eight(8, 'x');

}  // namespace

TEST_CASE("safetensors are written as the format's description has it") {
  const Safetensors content{
      {{"b", Tensor::scalar<std::uint8_t>(7)}, {"a", Tensor::of<float>({2, 1}, {1.0F, 2.0F})}},
      {{"format", "pt"}}};
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"data_offsets":[0,8],"dtype":"F32","shape":[2,1]},)"
      R"("b":{"data_offsets":[8,9],"dtype":"U8","shape":[]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  const std::string elements("\0\0\x80\x3f\0\0\0\x40\x07", 9);
  CHECK(written(content) == file(header + padding, elements));
}

TEST_CASE("safetensors of every dtype that the format has come back bit for bit") {
  Safetensors content;
  content.metadata = {{"note", "\"quoted\"\n\xc3\xa9"}, {"", ""}};
  for (const auto& [name, role, value] : variables_of_every_dtype()) {
    if (!safetensors_name(value.dtype()).empty()) content.tensors.push_back({name, value});
  }
  REQUIRE(content.tensors.size() >= 20);
  const TemporaryFolder folder;
  PosixFileSystem files;
  save_safetensors(files, folder / "w.safetensors", content);
  const Safetensors back = load_safetensors(files, folder / "w.safetensors");
  CHECK(back.metadata == content.metadata);
  REQUIRE(back.tensors.size() == content.tensors.size());
  for (const NamedTensor& tensor : content.tensors) {
    const auto same = [&](const NamedTensor& found) {
      return found.name == tensor.name && found.value.identical(tensor.value);
    };
    INFO(tensor.name);
    CHECK(std::ranges::count_if(back.tensors, same) == 1);
  }
}

TEST_CASE("safetensors that another program wrote are read") {
  const Safetensors found = read(file(
      R"( {"x":{"dtype":"I64","shape":[1,1],"data_offsets":[2,10]},)"
      R"( "h":{"shape":[1],"data_offsets":[0,2],"dtype":"BF16"},"e":{"dtype":"F64","shape":[0,5],)"
      R"("data_offsets":[10,10]}}   )" +
          1,
      std::string("\x80\x3f\x05\0\0\0\0\0\0\0", 10)));
  REQUIRE(found.tensors.size() == 3);
  CHECK(found.tensors[0].value.values<bfloat16>()[0].bits == 0x3f80);
  CHECK(found.tensors[1].value.values<std::int64_t>()[0] == 5);
  CHECK(found.tensors[2].value.shape() == Shape{0, 5});
}

TEST_CASE("safetensors that break a rule are refused with the reason") {
  REQUIRE(outcome(file(one, eight)) == "");
  REQUIRE(outcome(file("{}", "")) == "");
  const auto refuses = [](const std::string& bytes, const std::string& reason) {
    INFO(bytes);
    CHECK_THAT(outcome(bytes), Catch::StartsWith("corrupt") && Catch::Contains(reason));
  };
  const auto header = [&](const std::string& text, const std::string& reason) {
    refuses(file(text, eight), reason);
  };
  refuses("", "has 0 bytes");
  refuses("1234567", "has 7 bytes");
  refuses(std::string(8, '\xff'), "header of 18446744073709551615");
  refuses(file(one, "1234567"), "within 7 bytes");
  refuses(file(one, "123456789"), "end at 8");
  header("", "'{'");
  header(" " + one, "'{'");
  header("[]", "'{'");
  header("{", "not JSON");
  header(one + "x", "not JSON");
  header(one + "{}", "not JSON");
  header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},})", "not JSON");
  header("{\"\xff\":{}}", "not JSON");
  header(one.substr(0, one.size() - 1) + "," + one.substr(1), "a duplicate key at key 'a'");
  header(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
         "a duplicate key");
  header(R"({"__metadata__":{"k":"1","k":"2"}})", "a duplicate key");
  header(R"({"__metadata__":{"k":1}})", "a number at key 'k'");
  header(R"({"__metadata__":{"k":{}}})", "an object");
  header(R"({"a":{"dtype":"F32","shape":[2]}})", "without dtype, shape and two");
  header(R"({"b":{"dtype":"F32","shape":[2]},)" + one.substr(1), "without dtype");
  header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", "without dtype");
  header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})", "a number at key 'data_of");
  header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":"y"}})",
         "a string at key 'x'");
  header(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "a negative number");
  header(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", "a fraction");
  header(R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", "an array");
  header(R"({"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]}})", "2^63");
  header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "offsets 8 to 0");
  header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}})", "offsets 0 to 16");
  header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "a begin at 0");
  header(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "takes 12 bytes");
  header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
         R"("b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})",
         "a begin at 4");
  header(R"({"a":{"dtype":"BOOL","shape":[8],"data_offsets":[0,8]}})", "which is not a bool");
  header(R"({"a":null})", "null");
  header(R"({"a":)" + std::string(100'000, '['), "an array");
}

TEST_CASE("safetensors above a limit or with an unknown type are refused as such") {
  CHECK_THAT(outcome(file(R"({"a":{"dtype":"F6","shape":[],"data_offsets":[0,8]}})", eight)),
             Catch::StartsWith("unsupported") && Catch::Contains("'F6'"));
  CHECK_THAT(outcome(file(one, eight), {.manifest_bytes = one.size() - 1}),
             Catch::StartsWith("limit"));
  CHECK(outcome(file(one, eight), {.manifest_bytes = one.size()}).empty());
  CHECK_THAT(outcome(file(one, eight), {.tensor_bytes = 7}), Catch::StartsWith("limit"));
  CHECK_THAT(outcome(file(one, eight), {.weight_bytes = 7}), Catch::StartsWith("limit"));
  const std::string whole = file(one, eight);
  CHECK(outcome(whole, {.tensor_bytes = 8, .weight_bytes = whole.size()}).empty());
  CHECK_THAT(outcome(whole, {.weight_bytes = whole.size() - 1}), Catch::StartsWith("limit"));
  CHECK_THAT(
      outcome(file(R"({"a":{"dtype":"F32","shape":[9223372036854775807],"data_offsets":[0,8]}})",
                   eight)),
      Catch::StartsWith("limit: shape [9223372036854775807] has more than 2^56 elements"));
  std::string ones = "1";
  for (int i = 0; i < 40; ++i) ones += ",1";
  CHECK_THAT(
      outcome(file(R"({"a":{"dtype":"U8","shape":[)" + ones + R"(],"data_offsets":[0,1]}})", "x")),
      Catch::StartsWith("limit"));
}

TEST_CASE("tensors that safetensors cannot hold are refused when they are written") {
  const Tensor value = Tensor::scalar(1.0F);
  CHECK_THROWS_WITH(written({{{"t", Tensor(DType::string, {1})}}, {}}), Catch::Contains("'t'"));
  CHECK_THROWS_WITH(written({{{"t", value}, {"t", value}}, {}}), Catch::Contains("'t'"));
  CHECK_THROWS_WITH(written({{{"__metadata__", value}}, {}}), Catch::Contains("is taken"));
  CHECK_THROWS_WITH(written({{{"\xff", value}}, {}}), Catch::Contains("UTF-8"));
}

TEST_CASE("randomly changed safetensors are read or refused, nothing else") {
  Safetensors content{
      {{"weight", Tensor(DType::float32, {3, 4})}, {"flag", Tensor(DType::boolean, {5})}},
      {{"k", "v"}}};
  const std::string good = written(content);
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (std::size_t change = random() % 3 + 1; change > 0; --change) {
      const std::size_t at = random() % bytes.size();
      const auto letter = static_cast<char>(random() % 256);
      if (random() % 2 == 0) bytes[at] = letter;
      if (random() % 4 == 0) bytes.erase(at, random() % 9);
      if (random() % 4 == 0) bytes.insert(at, 1, "0123456789[]{}\",: "[random() % 18]);
      if (bytes.empty()) break;
    }
    if (outcome(bytes) != "") ++refused;
  }
  CHECK(refused > 10'000);
}

// Weights out of and into models as .safetensors, through the command line.
#include <catch2/catch.hpp>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/system/run/cli_run.h"

using cli_test::Result;
using cli_test::Workshop;

namespace {

const std::string prepare_adam =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
    "--learning-rate 0.02 --label y";
const std::string train = "train train.onnx --data data --batch-size 7 --seed 3 ";

// The parts of a file: 8 bytes of length, the header, the elements.
struct Parts {
  nlohmann::json header;
  std::string elements;
};

Parts parts_of(const std::string& file) {
  std::uint64_t length = 0;
  REQUIRE(file.size() > 8);
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(file[i]);
  REQUIRE(length <= file.size() - 8);
  return {nlohmann::json::parse(file.substr(8, length)), file.substr(8 + length)};
}

std::string file_of(const std::string& header, const std::string& elements) {
  std::string file(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> 8 * i);
  return file + header + elements;
}

std::string file_of(const Parts& parts) { return file_of(parts.header.dump(), parts.elements); }

}  // namespace

TEST_CASE("weights that were trained go into another model of the same names") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  shop.succeed(train + "--initialize --epochs 4 --checkpoint run.ckpt -o trained.onnx");
  shop.succeed("export train.onnx --checkpoint run.ckpt -o w.safetensors");
  const Parts parts = parts_of(shop.read("w.safetensors"));
  CHECK(parts.header.size() == 4);
  CHECK(parts.header.at("fc1.w").at("dtype") == "F32");
  CHECK(parts.elements.size() == 67 * 4);

  const Result taken = shop.succeed("export train.onnx --weights w.safetensors -o again.onnx");
  CHECK(taken.err.empty());
  // The weights are the same; what training learned of its data is not among them.
  const auto outputs = [&](const std::string& model) {
    return shop.succeed("infer " + model + " --input x=data/x_test.npy").out;
  };
  CHECK(outputs("again.onnx") == outputs("trained.onnx"));
  shop.succeed("export train.onnx --checkpoint run.ckpt -o same.onnx");
  CHECK(shop.read("same.onnx") == shop.read("trained.onnx"));
  shop.succeed(train + "--initialize --epochs 4 -o direct.safetensors");
  CHECK(shop.read("direct.safetensors") == shop.read("w.safetensors"));
}

TEST_CASE("adapters of folders count as often as the command line says") {
  const Workshop shop;
  shop.succeed(prepare_adam + " --lora 2 --lora-targets fc1.w fc2.w");
  shop.succeed(train + "--initialize --epochs 4 --checkpoint run.ckpt");
  shop.succeed("export train.onnx --checkpoint run.ckpt --adapter one");
  const std::string infer = "infer net.onnx --input x=data/x_test.npy ";
  const std::string plain = shop.succeed(infer).out;
  CHECK(shop.succeed(infer + "--adapter one=0").out == plain);
  CHECK(shop.succeed(infer + "--adapter one").out != plain);
  CHECK(shop.succeed(infer + "--adapter one").out == shop.succeed(infer + "--adapter one=1").out);
  shop.misuse(infer + "--adapter one=half", "--adapter needs FOLDER or FOLDER=NUMBER");
  shop.refuse(infer + "--adapter two", "adapter_config.json");
}

TEST_CASE("training starts from weights, also from some of them") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  shop.succeed(train + "--initialize --epochs 6 -o good.safetensors");
  const std::string from = "train train.onnx --data data --batch-size 7 --epochs 1 --seed 3 ";
  const std::string cold = shop.succeed(from + "-o cold.safetensors").out;
  const Result warm = shop.succeed(from + "--weights good.safetensors -o warm.safetensors");
  CHECK(warm.err.empty());
  CHECK(shop.read("warm.safetensors") != shop.read("cold.safetensors"));
  const auto loss = [](const std::string& text) {
    const std::size_t at = text.find("loss ");
    REQUIRE(at != std::string::npos);
    return std::stod(text.substr(at + 5));
  };
  CHECK(loss(warm.out) < loss(cold));

  Parts parts = parts_of(shop.read("good.safetensors"));
  parts.header["other"] = parts.header.at("fc1.w");
  parts.header.erase("fc1.w");
  shop.write("some.safetensors", file_of(parts));
  const Result some = shop.succeed(from + "--weights some.safetensors -o some.onnx");
  CHECK_THAT(some.err,
             Catch::Contains("missing in 'some.safetensors' keep their values (1): 'fc1.w'") &&
                 Catch::Contains("are ignored (1): 'other'"));
  CHECK(shop.run(from + "--weights w.safetensors --checkpoint c --resume").exit_code == 2);
}

TEST_CASE("all state variables may be written and read") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  shop.succeed(train + "--initialize --epochs 1 --checkpoint run.ckpt");
  shop.succeed("export train.onnx --checkpoint run.ckpt --training -o all.safetensors");
  CHECK(parts_of(shop.read("all.safetensors")).header.size() > 8);
  shop.succeed("export train.onnx --weights all.safetensors --training -o a.onnx");
  shop.succeed("export train.onnx --checkpoint run.ckpt --training -o b.onnx");
  // Only the checkpoint holds what training learned of its data.
  for (const char* name : {"a", "b"}) {
    shop.succeed(std::string("export ") + name + ".onnx --training -o " + name + ".safetensors");
  }
  CHECK(shop.read("a.safetensors") == shop.read("b.safetensors"));
}

TEST_CASE("weights that do not fit are refused, and nothing is written") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  shop.succeed("export train.onnx -o w.safetensors");
  const std::string good = shop.read("w.safetensors");
  const auto refuse = [&](const std::string& bytes, const std::string& text) {
    shop.write("bad.safetensors", bytes);
    shop.refuse("export train.onnx --weights bad.safetensors -o out.onnx", text);
    CHECK_FALSE(std::filesystem::exists(shop / "out.onnx"));
  };
  refuse("", "has 0 bytes");
  refuse(good.substr(0, 7), "has 7 bytes");
  refuse(std::string(8, '\xff') + good, "header of 18446744073709551615");
  refuse(good.substr(0, good.size() - 1), "bytes");
  refuse(good + "x", "bytes of elements");
  refuse(file_of("[]", ""), "'{'");
  refuse(file_of("{\"a\":", ""), "not JSON");
  refuse(file_of("{\"\xff\":{}}", ""), "not JSON");
  refuse(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "12345678"), "'a'");
  refuse(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234"), "none of");
  refuse(file_of(R"({"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", "1234"), "'F99'");
  Parts parts = parts_of(good);
  for (const char* name : {"fc1.w", "fc2.w"}) {
    auto& shape = parts.header.at(name).at("shape");
    std::swap(shape[0], shape[1]);
  }
  refuse(file_of(parts), "'fc1.w'");
  refuse(file_of(parts), "'fc2.w'");
  shop.refuse("export train.onnx --weights none.safetensors -o out.onnx", "none.safetensors");
  shop.refuse("export net.onnx -o out.safetensors", "no weights");
  shop.refuse("export train.onnx -o no/folder/w.safetensors", "no/folder/w.safetensors");
}

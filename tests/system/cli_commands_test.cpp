#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <ondine/build.h>
#include <ondine/data.h>

#include "tests/system/run/cli_run.h"

using cli_test::Result;
using cli_test::Workshop;
using namespace ondine;

namespace {
const std::string prepare_adam =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
    "--learning-rate 0.02 --label y";
}

TEST_CASE("wrong usage exits with 2 and help with 0") {
  const Workshop shop;
  CHECK(shop.run("").exit_code == 2);
  CHECK(shop.run("fly").exit_code == 2);
  CHECK(shop.run("info").exit_code == 2);
  CHECK(shop.run("prepare net.onnx -o t.onnx --loss wrong").exit_code == 2);
  CHECK(shop.run("train net.onnx --data data --epochs 0 --batch-size 1").exit_code == 2);
  CHECK(shop.run("train net.onnx --data data --epochs 1 --batch-size 1 --resume").exit_code == 2);
  CHECK(shop.run("verify").exit_code == 2);
  for (const char* command : {"info", "check", "inspect", "prepare", "train", "infer", "eval",
                              "export", "verify", "bench", "gradcheck", "doctor", "lower",
                              "differentiate", "import-hf", "import-ort", "replay"}) {
    const Result help = shop.run(std::string(command) + " --help");
    CHECK(help.exit_code == 0);
    CHECK_THAT(help.out, Catch::Contains("Examples:"));
  }
}

TEST_CASE("info and check describe a model") {
  const Workshop shop;
  CHECK(shop.run("check net.onnx").exit_code == 0);
  CHECK_THAT(shop.succeed("info net.onnx").out, Catch::Contains("logits"));
  shop.succeed(prepare_adam);
  CHECK(shop.run("check train.onnx").exit_code == 0);
  const std::string json = shop.succeed("info train.onnx --json").out;
  CHECK_THAT(json, Catch::Contains("\"fc1.w\""));
  CHECK_THAT(json, Catch::Contains("\"trained_parameters\": 67"));
  for (const char* stage : {"model", "graph", "training", "gradient", "optimized"}) {
    CHECK_FALSE(shop.succeed(std::string("inspect train.onnx --stage ") + stage).out.empty());
  }
  shop.misuse("inspect train.onnx --stage nowhere", "nowhere");
}

TEST_CASE("the plan of a call is printed for the shapes that are given") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  const std::string plan = "inspect train.onnx --stage plan";
  shop.refuse(plan, "dim 0 ('N') of input 'x'");
  shop.refuse(plan, "x=1x4");
  const std::string step = shop.succeed(plan + " --shape x=8x4").out;
  CHECK_THAT(step, Catch::Contains("Adam") && Catch::Contains("state in place"));
  CHECK_THAT(step, Catch::Contains("peak: ") && Catch::Contains("total bytes: arena "));
  const std::string infer = shop.succeed(plan + " --infer --shape x=8x4").out;
  CHECK_THAT(infer, Catch::Contains("'logits' tensor(float)[8, 3]") && !Catch::Contains("Adam"));
  const auto json =
      nlohmann::json::parse(shop.succeed(plan + " --infer --shape x=8x4 --format json").out);
  CHECK(json["nodes"].back()["outputs"][0]["name"] == "logits");
  CHECK(json["nodes"].back()["outputs"][0]["bytes"] == 8 * 3 * sizeof(float));
  shop.refuse(plan + " --shape x=8x5", "must be a tensor(float)[N, 4]");
  shop.refuse(plan + " --shape z=8x4", "there is no input 'z'");
  shop.refuse(plan + " --shape x=8by4", "INPUT=DIMxDIM");
  shop.refuse(plan + " --shape x=8x4 --algorithm 3", "algorithm 3");
  CHECK(shop.run("inspect train.onnx --stage graph --infer").exit_code == 2);
}

TEST_CASE("bench writes sizes in bytes and in units of 1024 with one decimal") {
  const Workshop shop;
  const auto state_of = [&](std::int64_t rows, std::int64_t columns) {
    ModelBuilder b("product");
    const std::string x = b.input("x", DType::float32, {"N", rows});
    b.node("MatMul", {x, b.initializer("w", Tensor(DType::float32, {rows, columns}))}, {}, "y");
    b.output("y", DType::float32, {"N", columns});
    const std::vector<std::byte> bytes = b.bytes();
    shop.write("product.onnx", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    shop.succeed("prepare product.onnx -o product.train.onnx --loss mse --init keep");
    const std::string bench = "bench product.train.onnx --steps 1";
    const std::string out = shop.succeed(bench).out;
    const std::size_t begin = out.find("state ") + 6;
    const std::string text = out.substr(begin, out.find(',', begin) - begin);
    const auto json = nlohmann::json::parse(shop.succeed(bench + " --json").out);
    return std::pair(text, json["state_bytes"].get<std::int64_t>());
  };
  const auto tenths = [](std::int64_t bytes, std::int64_t unit) {
    const std::int64_t number = (10 * bytes + unit / 2) / unit;
    return std::to_string(number / 10) + "." + std::to_string(number % 10);
  };
  const auto [small, few] = state_of(1, 3);
  REQUIRE(few < 1024);
  CHECK(small == std::to_string(few) + " B");
  const auto [medium, some] = state_of(16, 97);
  REQUIRE((some > 1024 && some < 1 << 20));
  CHECK(medium == tenths(some, 1024) + " KiB");
  const auto [large, many] = state_of(512, 700);
  REQUIRE(many > 1 << 20);
  CHECK(large == tenths(many, 1 << 20) + " MiB");
}

TEST_CASE("fusions are left out by name, former names included") {
  const Workshop shop;
  shop.succeed("bench net.onnx --steps 1 --no-fusion fuse_elementwise");
  shop.succeed("bench net.onnx --steps 1 --no-fusion fuse_formula");
  shop.refuse("bench net.onnx --steps 1 --no-fusion fuse_nothing", "fuse_nothing");
}

TEST_CASE("a prepared model may keep its tensors in a file of their own") {
  const Workshop shop;
  shop.succeed(prepare_adam + " --external-data-from 1");
  const auto has_data = [](const auto& entry) { return entry.path().extension() == ".data"; };
  const std::filesystem::directory_iterator files(shop / ".");
  CHECK(std::count_if(begin(files), end(files), has_data) == 1);
  CHECK_THAT(shop.succeed("info train.onnx --json").out,
             Catch::Contains("\"trained_parameters\": 67"));
}

TEST_CASE("info names the operators that models need, those of derivatives too") {
  const Workshop shop;
  const std::string plain = shop.succeed("info --operators net.onnx").out;
  CHECK_THAT(plain, Catch::Contains("relu ") && Catch::Contains("# ai.onnx Relu"));
  CHECK_THAT(plain, !Catch::Contains("adam"));
  shop.succeed(prepare_adam);
  const std::string both = shop.succeed("info --operators net.onnx train.onnx").out;
  CHECK_THAT(both, Catch::Contains("relu ") && Catch::Contains("adam ") &&
                       Catch::Contains("softmax_cross_entropy_loss_grad "));
  CHECK_THAT(both, !Catch::Contains("lstm"));
  CHECK(shop.run("info --operators --json net.onnx").exit_code == 2);
}

TEST_CASE("files that are no models are refused by name") {
  const Workshop shop;
  shop.write("text.onnx", "this is no model");
  for (const char* command : {"info", "bench", "gradcheck"}) {
    shop.refuse(std::string(command) + " missing.onnx", "missing.onnx");
    shop.refuse(std::string(command) + " text.onnx", "text.onnx");
  }
  CHECK(shop.run("check text.onnx").exit_code == 1);
  CHECK_FALSE(shop.run("check text.onnx").err.empty());
  shop.refuse("prepare text.onnx -o out.onnx --loss mse", "text.onnx");
  CHECK_FALSE(std::filesystem::exists(shop / "out.onnx"));
  shop.refuse("prepare net.onnx -o no/such/folder.onnx --loss mse", "no/such/folder.onnx");
  shop.refuse("prepare net.onnx -o out.onnx --loss mse --freeze 'conv*'", "'conv*'");
}

TEST_CASE("replay writes what the calls of a case give") {
  const Workshop shop;
  std::filesystem::create_directories(shop / "case/call_1");
  std::filesystem::copy_file(shop / "net.onnx", shop / "case/model.onnx");
  save_value(shop / "case/call_1/input_0.pb", {"x", Tensor(DType::float32, {2, 4})});
  const std::string load = R"({"call": "load", "state": []})";
  const std::string infer = R"({"call": "infer", "outputs": ["logits"], "state": []})";
  shop.write("case/case.json", R"({"calls": [)" + load + ", " + infer + "]}");
  shop.succeed("replay case results");
  const NamedValue output = load_value(shop / "results/call_1/output_0.pb", "");
  CHECK(output.first == "logits");
  CHECK(output.second.tensor().shape() == Shape{2, 3});
  CHECK_THAT(shop.read("results/report.json"), Catch::Contains("\"done\""));

  save_value(shop / "case/call_1/input_0.pb", {"x", Tensor(DType::float32, {2, 5})});
  shop.succeed("replay case refused");
  CHECK_THAT(shop.read("refused/report.json"),
             Catch::Contains("\"refused\"") && Catch::Contains("\"call\": 1"));

  shop.write("case/case.json", R"({"calls": [)" + infer + "]}");
  shop.refuse("replay case none", "'load'");
  shop.refuse("replay case/call_1 none", "case.json");
  CHECK_FALSE(std::filesystem::exists(shop / "none"));
}

TEST_CASE("inference reads and writes arrays") {
  const Workshop shop;
  save_array(shop / "x.npy", Tensor(DType::float32, {2, 4}));
  CHECK_THAT(shop.succeed("infer net.onnx --input x=x.npy").out, Catch::Contains("float[2, 3]"));
  shop.succeed("infer net.onnx --input x=x.npy -o results");
  CHECK(load_array(shop / "results/logits.npy").shape() == Shape{2, 3});
  save_value(shop / "x.pb", {"any", Tensor(DType::float32, {2, 4})});
  shop.succeed("infer net.onnx --input x=x.pb");
  shop.refuse("infer net.onnx --input z=x.npy", "'z'");
  shop.refuse("infer net.onnx", "'x'");
  shop.refuse("infer net.onnx --input x=none.npy", "none.npy");
  save_array(shop / "wide.npy", Tensor(DType::float32, {2, 5}));
  shop.refuse("infer net.onnx --input x=wide.npy", "'x'");
}

TEST_CASE("every trained variable has the derivative that differences give") {
  const Workshop shop;
  for (const char* loss : {"softmax-cross-entropy", "bce", "mse", "huber"}) {
    shop.succeed(std::string("prepare net.onnx -o train.onnx --optimizer sgd --loss ") + loss);
    const Result result = shop.succeed("gradcheck train.onnx");
    CHECK_THAT(result.out, Catch::Contains("fc1.w") && Catch::Contains("fc2.b"));
  }
  shop.succeed("gradcheck train.onnx --perturb 0.01");
  shop.refuse("gradcheck net.onnx", "algorithm");
}

TEST_CASE("bench reports times, bytes and operators") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  const std::string json = shop.succeed("bench train.onnx --dim-size 8 --steps 5 --json").out;
  for (const char* key : {"median_ms", "planned_bytes", "resident_bytes", "operators"}) {
    CHECK_THAT(json, Catch::Contains(key));
  }
  shop.succeed("bench net.onnx --steps 2 --threads 2");
}

TEST_CASE("a precision that the processor lacks is said once, and the run goes on in float32") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  const auto note = [&](const std::string& arguments, const std::string& wrapper) {
    const Result result = shop.run(arguments, wrapper);
    CHECK(result.exit_code == 0);
    const std::size_t first = result.err.find("no products in bfloat16");
    CHECK(result.err.find("no products in bfloat16", first + 1) == std::string::npos);
    return first != std::string::npos;
  };
  for (const char* command :
       {"bench train.onnx --dim-size 8 --steps 2", "inspect net.onnx --stage optimized"}) {
    CAPTURE(command);
    CHECK(note(std::string(command) + " --precision bf16", "ONDINE_ISA=avx2 %"));
    CHECK_FALSE(note(std::string(command) + " --precision float32", "ONDINE_ISA=avx2 %"));
  }
  CHECK(shop.run("bench net.onnx --precision fp8").exit_code == 2);
}

TEST_CASE("verify counts what passed, failed and was skipped") {
  const Workshop shop;
  std::filesystem::create_directories(shop / "cases/good/test_data_set_0");
  std::filesystem::copy_file(shop / "net.onnx", shop / "cases/good/model.onnx");
  save_value(shop / "cases/good/test_data_set_0/input_0.pb", {"x", Tensor(DType::float32, {1, 4})});
  save_value(shop / "cases/good/test_data_set_0/output_0.pb",
             {"logits", Tensor(DType::float32, {1, 3})});
  CHECK_THAT(shop.succeed("verify cases").out, Catch::Contains("1 passed, 0 failed, 0 skipped"));
  std::filesystem::copy(shop / "cases/good", shop / "cases/wrong",
                        std::filesystem::copy_options::recursive);
  save_value(shop / "cases/wrong/test_data_set_0/output_0.pb",
             {"logits", Tensor::of<float>({1, 3}, {0, 1, 0})});
  const Result result = shop.run("verify cases");
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.out, Catch::Contains("cases/wrong: output 'logits'"));
  CHECK_THAT(result.out, Catch::EndsWith("1 passed, 1 failed, 0 skipped\n"));

  std::filesystem::create_directories(shop / "hostile/text");
  shop.write("hostile/text/model.onnx", "no model");
  shop.write("hostile/text/expect", "reject\nno protobuf\nmention: model.onnx\n");
  CHECK_THAT(shop.succeed("verify hostile").out, Catch::Contains("1 passed"));
  const Result large = shop.run("verify hostile --refusal-mib 0.5");
  CHECK(large.exit_code == 1);
  CHECK_THAT(large.out, Catch::Contains("beyond the file, allowed are 0.5 MiB"));
  const Result slow = shop.run("verify hostile --refusal-seconds 1e-9");
  CHECK(slow.exit_code == 1);
  CHECK_THAT(slow.out, Catch::Contains("s of processor time, allowed are 1e-09"));
  shop.write("hostile/text/expect", "accept\nno protobuf\ncall: infer\n");
  CHECK(shop.run("verify hostile").exit_code == 1);
  shop.refuse("verify nowhere", "nowhere");
}

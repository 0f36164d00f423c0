// Names that act on terminals, forge lines or change the order of letters, through every command.
#include <catch2/catch.hpp>
#include <filesystem>

#include <ondine/build.h>
#include <ondine/data.h>
#include <ondine/printable.h>

#include "tests/system/run/cli_run.h"

using cli_test::Result;
using cli_test::Workshop;
using namespace ondine;

namespace {

// Escape sequences, a control of two bytes, overrides of direction, and a line of its own.
const std::string evil =
    "\x1b[2J\x1b]0;t\a\xc2\x9b"
    "1m\xe2\x80\xae\xe2\x81\xa6\x80\r\nFORGED line";

Tensor ramp(const Shape& shape) {
  Tensor tensor(DType::float32, shape);
  float value = 0.1F;
  for (float& one : tensor.mutable_values<float>())
    one = value = value < 0.5F ? value + 0.07F : -0.4F;
  return tensor;
}

// x [N, 4] -> scores [N, 3], every name hostile where the standard takes it.
void write_model(const Workshop& shop) {
  // Texts of a model are UTF-8.
  std::string in_model = evil;
  in_model.erase(in_model.rfind('\x80'), 1);
  ModelBuilder builder("net" + in_model);
  builder.input("x" + in_model, DType::float32, {"N", std::int64_t{4}});
  const auto w1 = builder.initializer("w1" + in_model, ramp({4, 8}));
  const auto b1 = builder.initializer("b1" + in_model, ramp({8}));
  const auto w2 = builder.initializer("w2" + in_model, ramp({8, 3}));
  const auto hidden = builder.node("Gemm", {"x" + in_model, w1, b1}, {}, "h" + in_model);
  builder.node("MatMul", {builder.node("Relu", {hidden}), w2}, {}, "scores" + in_model);
  builder.output("scores" + in_model, DType::float32, {"N", std::int64_t{3}});
  builder.save(shop / "evil.onnx");
}

void write_table(const Workshop& shop) {
  std::string text = "a,b,c,d,class\n";
  for (int i = 0; i < 60; ++i) {
    const std::string k = std::to_string(i % 7);
    text += k + ",1." + k + ",2,0." + k + ",\"class" + std::to_string(i % 3) + evil + "\"\n";
  }
  shop.write("rows.csv", text);
}

// A page may break lines where it likes.
void check_harmless(const std::string& text, bool is_page = false) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    INFO(line);
    CHECK(printable(line) == line);
    CHECK((is_page || !line.starts_with("FORGED")));
    begin = end + 1;
  }
}

}  // namespace

TEST_CASE("no command prints a hostile name as it is") {
  const Workshop shop;
  write_model(shop);
  write_table(shop);
  shop.write("of", "scores" + evil);
  shop.write("by", "x" + evil);
  const auto run = [&](const std::string& arguments) {
    INFO(arguments);
    const Result result = shop.run(arguments);
    INFO(result.out << result.err);
    CHECK(result.exit_code <= 1);
    check_harmless(result.out);
    check_harmless(result.err);
    UNSCOPED_INFO(result.out << result.err);
    return result.exit_code;
  };
  CHECK(run("prepare evil.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
            "--learning-rate 0.02") == 0);
  const std::string data = " --data rows.csv --target class ";
  CHECK(
      run("train train.onnx" + data +
          "--epochs 2 --batch-size 6 --checkpoint run.ckpt "
          "--validation-split 0.2 --metrics confusion_matrix,f1 --report report.html --log-dir log "
          "-o tuned.onnx") == 0);
  run("train train.onnx" + data + "--epochs 1 --batch-size 6 --dry-run");
  run("train train.onnx" + data + "--epochs 1 --batch-size 6 --seeds 2");
  run("train train.onnx" + data + "--epochs 1 --batch-size 6 --map nothing=there");
  for (const char* model : {"evil.onnx", "train.onnx", "tuned.onnx"}) {
    const std::string file = std::string(model) + " ";
    for (const char* options : {"", "--json", "--operators", "--layers", "--layers --json"}) {
      run("info " + file + options);
    }
    run("check " + file);
    for (const char* stage : {"model", "graph", "training", "gradient", "optimized", "plan"}) {
      run("inspect " + file + "--stage " + stage);
    }
    run("eval " + file + data);
    run("eval " + file + data + "--metrics confusion_matrix");
    run("eval " + file + data + "--json --report eval.html");
    run("infer " + file + data);
    run("infer " + file);
    run("infer " + file + "--input no=such.npy");
    run("doctor " + file + data);
    run("lower " + file + "-o lowered.onnx");
    run("differentiate " + file + "-o derived.onnx --of \"$(cat of)\" --by \"$(cat by)\"");
    run("export " + file + "--checkpoint run.ckpt -o exported.onnx");
    run("gradcheck " + file);
    run("bench " + file + "--steps 2");
  }
  std::filesystem::create_directories(shop / ("cases/one" + evil));
  shop.write("cases/one" + evil + "/model.onnx", "no model");
  shop.write("cases/one" + evil + "/expect", "accept\nnever\n");
  CHECK(run("verify cases") == 1);
  for (const char* page : {"report.html", "eval.html"}) {
    if (std::filesystem::exists(shop / page)) check_harmless(shop.read(page), true);
  }
}

TEST_CASE("a hostile name of a file or an option is not printed as it is") {
  const Workshop shop;
  shop.write("job" + evil + ".toml", "nothing = 1\n");
  const std::string word = "\"$(printf '\\033[2J\\302\\233')\"";
  for (const std::string& arguments :
       {"info " + word, "train " + word + " --data " + word + " --epochs 1 --batch-size 1",
        "train --config " + word, "infer net.onnx --input " + word + "=x.npy", "man " + word}) {
    const Result result = shop.run(arguments);
    INFO(result.err);
    CHECK(result.exit_code != 0);
    CHECK_THAT(result.err, Catch::Contains("\\x1b[2J\\u009b"));
    check_harmless(result.err);
  }
}

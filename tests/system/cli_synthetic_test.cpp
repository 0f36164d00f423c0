// Data that commands make up, models with many weights, and images of which each has its own size.
#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include <ondine/build.h>
#include <ondine/data.h>

#include "proto/import.h"
#include "tests/support/bitmap.h"
#include "tests/support/models.h"
#include "tests/system/run/cli_run.h"
#include "tests/system/verify/verify_cases.h"

using Catch::Contains;
using namespace cli_test;  // NOLINT
using namespace ondine;
using ondine::test::bitmap;

TEST_CASE("commands make up values of the usual types, and say for which types they do not") {
  const Workshop shop;
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16,
                            DType::int64, DType::int32, DType::int16, DType::int8, DType::uint64,
                            DType::uint32, DType::uint16, DType::uint8, DType::boolean}) {
    INFO(to_string(dtype));
    shop.write("copy.onnx", text_of(test::encode(identity(dtype, {2, 3}))));
    shop.succeed("bench copy.onnx --steps 1");
  }
  for (const DType dtype : {DType::string, DType::float8e4m3fn}) {
    graph::ModelDef copy = identity(dtype, {2, 3});
    copy.opsets = {{"", 21}};
    copy.ir_version = 10;
    shop.write("copy.onnx", text_of(test::encode(copy)));
    shop.refuse("bench copy.onnx --steps 1", "no values can be made up for input 'x', a tensor(" +
                                                 std::string(to_string(dtype)) +
                                                 ")[2, 3]; they are made for numbers");
  }
  // An input with a default needs no value, of whatever type and shape it is.
  graph::ModelDef model = identity(DType::float32, {2});
  model.graph.inputs.push_back(test::tensor_value("note", DType::string, {std::int64_t{1}}));
  model.graph.initializers = {{"note", Tensor::of<std::string>({1}, {"n"}), "", {}}};
  model.graph.nodes.push_back(test::node("Identity", {"note"}, {"same"}));
  shop.write("copy.onnx", text_of(test::encode(model)));
  shop.succeed("bench copy.onnx --steps 1");
}

TEST_CASE("values that are made up lie between -1 and 1, and are others for another seed") {
  const Workshop shop;
  // The arccosine has a derivative there alone.
  ModelBuilder b("arc");
  b.input("x", DType::float32, {"N", std::int64_t{40}});
  b.node("Acos", {"x"}, {}, "angle");
  b.node("MatMul", {"angle", b.initializer("w", Tensor(DType::float32, {40, 1}))}, {}, "y");
  b.output("y", DType::float32, {"N", std::int64_t{1}});
  b.save(shop / "arc.onnx");
  shop.succeed("prepare arc.onnx -o train.onnx --loss mse --init keep");
  const auto analytic = [&](const std::string& options) {
    const std::string out = shop.succeed("gradcheck train.onnx --directions 1 " + options).out;
    const std::size_t at = out.find("analytic ");
    REQUIRE(at != std::string::npos);
    return std::stod(out.substr(at + 9));
  };
  const double one = analytic("--seed 1");
  CHECK(std::isfinite(one));
  CHECK(one == analytic("--seed 1"));
  CHECK(one != analytic("--seed 2"));
  CHECK(one != analytic("--seed 1 --dim-size 4"));
}

TEST_CASE("masks that are made up leave one of every two neighbors, where the derivative exists") {
  const Workshop shop;
  // Where 0 masks both scores of a row, the sums are -3.4e38 whatever the scores are.
  ModelBuilder b("windows");
  b.input("x", DType::float32, {"N", std::int64_t{2}});
  const std::string mask = b.input("attention_mask", DType::int64, {"N", std::int64_t{6}});
  const Tensor w = Tensor::of<float>({2, 6}, {1, -2, 3, 0, 2, 1, -1, 1, 0, 2, -3, 1});
  b.node("MatMul", {"x", b.initializer("w", w)}, {}, "scores");
  b.node("Cast", {mask}, {{"to", static_cast<std::int64_t>(DType::float32)}}, "kept");
  b.node("Sub", {b.initializer("one", Tensor::scalar(1.0F)), "kept"}, {}, "masked");
  const std::string lowest =
      b.initializer("lowest", Tensor::scalar(std::numeric_limits<float>::lowest()));
  b.node("Mul", {"masked", lowest}, {}, "bias");
  b.node("Add", {"scores", "bias"}, {}, "sums");
  const std::string dims = b.initializer("dims", Tensor::of<std::int64_t>({3}, {0, 3, 2}));
  b.node("Reshape", {"sums", dims}, {}, "rows");
  b.node("Softmax", {"rows"}, {}, "y");
  b.output("y", DType::float32, {"N", std::int64_t{3}, std::int64_t{2}});
  b.save(shop / "net.onnx");
  shop.succeed("prepare net.onnx -o train.onnx --loss mse --init keep --train w");
  for (int seed = 0; seed < 8; ++seed) {
    INFO("seed " << seed);
    const std::string seeded = "gradcheck train.onnx --seed " + std::to_string(seed);
    CHECK_THAT(shop.succeed(seeded).out, Contains("ok     w"));
  }
}

TEST_CASE("info reads up to 16 MiB of weights for a fingerprint, and more when asked") {
  const Workshop shop;
  const auto write = [&](std::int64_t floats) {
    ModelBuilder b("wide");
    b.input("x", DType::float32, {std::int64_t{1}});
    b.node("Add", {"x", b.initializer("w", Tensor(DType::float32, {floats}))}, {}, "y");
    b.output("y", DType::float32, {floats});
    b.save(shop / "wide.onnx");
  };
  constexpr std::int64_t limit = 4 << 20;
  write(limit);
  CHECK_THAT(shop.succeed("info wide.onnx").out, !Contains("not computed"));
  write(limit + 1);
  CHECK_THAT(
      shop.succeed("info wide.onnx").out,
      Catch::EndsWith("fingerprint: not computed (of 16.0 MiB); --fingerprint computes it\n"));
  CHECK(nlohmann::json::parse(shop.succeed("info wide.onnx --json").out)["fingerprint"].is_null());
  const std::string text = shop.succeed("info wide.onnx --fingerprint").out;
  const std::string json = shop.succeed("info wide.onnx --fingerprint --json").out;
  CHECK(text.substr(text.find("fingerprint: ") + 13) ==
        nlohmann::json::parse(json)["fingerprint"].get<std::string>() + "\n");
}

TEST_CASE("images keep the size of their file where the model takes any, unless one is asked for") {
  const Workshop shop;
  ModelBuilder b("means");
  b.input("x", DType::uint8, {"N", std::int64_t{3}, "H", "W"});
  b.node("Cast", {"x"}, {{"to", std::int64_t{1}}}, "numbers");
  b.node("ReduceMean", {"numbers"},
         {{"axes", std::vector<std::int64_t>{2, 3}}, {"keepdims", std::int64_t{0}}}, "means");
  b.node("Div", {"means", b.initializer("most", Tensor::scalar(255.0F))}, {}, "y");
  b.output("y", DType::float32, {"N", std::int64_t{3}});
  b.save(shop / "means.onnx");
  using Color = std::array<unsigned, 3>;
  const Color red{255, 0, 0};
  const Color blue{0, 0, 255};
  std::filesystem::create_directories(shop / "images");
  shop.write("images/a.bmp", bitmap(2, 1, {red, blue}));
  shop.write("images/b.bmp", bitmap(4, 1, {red, blue, blue, blue}));
  shop.write("images/c.bmp", bitmap(1, 2, {red, red}));
  const std::string infer =
      "infer means.onnx --top 3 --data images/a.bmp images/b.bmp images/c.bmp";
  CHECK(shop.succeed(infer).out ==
        "images/a.bmp  0 0.5, 2 0.5, 1 0\n"
        "images/b.bmp  2 0.75, 0 0.25, 1 0\n"
        "images/c.bmp  0 1, 1 0, 2 0\n");
  shop.succeed(infer + " -o out.csv");
  CHECK(shop.read("out.csv") ==
        "file,class,score,class2,score2,class3,score3\n"
        "images/a.bmp,0,0.5,2,0.5,1,0\n"
        "images/b.bmp,2,0.75,0,0.25,1,0\n"
        "images/c.bmp,0,1,1,0,2,0\n");
  // Cut to the two pixels in the middle, or to the whole width.
  CHECK_THAT(shop.succeed(infer + " --image-size 1x2 --image-fit crop").out,
             Contains("images/b.bmp  2 1, 0 0, 1 0\n"));
  CHECK_THAT(
      shop.succeed(infer + " --image-size 1x2 --image-fit stretch").out,
      Contains("images/a.bmp  0 0.5, 2 0.5, 1 0\n") && !Contains("images/b.bmp  2 1, 0 0, 1 0\n"));
  shop.misuse(infer + " --image-size 2", "--image-size needs HEIGHTxWIDTH, found '2'");
}

TEST_CASE("up to twenty images that are left out are named") {
  const Workshop shop;
  ModelBuilder b("means");
  b.input("x", DType::float32, {"N", std::int64_t{3}, std::int64_t{1}, std::int64_t{1}});
  b.node("Flatten", {"x"}, {}, "flat");
  b.node("MatMul", {"flat", b.initializer("w", Tensor(DType::float32, {3, 2}))}, {}, "y");
  b.output("y", DType::float32, {"N", std::int64_t{2}});
  b.save(shop / "net.onnx");
  for (const char* name : {"cat", "dog"}) {
    std::filesystem::create_directories(shop / (std::string("photos/") + name));
    shop.write(std::string("photos/") + name + "/good.bmp", bitmap(1, 1, {{1, 2, 3}}));
  }
  std::string names;
  for (int i = 10; i < 31; ++i) {
    const std::string name = "photos/cat/" + std::to_string(i) + ".bmp";
    shop.write(name, "BM");
    if (i < 30) names += "  " + name + "\n";
    if (i < 29) continue;
    const std::string err = shop.succeed("eval net.onnx --data photos --skip-broken").err;
    CHECK_THAT(err, Contains(std::to_string(i - 9) + " broken images are left out\n"));
    for (int k = 10; k < std::min(i + 1, 30); ++k) {
      CHECK_THAT(err, Contains("photos/cat/" + std::to_string(k) + ".bmp"));
    }
    CHECK((err.find("\n  ...\n") != std::string::npos) == (i == 30));
    CHECK((err.find("/30.bmp") == std::string::npos));
  }
}

TEST_CASE("shapes that are not known are asked for, and given to what makes up data") {
  const Workshop shop;
  ModelBuilder b("open");
  b.input("x", DType::float32, {"N", std::int64_t{2}});
  b.input("axes", DType::int64, {std::int64_t{1}});
  b.node("MatMul", {"x", b.initializer("w", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}))}, {},
         "m");
  b.node("ReduceSum", {"m", "axes"}, {{"keepdims", std::int64_t{0}}}, "y");
  b.output("y", DType::float32, {"A"});
  graph::ModelDef def = load_model(b.bytes());
  def.graph.outputs[0].type.dims.reset();
  shop.write("open.onnx", text_of(test::encode(def)));
  shop.succeed("prepare open.onnx -o t.onnx --loss mse --init keep");
  // The sum is one of three numbers along either axis.
  CHECK_THAT(shop.succeed("gradcheck t.onnx --shape label=3").out, Contains("ok     w"));
  CHECK_THAT(shop.succeed("gradcheck t.onnx --dim-size 5 --shape label=3 --shape x=3x2").out,
             Contains("ok     w"));
  shop.refuse("gradcheck t.onnx --shape nothing=3", "there is no input 'nothing'");
  // An output without a shape gets the shape that inference finds.
  ModelBuilder closed("closed");
  closed.input("x", DType::float32, {"N", std::int64_t{2}});
  closed.node("MatMul", {"x", closed.initializer("w", Tensor::of<float>({2, 1}, {1, 2}))}, {}, "y");
  closed.output("y", DType::float32, {"N", std::int64_t{1}});
  def = load_model(closed.bytes());
  def.graph.outputs[0].type.dims.reset();
  shop.write("closed.onnx", text_of(test::encode(def)));
  shop.succeed("prepare closed.onnx -o c.onnx --loss mse --init keep");
  CHECK_THAT(shop.succeed("gradcheck c.onnx").out, Contains("ok     w"));
}

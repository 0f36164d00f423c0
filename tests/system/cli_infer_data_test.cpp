// `infer --data`: the text and the table that it makes of rows whose scores are known.
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/data.h>
#include <ondine/export.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tests/system/run/cli_run.h"

using cli_test::Result;
using cli_test::Workshop;
using namespace ondine;
using ondine::test::encode;
using ondine::test::node;
using ondine::test::tensor_value;

namespace {

// y = x for x [BATCH, columns]; BATCH "N" is any.
graph::ModelDef scores_model(const graph::DimDef& batch, std::vector<graph::DimDef> row) {
  row.insert(row.begin(), batch);
  graph::ModelDef def;
  def.ir_version = 8;
  def.opsets = {{"", 17}};
  def.graph.name = "scores";
  def.graph.inputs = {tensor_value("x", DType::float32, row)};
  def.graph.outputs = {tensor_value("y", DType::float32, row)};
  def.graph.nodes = {node("Identity", {"x"}, {"y"})};
  return def;
}

void write(const Workshop& shop, const std::string& name, const graph::ModelDef& def) {
  const std::vector<std::byte> bytes = encode(def);
  shop.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

graph::ModelDef with_metadata(graph::ModelDef def,
                              std::vector<std::pair<std::string, std::string>> metadata) {
  def.metadata = {metadata.begin(), metadata.end()};
  return def;
}

const std::vector<float> five_rows{0.5F, 2,  1,     3,   -1, 0.25F, 0.125F, 0.25F,
                                   7,    -4, -3.5F, -40, 6,  6,     5};

const graph::DimDef any = graph::DimName("N");
const std::vector<graph::DimDef> three{std::int64_t{3}};

// x.npy with five rows, and m.onnx that gives each as three scores.
void write_rows_and_model(const Workshop& shop) {
  save_array(shop / "x.npy", Tensor::of<float>({5, 3}, five_rows));
  write(shop, "m.onnx", scores_model(any, three));
}

}  // namespace

TEST_CASE("an output that no model explains is printed as it is, and as classes where asked") {
  const Workshop shop;
  write_rows_and_model(shop);
  CHECK(shop.succeed("infer m.onnx --data x.npy").out ==
        "0  0.5, 2, 1\n1  3, -1, 0.25\n2  0.125, 0.25, 7\n3  -4, -3.5, -40\n4  6, 6, 5\n");
  const Result classes = shop.succeed("infer m.onnx --data x.npy --top 1");
  CHECK(classes.out == "0  1 2\n1  0 3\n2  2 7\n3  1 -3.5\n4  0 6\n");
  CHECK_THAT(classes.err, Catch::Contains("does not say what output 'y' holds"));
  shop.succeed("infer m.onnx --data x.npy -o out.csv");
  CHECK(shop.read("out.csv").substr(0, 23) == "file,y0,y1,y2\n0,0.5,2,1");
}

TEST_CASE("values that sum to 1 are probabilities of classes, which a note says") {
  const Workshop shop;
  write_rows_and_model(shop);
  save_array(shop / "x.npy", Tensor::of<float>({2, 3}, {0.25F, 0.5F, 0.25F, 1, 0, 0}));
  const Result found = shop.succeed("infer m.onnx --data x.npy");
  CHECK(found.out == "0  1 0.5\n1  0 1\n");
  CHECK_THAT(found.err, Catch::Contains("taken for scores of classes"));
}

TEST_CASE("of equal scores the first class comes first, and no more are printed than there are") {
  const Workshop shop;
  write_rows_and_model(shop);
  CHECK(shop.succeed("infer m.onnx --data x.npy --top 2").out ==
        "0  1 2, 2 1\n1  0 3, 2 0.25\n2  2 7, 1 0.25\n3  1 -3.5, 0 -4\n4  0 6, 1 6\n");
  CHECK(shop.succeed("infer m.onnx --data x.npy --top 9").out ==
        "0  1 2, 2 1, 0 0.5\n1  0 3, 2 0.25, 1 -1\n2  2 7, 1 0.25, 0 0.125\n"
        "3  1 -3.5, 0 -4, 2 -40\n4  0 6, 1 6, 2 5\n");
}

TEST_CASE("a table has a column for each rank and quotes names that need it") {
  const Workshop shop;
  save_array(shop / "x.npy", Tensor::of<float>({5, 3}, five_rows));
  write(shop, "m.onnx",
        with_metadata(scores_model(any, three),
                      {{"ondine.class_names", "plain\na,b\nthe \"best\""}}));
  CHECK(shop.succeed("infer m.onnx --data x.npy -o out.csv").out.empty());
  CHECK(shop.read("out.csv") ==
        "file,class,score\n0,\"a,b\",2\n1,plain,3\n2,\"the \"\"best\"\"\",7\n3,\"a,b\",-3.5\n"
        "4,plain,6\n");
  shop.succeed("infer m.onnx --data x.npy --top 2 -o out.csv");
  CHECK(shop.read("out.csv").substr(0, 59) ==
        "file,class,score,class2,score2\n0,\"a,b\",2,\"the \"\"best\"\"\",1\n1");
}

TEST_CASE("classes beyond the names that there are have their numbers") {
  const Workshop shop;
  save_array(shop / "x.npy", Tensor::of<float>({1, 3}, {0, 1, 2}));
  write(shop, "m.onnx",
        with_metadata(scores_model(any, three), {{"ondine.class_names", "zero\none"}}));
  CHECK(shop.succeed("infer m.onnx --data x.npy --top 3").out == "0  2 2, one 1, zero 0\n");
}

TEST_CASE("a batch of fixed size is filled up with the last row, which is told once") {
  const Workshop shop;
  const Tensor x = Tensor::of<float>({5, 3}, five_rows);
  save_array(shop / "x.npy", x);
  write(shop, "any.onnx", scores_model(any, three));
  const std::string wanted = shop.succeed("infer any.onnx --data x.npy --top 3").out;
  for (const std::int64_t batch : {1, 2, 3, 4, 5, 6, 11}) {
    CAPTURE(batch);
    write(shop, "fixed.onnx", scores_model(batch, three));
    CHECK(shop.succeed("infer fixed.onnx --data x.npy --top 3").out == wanted);
  }
}

TEST_CASE("rows of more than one batch are told in order, each once") {
  const Workshop shop;
  std::vector<float> values;
  std::string wanted;
  for (int i = 0; i < 65; ++i) {
    values.push_back(static_cast<float>(i));
    wanted += std::to_string(i) + "  " + std::to_string(i) + "\n";
  }
  save_array(shop / "x.npy", Tensor::of<float>({65, 1}, values));
  write(shop, "m.onnx", scores_model(any, {std::int64_t{1}}));
  // A single number is no class.
  CHECK(shop.succeed("infer m.onnx --data x.npy").out == wanted);
  shop.succeed("infer m.onnx --data x.npy -o out.csv");
  CHECK(shop.read("out.csv").substr(0, 19) == "file,value\n0,0\n1,1\n");
}

TEST_CASE("what the loss says of an output is what is printed") {
  const Workshop shop;
  save_array(shop / "x.npy", Tensor::of<float>({2, 3}, {0, std::log(3.0F), 0, 1000, 999, 1000}));
  const auto printed = [&](const std::string& loss, const std::string& prediction) {
    write(shop, "m.onnx",
          with_metadata(scores_model(any, three),
                        {{"ondine.loss", loss}, {"ondine.prediction", prediction}}));
    return shop.succeed("infer m.onnx --data x.npy --top 3").out;
  };
  // 1 / (2 + 1 / e) and its e-th part.
  CHECK(printed("softmax-cross-entropy", "y") ==
        "0  1 0.6, 0 0.2, 2 0.2\n1  0 0.422319, 2 0.422319, 1 0.155362\n");
  const std::string scores = "0  1 1.09861, 0 0, 2 0\n1  0 1000, 2 1000, 1 999\n";
  CHECK(printed("softmax-cross-entropy", "other") == scores);
  CHECK(printed("mse", "y") == "0  0, 1.09861, 0\n1  1000, 999, 1000\n");
  for (const char* loss : {"focal", "kl", "soft-cross-entropy"}) {
    CHECK(printed(loss, "y") == printed("softmax-cross-entropy", "y"));
  }
  // The sigmoid of each: three labels.
  CHECK(printed("bce", "y") == "0  1 0.75, 0 0.5, 2 0.5\n1  0 1, 1 1, 2 1\n");
  CHECK(printed("hinge", "y") == scores);
  CHECK(printed("triplet", "y") == "0  0, 1.09861, 0\n1  1000, 999, 1000\n");
}

TEST_CASE("an output that is not what the model declares is told after the rows") {
  const Workshop shop;
  graph::ModelDef def = scores_model(any, {graph::DimName("C")});
  def.graph.outputs = {tensor_value("y", DType::float32, {any, std::int64_t{4}})};
  write(shop, "m.onnx", def);
  save_array(shop / "x.npy", Tensor::of<float>({5, 3}, five_rows));
  for (const char* feed : {"--data x.npy", "--input x=x.npy"}) {
    CHECK_THAT(shop.succeed(std::string("infer m.onnx ") + feed).err,
               Catch::Contains("output 'y' is declared as "));
  }
}

TEST_CASE("what cannot be inferred or written is refused") {
  const Workshop shop;
  write_rows_and_model(shop);
  shop.refuse("infer m.onnx --data x.npy -o missing/out.csv", "cannot write 'missing/out.csv'");
  save_array(shop / "x.npy", Tensor::of<float>({5, 2}, std::vector<float>(10)));
  shop.refuse("infer m.onnx --data x.npy", "x");
}

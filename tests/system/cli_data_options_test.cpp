// Options of `ondine train` that say what of the data is meant: the run is the one on arrays that
// hold just that.
#include <catch2/catch.hpp>
#include <sstream>

#include <ondine/data.h>

#include "tests/system/run/cli_run.h"

using namespace ondine;
using cli_test::Workshop;

namespace {

const std::string train =
    "train train.onnx --batch-size 7 --epochs 2 --seed 3 --initialize --quiet ";

void prepare(const Workshop& shop) {
  shop.succeed(
      "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer sgd "
      "--learning-rate 0.1 --label y");
}

// The weights trained on x and y, as a file.
std::string trained_on(const Workshop& shop, const Tensor& x, const Tensor& y) {
  save_array(shop / "x.npy", x);
  save_array(shop / "y.npy", y);
  shop.succeed(train + "--data x.npy y.npy -o by_arrays.safetensors");
  return shop.read("by_arrays.safetensors");
}

std::string trained_with(const Workshop& shop, const std::string& options) {
  shop.succeed(train + options + " -o by_options.safetensors");
  return shop.read("by_options.safetensors");
}

// Columns a, y, b, c and d, without the feature of the position `left_out`.
std::string table(const Tensor& x, const Tensor& y, std::size_t left_out) {
  std::ostringstream text;
  text.precision(9);
  text << "a,y,b,c,d\n";
  const auto features = x.values<float>();
  const auto labels = y.values<std::int64_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      if (4 * i + k != left_out) text << features[4 * i + k];
      if (k == 0) text << ',' << labels[i];
      text << (k < 3 ? ',' : '\n');
    }
  }
  return text.str();
}

}  // namespace

TEST_CASE("train takes the arrays that --map names where several fit") {
  const Workshop shop;
  prepare(shop);
  const Tensor x = load_array(shop / "data/x_train.npy");
  const Tensor y = load_array(shop / "data/y_train.npy");
  Tensor far = x.clone();
  for (float& one : far.mutable_values<float>()) one = 0.75F - 2 * one;
  const std::string near_by = trained_on(shop, x, y);
  const std::string far_by = trained_on(shop, far, y);
  REQUIRE(near_by != far_by);
  save_array(shop / "points.npy", x);
  save_array(shop / "far.npy", far);
  save_array(shop / "kinds.npy", y);
  const std::string data = "--data points.npy far.npy kinds.npy --map y=kinds --map x=";
  CHECK(trained_with(shop, data + "points") == near_by);
  CHECK(trained_with(shop, data + "far") == far_by);
}

TEST_CASE("--target says which column of a table is predicted, --fill what stands for a gap") {
  const Workshop shop;
  prepare(shop);
  Tensor x = load_array(shop / "data/x_train.npy").clone();
  const Tensor y = load_array(shop / "data/y_train.npy");
  const std::string expected = trained_on(shop, x, y);
  shop.write("whole.csv", table(x, y, x.values<float>().size()));
  CHECK(trained_with(shop, "--data whole.csv --target y") == expected);
  x.mutable_values<float>()[9] = -2.5F;
  const std::string filled = trained_on(shop, x, y);
  REQUIRE(filled != expected);
  shop.write("gap.csv", table(x, y, 9));
  CHECK(trained_with(shop, "--data gap.csv --target y --fill -2.5") == filled);
  shop.refuse(train + "--data gap.csv --target y", "gap.csv");
}

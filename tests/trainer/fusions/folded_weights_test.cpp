// Constant normalization folded into weights so large that they are computed when they are first
// asked for.
#include <ondine/build.h>
#include <ondine/model.h>

#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/fusions_run.h"
#include "tests/support/op_harness.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

constexpr std::int64_t channels = 80;  // 25,600 bytes of float32 weights

Tensor numbers(DType dtype, const Shape& shape, std::uint64_t seed, float low, float high) {
  const Tensor floats = random_floats(shape, seed, low, high);
  if (dtype == DType::float32) return floats;
  Tensor doubles(DType::float64, shape);
  std::ranges::copy(floats.values<float>(), doubles.mutable_values<double>().begin());
  return doubles;
}

void save_network(const std::filesystem::path& file, DType dtype) {
  ModelBuilder b("network");
  const auto constant = [&](const std::string& name, const Shape& shape, std::uint64_t seed,
                            float low) {
    return b.initializer(name, numbers(dtype, shape, seed, low, 1.5F));
  };
  const std::string x = b.input("x", dtype, {"N", channels, 5, 5});
  const std::string y = b.node("Conv", {x, constant("w", {channels, channels, 1, 1}, 1, -1.5F)});
  b.output(b.node("BatchNormalization",
                  {y, constant("scale", {channels}, 2, 0.5F), constant("bias", {channels}, 3, -1),
                   constant("mean", {channels}, 4, -1), constant("var", {channels}, 5, 0.5F)}),
           dtype, {"N", channels, 5, 5});
  b.save(file);
}

std::vector<double> inferred(const std::filesystem::path& file, DType dtype,
                             const LoadOptions& options) {
  Model model = Model::load(file, options);
  const NamedValues input{{"x", numbers(dtype, {2, channels, 5, 5}, 9, -1, 1)}};
  std::vector<double> all;
  for (int call = 0; call < 2; ++call) {
    const NamedValues results = model.infer(input);
    const Tensor& y = results[0].second.tensor();
    if (dtype == DType::float32) {
      all.insert(all.end(), y.values<float>().begin(), y.values<float>().end());
    } else {
      all.insert(all.end(), y.values<double>().begin(), y.values<double>().end());
    }
  }
  return all;
}

void check_near(const std::vector<double>& got, const std::vector<double>& want, double margin) {
  REQUIRE(got.size() == want.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - want[i]));
  CHECK(worst < margin);
}

}  // namespace

TEST_CASE("large weights with a normalization folded into them give what the two nodes give") {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  for (const DType dtype : {DType::float32, DType::float64}) {
    CAPTURE(dtype);
    save_network(file, dtype);
    LoadOptions apart;
    apart.no_fusion = {Fusion::fold_normalization};
    const auto want = inferred(file, dtype, apart);
    if (fusions_run()) {
      const std::string text = Model::load(file).inspect("optimized");
      CHECK(count(text, "= BatchNormalization") == 0);
    }
    check_near(inferred(file, dtype, {}), want, dtype == DType::float32 ? 1e-4 : 1e-12);
    LoadOptions lean;
    lean.memory_budget = std::uint64_t{1} << 20;
    check_near(inferred(file, dtype, lean), want, dtype == DType::float32 ? 1e-4 : 1e-12);
    LoadOptions rounded;
    rounded.precision = Precision::bfloat16;
    check_near(inferred(file, dtype, rounded), want, 0.3);
  }
}

}  // namespace ondine::test

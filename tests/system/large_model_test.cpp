// Models whose weights are much larger than what a command needs of them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include <ondine/build.h>
#include <ondine/model.h>

#include "tests/support/temporary_folder.h"
#include "tests/system/run/cli_run.h"

using cli_test::Workshop;
using namespace ondine;

namespace {

constexpr std::int64_t n = 4096;
constexpr std::uint64_t weight_bytes = n * n * sizeof(float);

// Two products with 64 MB of frozen weights each, one of them stored transposed.
void write_model(const std::filesystem::path& file) {
  Tensor w(DType::float32, {n, n});
  for (float& x : w.mutable_values<float>()) x = 0.5F;
  ModelBuilder b("network");
  const std::string x = b.input("x", DType::float32, {"N", n});
  const std::string turned = b.node("Transpose", {b.initializer("a", w)});
  const std::string h = b.node("MatMul", {x, turned});
  b.output(b.node("MatMul", {h, b.initializer("b", w)}, {}, "y"), DType::float32, {"N", n});
  b.save(file);
}

std::uint64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != key + ":") continue;
    std::uint64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes << 10;
  }
  return 0;
}

// Runs it; the most memory that was resident meanwhile beyond that before.
template <class Body>
std::uint64_t peak_of(const Body& body) {
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak so far is forgotten
  const std::uint64_t before = status_bytes("VmRSS");
  body();
  const std::uint64_t peak = std::max(status_bytes("VmRSS"), status_bytes("VmHWM"));
  return peak - std::min(peak, before);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool measures = false;  // of what the program takes, most is not its own
#else
constexpr bool measures = true;
#endif

}  // namespace

TEST_CASE("loading, checking and planning a large model do not read its weights") {
  const test::TemporaryFolder folder;
  const auto inside = folder / "inside.onnx";
  const auto outside = folder / "outside.onnx";
  write_model(inside);
  Model::load(inside).export_inference(outside, {.external_data_from = 1000});
  for (const auto& file : {inside, outside}) {
    INFO(file.string());
    const std::uint64_t loading = peak_of([&] {
      CHECK(check_model(file).empty());
      const Model model = Model::load(file);
      CHECK(model.fingerprint_bytes() == 2 * weight_bytes);
      CHECK_THAT(model.inspect(Stage::optimized), Catch::Contains("MatMul"));
      PlanRequest request;
      request.shapes = {{"x", Shape{2, n}}};
      CHECK(model.plan_report(request).constant_bytes == 2 * weight_bytes);
    });
    if (measures) CHECK(loading < std::uint64_t{16} << 20);
    // Running it reads every weight once.
    const std::uint64_t running = peak_of([&] {
      const Model model = Model::load(file);
      const auto results = model.infer(NamedValues{{"x", Tensor(DType::float32, {2, n})}});
      CHECK(results[0].second.tensor().item<float>() == 0);
    });
    if (measures) CHECK(running < 2 * weight_bytes + (std::uint64_t{32} << 20));
  }
}

TEST_CASE("info computes the fingerprint of many weights only on request") {
  const Workshop shop;
  write_model(shop / "large.onnx");
  CHECK_THAT(shop.succeed("info large.onnx").out,
             Catch::Contains("fingerprint: not computed (of 128.0 MiB); --fingerprint"));
  CHECK_THAT(shop.succeed("info large.onnx --json").out, Catch::Contains("\"fingerprint\": null"));
  const std::string text = shop.succeed("info large.onnx --fingerprint").out;
  const std::size_t at = text.find("fingerprint: ");
  REQUIRE(at != std::string::npos);
  const std::string digest = text.substr(at + 13, 64);
  CHECK(digest.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK_THAT(shop.succeed("info large.onnx --json --fingerprint").out, Catch::Contains(digest));
  CHECK_THAT(shop.succeed("info net.onnx").out, !Catch::Contains("not computed"));
}

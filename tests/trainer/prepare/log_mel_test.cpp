// The log-mel spectrogram as a part of the model.
#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <numbers>

#include <ondine/build.h>
#include <ondine/dataset.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr std::int64_t bands = 5;
constexpr std::int64_t frames = 4;
constexpr std::int64_t window = 16;
constexpr std::int64_t hop = 6;
constexpr std::int64_t samples = window + (frames - 1) * hop;

LogMel small_mel() {
  return {.bands = bands, .rate = 800, .window = window, .hop = hop, .low = 20, .offset = 1e-3};
}

// Flatten -> Gemm on an input of `dims`, which has bands x frames numbers a row.
ModelBuilder classifier(const std::vector<std::int64_t>& dims, std::int64_t opset = 18) {
  ModelBuilder b("classifier", opset);
  std::vector<ModelBuilder::Dim> all{"N"};
  for (const std::int64_t dim : dims) all.emplace_back(dim);
  b.input("x", DType::float32, all);
  b.node("Flatten", {"x"}, {}, "flat");
  b.node("Gemm",
         {"flat", b.initializer("w", random_floats({bands * frames, 3}, 1)),
          b.initializer("b", random_floats({3}, 2))},
         {}, "logits");
  b.output("logits", DType::float32, {"N", 3});
  return b;
}

// The weight of DFT bin `bin` in a band, after the definition of MelWeightMatrix: triangles whose
// corners are bins, evenly spaced on the mel scale 2595 log10(1 + f / 700), the highest frequency
// one step above the last corner.
double weight(std::int64_t bin, std::int64_t band) {
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(20);
  const double step = (mel(400) - low) / (bands + 2);
  const auto corner = [&](std::int64_t i) {
    const double hertz = 700 * (std::pow(10, (low + step * static_cast<double>(i)) / 2595) - 1);
    return std::floor((window + 1) * hertz / 800);
  };
  const double left = corner(band);
  const double center = corner(band + 1);
  const double right = corner(band + 2);
  const auto at = static_cast<double>(bin);
  if (center == left && at == center) return 1;
  if (at >= left && at <= center && center > left) return (at - left) / (center - left);
  if (at > center && at < right) return (right - at) / (right - center);
  return 0;
}

// [N, frames, bands] by the definitions.
std::vector<double> log_mel(const Tensor& sound) {
  std::vector<double> result;
  const auto x = sound.values<float>();
  for (std::int64_t n = 0; n < sound.shape()[0]; ++n) {
    for (std::int64_t frame = 0; frame < frames; ++frame) {
      std::vector<double> power;
      for (std::int64_t bin = 0; bin <= window / 2; ++bin) {
        std::complex<double> sum;
        for (std::int64_t i = 0; i < window; ++i) {
          const double turn = 2 * std::numbers::pi * static_cast<double>(i) / window;
          const auto sample =
              static_cast<double>(x[static_cast<std::size_t>(n * samples + frame * hop + i)]);
          sum += sample * (0.5 - 0.5 * std::cos(turn)) *
                 std::polar(1.0, -turn * static_cast<double>(bin));
        }
        power.push_back(std::norm(sum));
      }
      for (std::int64_t band = 0; band < bands; ++band) {
        double sum = 1e-3;
        for (std::int64_t bin = 0; bin <= window / 2; ++bin) {
          sum += power[static_cast<std::size_t>(bin)] * weight(bin, band);
        }
        result.push_back(std::log(sum));
      }
    }
  }
  return result;
}

// In the order of axes that the model takes.
Tensor arranged(const std::vector<double>& values, const Shape& shape, bool bands_last) {
  Tensor result(DType::float32, shape);
  auto to = result.mutable_values<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t n = i / (bands * frames);
    const std::size_t rest = i % (bands * frames);
    const std::size_t from = bands_last ? rest : rest % frames * bands + rest / frames;
    to[i] = static_cast<float>(values[n * bands * frames + from]);
  }
  return result;
}

void check_near(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  for (std::size_t i = 0; i < a.values<float>().size(); ++i) {
    CHECK(static_cast<double>(a.values<float>()[i]) ==
          Approx(static_cast<double>(b.values<float>()[i])).epsilon(1e-4).margin(1e-4));
  }
}

std::string refusal(const ModelBuilder& model, const LogMel& mel) {
  try {
    prepare(model.bytes(), {.preprocess = {{.mel = mel}}});
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

Tensor labels() { return Tensor::of(Shape{2}, std::vector<std::int64_t>{2, 1}); }

}  // namespace

TEST_CASE("a model with log-mel takes raw samples, in inference, training and after export") {
  const Tensor sound = random_floats({2, samples}, 5);
  const std::vector<double> expected = log_mel(sound);
  struct Case {
    std::vector<std::int64_t> dims;
    bool bands_last;
  };
  for (const auto& [dims, bands_last] :
       {Case{{1, bands, frames}, false}, Case{{1, frames, bands}, true},
        Case{{frames, bands, 1}, true}, Case{{bands, frames}, false}}) {
    for (const std::int64_t opset : {17, 18, 21}) {
      Model model = prepare(classifier(dims, opset).bytes(),
                            {.init = WeightInit::keep, .preprocess = {{.mel = small_mel()}}});
      CHECK(model.inputs()[0].dims == std::vector<std::int64_t>{-1, samples});
      CHECK(sample_rate(model) == 800);
      Model plain = prepare(classifier(dims, opset).bytes(), {.init = WeightInit::keep});
      Shape shape{2};
      for (const std::int64_t dim : dims) shape.push_back(dim);
      const Tensor features = arranged(expected, shape, bands_last);
      check_near(model.infer({{"x", sound}})["logits"].tensor(),
                 plain.infer({{"x", features}})["logits"].tensor());
      const double a = model.train_step({{"x", sound}, {"label", labels()}}).scalar("loss");
      const double b = plain.train_step({{"x", features}, {"label", labels()}}).scalar("loss");
      CHECK(a == Approx(b).epsilon(1e-4));
      const Model deployed = Model::load(model.export_inference());
      CHECK(sample_rate(deployed) == 800);
      CHECK(deployed.infer({{"x", sound}})["logits"].tensor().identical(
          model.infer({{"x", sound}})["logits"].tensor()));
    }
  }
}

TEST_CASE("log-mel takes 16-bit samples with a scale, then a mean and a deviation") {
  const Tensor sound = random_floats({2, samples}, 6);
  Tensor raw(DType::int16, sound.shape());
  Tensor rounded(DType::float32, sound.shape());
  for (std::size_t i = 0; i < sound.values<float>().size(); ++i) {
    const auto value = static_cast<std::int16_t>(std::lround(sound.values<float>()[i] * 30000));
    raw.mutable_values<std::int16_t>()[i] = value;
    rounded.mutable_values<float>()[i] = static_cast<float>(value) / 32768;
  }
  LogMel mel = small_mel();
  mel.type = DType::int16;
  Model model =
      prepare(classifier({1, bands, frames}).bytes(),
              {.init = WeightInit::keep,
               .preprocess = {{.scale = 1.0 / 32768, .mel = mel, .mean = {-2}, .deviation = {4}}}});
  CHECK(model.inputs()[0].dtype == DType::int16);
  Model plain = prepare(classifier({1, bands, frames}).bytes(), {.init = WeightInit::keep});
  std::vector<double> expected = log_mel(rounded);
  for (double& value : expected) value = (value + 2) / 4;
  check_near(
      model.infer({{"x", raw}})["logits"].tensor(),
      plain.infer({{"x", arranged(expected, {2, 1, bands, frames}, false)}})["logits"].tensor());
}

TEST_CASE("what a log-mel spectrogram cannot be is named") {
  const ModelBuilder model = classifier({1, bands, frames});
  LogMel mel = small_mel();
  mel.bands = 7;
  CHECK_THAT(refusal(model, mel), Contains("[N, 1, 7, frames]") && Contains("'x'"));
  mel = small_mel();
  mel.high = 401;
  CHECK_THAT(refusal(model, mel), Contains("half the rate"));
  mel = small_mel();
  mel.hop = 0;
  CHECK_THAT(refusal(model, mel), Contains("hop"));
  mel = small_mel();
  mel.type = DType::uint8;
  CHECK_THAT(refusal(model, mel), Contains("int16"));
  CHECK_THAT(refusal(classifier({1, bands, frames}, 16), small_mel()), Contains("ai.onnx 17"));
}

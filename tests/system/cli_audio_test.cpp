// Recordings in folders from the command line.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <numbers>

#include <ondine/build.h>

#include "tests/support/random_tensor.h"
#include "tests/support/wave.h"
#include "tests/system/run/cli_run.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using cli_test::Workshop;

namespace {

// A tone of a tenth of a second.
std::string tone(std::uint32_t rate, double frequency) {
  std::vector<int> samples(rate / 10);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double turns = frequency * static_cast<double>(i) / rate;
    samples[i] = static_cast<int>(8000 * std::sin(2 * std::numbers::pi * turns));
  }
  return wave(rate, samples);
}

// net.onnx, spectrogram [N, 1, 8, 10] -> logits [N, 2], and twelve recordings of high and low
// tones.
void fill(const Workshop& shop) {
  ModelBuilder b("tones");
  const std::string x = b.input("x", DType::float32, {"N", 1, 8, 10});
  b.node("Flatten", {x}, {}, "flat");
  b.node("Gemm", {"flat", b.initializer("w", random_floats({80, 2}, 1, -0.1F, 0.1F))}, {},
         "logits");
  b.output("logits", DType::float32, {"N", 2});
  const std::vector<std::byte> bytes = b.bytes();
  shop.write("net.onnx", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (const std::string name : {"high", "low"}) {
    std::filesystem::create_directories(shop / ("tones/" + name));
    for (int i = 0; i < 6; ++i) {
      const double frequency = (name == "high" ? 1200 : 300) + 20 * i;
      shop.write("tones/" + name + "/" + std::to_string(i) + ".wav",
                 tone(i == 5 ? 8000 : 4000, frequency));
    }
  }
}

constexpr const char* prepare_arguments =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
    "--learning-rate 0.05 --init keep --preprocess mel=8,rate=4000,window=64,hop=32,mean=-2,std=4";
constexpr const char* train_arguments =
    "train train.onnx --data tones --batch-size 4 --augment time-shift=0.01,noise=0.05 ";

}  // namespace

TEST_CASE("a folder of recordings is prepared for, trained on, evaluated and inferred") {
  const Workshop shop;
  fill(shop);
  shop.succeed(prepare_arguments);
  const auto trained = shop.succeed(std::string(train_arguments) + "--epochs 8 -o tuned.onnx");
  CHECK_THAT(trained.err, Contains("2 of 12 recordings are resampled to 4000"));
  CHECK_THAT(shop.succeed("eval tuned.onnx --data tones").out, Contains("accuracy 1 over 12"));
  const auto top = shop.succeed("infer tuned.onnx --data tones/low/1.wav tones/high/5.wav");
  CHECK_THAT(top.out, Contains("tones/low/1.wav  low ") && Contains("tones/high/5.wav  high "));
  // A run in two parts ends with the same bits.
  shop.succeed(std::string(train_arguments) + "--epochs 3 --checkpoint a.ckpt");
  shop.succeed(std::string(train_arguments) +
               "--epochs 8 --checkpoint a.ckpt --resume -o resumed.onnx");
  CHECK(shop.read("tuned.onnx") == shop.read("resumed.onnx"));
}

TEST_CASE("recordings that do not fit are named") {
  const Workshop shop;
  fill(shop);
  shop.succeed(prepare_arguments);
  const std::string train = std::string(train_arguments) + "--epochs 1 ";
  shop.refuse(train + "--no-resample", "tones/high/5.wav");
  shop.refuse(train + "--sample-rate 8000", "the model takes 4000");
  for (const std::string name : {"high", "low"}) {
    shop.write("tones/" + name + "/5.wav", tone(4000, 900));
  }
  shop.write("tones/low/broken.wav", tone(4000, 300).substr(0, 100));
  shop.refuse(train, "tones/low/broken.wav");
  CHECK_THAT(shop.succeed(train + "--skip-broken").err,
             Contains("1 broken recordings are left out") && Contains("broken.wav"));
  shop.misuse("prepare net.onnx -o t.onnx --loss mse --preprocess rate=8000", "mel=BANDS");
}

TEST_CASE("recordings of another rate than the model's are resampled to it, also all of them") {
  const Workshop shop;
  fill(shop);
  shop.succeed(prepare_arguments);
  for (const std::string name : {"high", "low"}) {
    for (int i = 0; i < 6; ++i) {
      shop.write("tones/" + name + "/" + std::to_string(i) + ".wav", tone(8000, 900));
    }
  }
  for (const std::string rate : {"", " --sample-rate 4000", " --sample-rate 0"}) {
    CHECK_THAT(shop.succeed(train_arguments + ("--epochs 1" + rate)).err,
               Contains("12 of 12 recordings are resampled to 4000"));
  }
}

// Settings of --preprocess and --augment: each is the setting of the library that it is named
// after.
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include <ondine/build.h>
#include <ondine/data.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

#include "tests/support/bitmap.h"
#include "tests/support/random_tensor.h"
#include "tests/support/wave.h"
#include "tests/system/run/cli_run.h"

using namespace ondine;
using namespace ondine::test;
using cli_test::Workshop;

namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// `name` [N, 3, 4, 4] -> y, the sum of weighted channels, [N, 1].
void write_images(const Workshop& shop, const std::string& file, const std::string& name) {
  ModelBuilder b("images");
  const std::string x = b.input(name, DType::float32, {"N", 3, 4, 4});
  b.node("Conv", {x, b.initializer("w", random_floats({1, 3, 4, 4}, 1, -0.1F, 0.1F))}, {}, "maps");
  b.node("Flatten", {"maps"}, {}, "y");
  b.output("y", DType::float32, {"N", 1});
  shop.write(file, text_of(b.bytes()));
}

void write_tones(const Workshop& shop) {
  ModelBuilder b("tones");
  const std::string x = b.input("x", DType::float32, {"N", 1, 8, 10});
  b.node("Flatten", {x}, {}, "flat");
  b.node("Gemm", {"flat", b.initializer("w", random_floats({80, 1}, 1, -0.1F, 0.1F))}, {}, "y");
  b.output("y", DType::float32, {"N", 1});
  shop.write("tones.onnx", text_of(b.bytes()));
}

void check_preprocess(const Workshop& shop, const std::string& model, const std::string& text,
                      const Preprocess& preprocess) {
  INFO(text);
  shop.succeed("prepare " + model + " -o t.onnx --loss mse --init keep --preprocess " + text);
  PrepareOptions options;
  options.loss = Loss::mse;
  options.init = WeightInit::keep;
  options.preprocess = {preprocess};
  prepare(shop / model, shop / "by_library.onnx", options);
  CHECK(shop.read("t.onnx") == shop.read("by_library.onnx"));
}

}  // namespace

TEST_CASE("each setting of --preprocess of images is the one of the library") {
  const Workshop shop;
  write_images(shop, "net.onnx", "x");
  const auto check = [&](const std::string& text, const Preprocess& preprocess) {
    check_preprocess(shop, "net.onnx", text, preprocess);
  };
  check("scale=1/255", {.scale = 1.0 / 255});
  check("scale=0.125,mean=0.5", {.scale = 0.125, .mean = {0.5F}});
  check("std=0.25", {.deviation = {0.25F}});
  check("mean=-1:2/5:3,std=0.25:0.5:4", {.mean = {-1, 0.4F, 3}, .deviation = {0.25F, 0.5F, 4}});
  check("type=int16,layout=nchw", {.type = DType::int16, .layout = Layout::nchw});
  check("layout=nhwc,resize=4x4", {.layout = Layout::nhwc, .resize = ImageSize{4, 4}});
  write_images(shop, "named.onnx", "picture");
  check_preprocess(shop, "named.onnx", "input=picture,scale=3", {.input = "picture", .scale = 3});
}

TEST_CASE("each setting of --preprocess of recordings is the one of the library") {
  const Workshop shop;
  write_tones(shop);
  const auto check = [&](const std::string& text, const LogMel& mel, double scale = 1) {
    check_preprocess(shop, "tones.onnx", "mel=8," + text, {.scale = scale, .mel = mel});
  };
  check("rate=4000", {.bands = 8, .rate = 4000});
  check("window=64,hop=32", {.bands = 8, .window = 64, .hop = 32});
  check("low=100,high=3000.5", {.bands = 8, .low = 100, .high = 3000.5});
  check("offset=0.001", {.bands = 8, .offset = 0.001});
  check("scale=0.5,type=float32", {.bands = 8}, 0.5);
}

TEST_CASE("each setting of --augment is the one of the library") {
  const Workshop shop;
  write_images(shop, "net.onnx", "x");
  shop.succeed("prepare net.onnx -o train.onnx --loss mse --optimizer sgd --init keep --label t");
  save_array(shop / "x.npy", random_floats({12, 3, 4, 4}, 2, 0, 1));
  save_array(shop / "t.npy", random_floats({12, 1}, 3, 0, 1));
  const std::vector<std::filesystem::path> places{shop / "x.npy", shop / "t.npy"};
  std::set<std::string> results;
  const auto check = [&](const std::string& text, const Augmentation& augmentation) {
    INFO(text);
    shop.succeed(
        "train train.onnx --data x.npy t.npy --epochs 2 --batch-size 4 --seed 5 -o "
        "by_command.onnx" +
        (text.empty() ? "" : " --augment " + text));
    LoadOptions load;
    load.seed = 5;
    Model model = Model::load(shop / "train.onnx", load);
    TrainerOptions options{.epochs = 2, .batch_size = 4, .seed = 5};
    options.augmentation = augmentation;
    Trainer(model, options).fit(Dataset::open(places));
    const std::string by_library = text_of(model.export_inference());
    CHECK(shop.read("by_command.onnx") == by_library);
    CHECK(results.insert(by_library).second);
  };
  check("", {});
  check("flip", {.flip = true});
  check("flip-vertical", {.flip_vertical = true});
  check("crop=2", {.crop = 2});
  check("rotate=22.5", {.rotate = 22.5});
  check("scale=0.5:0.75", {.scale_min = 0.5, .scale_max = 0.75});
  check("scale=1:3/2", {.scale_max = 1.5});
  check("color=0.25", {.color = 0.25});
  check("cutout=2", {.cutout = 2});
  check("mixup=0.5", {.mixup = 0.5});
  check("crop=1,flip", {.flip = true, .crop = 1});
}

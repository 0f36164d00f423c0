// Training runs that change images, and names of classes.
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/build.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

#include "tests/support/bitmap.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// Raw images [N, 4, 4, 3] in two classes.
Model image_model() {
  ModelBuilder b("images");
  const std::string x = b.input("x", DType::float32, {"N", 3, 4, 4});
  b.node("Conv", {x, b.initializer("w", random_floats({2, 3, 4, 4}, 1, -0.1F, 0.1F))}, {}, "maps");
  b.node("Flatten", {"maps"}, {}, "logits");
  b.output("logits", DType::float32, {"N", 2});
  return prepare(
      b.bytes(),
      {.optimizer = Adam{}, .init = WeightInit::keep, .preprocess = {{.scale = 1.0 / 255}}});
}

// Images of classes "dark" and "light".
void write_images(const fs::path& folder, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    std::vector<std::array<unsigned, 3>> pixels(16);
    for (unsigned p = 0; p < 16; ++p) {
      pixels[p] = {(i * 7 + p * 5) % 90 + i % 2 * 120, p * 3, i % 2 * 99};
    }
    const fs::path file = folder / (i % 2 == 0 ? "dark" : "light") / (std::to_string(i) + ".bmp");
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bitmap(4, 4, pixels);
  }
}

TrainerOptions options() {
  return {.epochs = 2,
          .batch_size = 4,
          .seed = 3,
          .augmentation = Augmentation{.flip = true, .crop = 1, .rotate = 15, .color = 0.2}};
}

}  // namespace

TEST_CASE("an augmented run that is stopped after any step and resumed ends with the same bits") {
  const TemporaryFolder folder;
  write_images(folder / "data", 10);
  Model whole = image_model();
  EpochReport last;
  Trainer uninterrupted(whole, options());
  uninterrupted.on_epoch([&](const EpochReport& epoch) { last = epoch; });
  uninterrupted.fit(Dataset::open(folder / "data", {.threads = 2}));
  REQUIRE(last.data_wait);
  CHECK(*last.data_wait >= 0);
  CHECK(*last.data_wait <= last.seconds);
  TrainerOptions plain = options();
  plain.augmentation.reset();
  Model other = image_model();
  Trainer(other, plain).fit(Dataset::open(folder / "data"));
  CHECK_FALSE(same_state(whole, other));
  for (int stop = 1; stop <= 5; ++stop) {
    TrainerOptions half = options();
    half.checkpoint = folder / (std::to_string(stop) + ".ckpt");
    Model first = image_model();
    Trainer stopped(first, half);
    int steps = 0;
    stopped.on_step([&](const StepReport&) { return ++steps < stop; });
    stopped.fit(Dataset::open(folder / "data", {.threads = 1}));
    half.resume = true;
    Model second = image_model();
    Trainer(second, half).fit(Dataset::open(folder / "data", {.threads = 3}));
    CHECK(same_state(whole, second));
    half.augmentation->crop = 2;
    Model third = image_model();
    Trainer changed(third, half);
    CHECK_THROWS_WITH(changed.resume(), Contains("--augment") && Contains("crop=1"));
  }
}

TEST_CASE("training writes the names of the classes into the model, and evaluation uses them") {
  const TemporaryFolder folder;
  write_images(folder / "data", 10);
  Model model = image_model();
  CHECK(class_names(model).empty());
  Trainer trainer(model, options());
  trainer.fit(Dataset::open(folder / "data"));
  CHECK(class_names(model) == std::vector<std::string>{"dark", "light"});
  const Model tuned = Model::load(model.export_inference());
  CHECK(class_names(tuned) == std::vector<std::string>{"dark", "light"});
  // One class alone keeps its position.
  fs::rename(folder / "data/dark", folder / "elsewhere");
  const Dataset light = Dataset::open(folder / "data", {.classes = class_names(tuned)});
  CHECK(light.classes() == std::vector<std::string>{"dark", "light"});
  const Dataset as_first = Dataset::open(folder / "data");
  CHECK(evaluate(tuned, light).metrics.contains("accuracy"));
  CHECK_THROWS_WITH(evaluate(tuned, as_first), Contains("the classes of the data ('light')"));
  fs::rename(folder / "elsewhere", folder / "data/shady");
  CHECK_THROWS_WITH(Dataset::open(folder / "data", {.classes = class_names(tuned)}),
                    Contains("'shady'") && Contains("model's classes"));
  // Labels in another order than the model's would train the wrong classes.
  fs::rename(folder / "data/shady", folder / "data/dark");
  const Dataset turned = Dataset::open(folder / "data", {.classes = {"light", "dark"}});
  CHECK_THROWS_WITH(trainer.fit(turned), Contains("are not those of the model"));
}

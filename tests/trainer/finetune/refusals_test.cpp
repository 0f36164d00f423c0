// Refusals of finetune: choices that it does not guess.
#include <catch2/catch.hpp>

#include <ondine/finetune.h>

#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/finetune/sample_data.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

TEST_CASE("targets that cannot be told are asked for") {
  const Tensor x = random_floats({20, 4}, 1, -1, 1);
  CHECK_THROWS_WITH(finetune({}, Dataset::from({{"a", x}, {"b", x}, {"c", x}})),
                    Contains("name it (--target)") && Contains("'a', 'b', 'c'"));
  CHECK_THROWS_WITH(finetune({}, Dataset::from({{"a", x}})), Contains("have no targets"));
  FinetuneOptions options;
  options.epochs = 1;
  options.data.target = "c";
  CHECK_THROWS_WITH(finetune({}, Dataset::from({{"a", x}, {"b", x}}), options),
                    Contains("no column 'c'"));
  options.data.target = "b";
  CHECK(finetune({}, Dataset::from({{"a", x}, {"b", x}}), options).metric == "rmse");
}

TEST_CASE("numbers are no classes unless they count up") {
  const Tensor x = random_floats({40, 4}, 1, -1, 1);
  Tensor y(DType::int64, {40});
  for (std::size_t i = 0; i < 40; ++i) {
    y.mutable_values<std::int64_t>()[i] = static_cast<std::int64_t>(i % 3) + 5;
  }
  FinetuneOptions options;
  options.epochs = 1;
  const Dataset data = Dataset::from({{"x", x}, {"y", y}});
  const FinetuneReport report = finetune({}, data, options);
  CHECK(report.metric == "rmse");
  CHECK_THAT(report.assumed[0], Contains("integers from 5 to 7"));
  options.targets = TargetKind::classes;
  CHECK(finetune({}, data, options).metric == "accuracy");
  options.targets = TargetKind::labels;
  CHECK_THROWS_WITH(finetune({}, data, options), Contains("labels are 0 or 1"));
}

TEST_CASE("options without effect are errors") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 60, {"rose", "lily"});
  const auto refuse = [&](const FinetuneOptions& options, const char* text) {
    CHECK_THROWS_WITH(finetune({}, folder / "flowers.csv", options), Contains(text));
  };
  FinetuneOptions options;
  options.prepare.loss = Loss::mse;
  refuse(options, "prepare.loss has no effect; set loss");
  options = {};
  options.trainer.epochs = 3;
  refuse(options, "trainer.epochs has no effect; set epochs");
  options = {};
  options.validation = folder / "flowers.csv";
  options.validation_split = 0.5;
  refuse(options, "exclude each other");
  options = {};
  options.patience = 0;
  options.trainer.early_stopping = EarlyStopping{.metric = "val_accuracy"};
  refuse(options, "trainer.early_stopping has no effect with patience 0");
  options = {};
  options.data.text.next.pack = true;
  refuse(options, "finetune evaluates rows of one text");
  options = {};
  options.loss = Loss::triplet;
  refuse(options, "cannot evaluate a network with the loss triplet");
}

TEST_CASE("a network of another kind than the data is refused") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 60, {"rose", "lily"});
  const Dataset table = Dataset::open(folder / "flowers.csv");
  CHECK(choose_network(table) == NetworkKind::mlp);
  CHECK_THROWS_WITH(new_network(NetworkKind::cnn, table), Contains("cnn needs images"));
  CHECK_THROWS_WITH(new_network(NetworkKind::text, table), Contains("needs texts"));
  write_masks(folder / "shapes", 4, 1);
  const Dataset masks = Dataset::open(folder / "shapes");
  CHECK(choose_network(masks) == NetworkKind::unet);
  CHECK_THROWS_WITH(new_network(NetworkKind::cnn, masks), Contains("need a unet"));
  CHECK_THROWS_WITH(network_kind_from_name("gan"), Contains("mlp, cnn, unet, text, audio"));
}

TEST_CASE("a model that trains already is refused") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 60, {"rose", "lily"});
  FinetuneOptions options;
  options.epochs = 1;
  const FinetuneReport report = finetune({}, folder / "flowers.csv", options);
  CHECK_THROWS_WITH(finetune(*report.model, folder / "flowers.csv"),
                    Contains("has training information already"));
}

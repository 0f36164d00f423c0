// One trainer at a time has a checkpoint; a run that may exist is resumed or begun.
#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

struct Run {
  TemporaryFolder folder;
  std::filesystem::path file = folder / "run.ckpt";
  Dataset data = Dataset::from(line_data(10));

  TrainerOptions options(std::uint64_t epochs) const {
    return {.epochs = epochs, .batch_size = 4, .seed = 3, .checkpoint = file};
  }
  TrainerOptions resuming(std::uint64_t epochs) const {
    TrainerOptions result = options(epochs);
    result.resume = true;
    return result;
  }
  bool is_locked() const { return std::filesystem::exists(file.string() + ".lock"); }
};

}  // namespace

TEST_CASE_METHOD(Run, "a trainer is refused the checkpoint that another one writes") {
  Model model = line_model();
  Trainer trainer(model, options(2));
  bool tried = false;
  trainer.on_epoch([&](const EpochReport&) {
    CHECK(is_locked());
    for (const bool resume : {false, true}) {
      Model other = line_model();
      TrainerOptions again = resume ? resuming(2) : options(2);
      again.overwrite = !resume;
      Trainer second(other, again);
      CHECK_THROWS_WITH(second.fit(data), Contains("run.ckpt") && Contains("in use"));
      CHECK_THROWS_WITH(second.try_outputs(), Contains("in use"));
      if (resume) CHECK_THROWS_WITH(second.resume(), Contains("in use"));
      CHECK(same_state(other, line_model()));
    }
    tried = true;
  });
  trainer.fit(data);
  CHECK(tried);
  CHECK_FALSE(is_locked());
}

TEST_CASE_METHOD(Run, "a checkpoint is free again when its run has ended in whatever way") {
  Model model = line_model();
  Trainer first(model, options(1));
  first.fit(data);
  // The first trainer still lives.
  Model other = line_model();
  Trainer second(other, resuming(3));
  second.resume();
  CHECK(is_locked());
  second.on_step([](const StepReport&) -> bool { throw std::runtime_error("stopped"); });
  CHECK_THROWS(second.fit(data));
  CHECK_FALSE(is_locked());
  Model third_model = line_model();
  Trainer third(third_model, resuming(3));
  CHECK(third.fit(data).epochs == 3);
  {
    Model unfinished = line_model();
    Trainer only_resumed(unfinished, resuming(4));
    only_resumed.resume();
    CHECK(is_locked());
  }
  CHECK_FALSE(is_locked());
}

TEST_CASE_METHOD(Run, "a trainer that resumes nothing leaves no lock behind") {
  Model model = line_model();
  Trainer trainer(model, resuming(1));
  CHECK_THROWS_AS(trainer.resume(), Error);
  CHECK_FALSE(is_locked());
  CHECK_THROWS_AS(trainer.fit(data), Error);
  CHECK_FALSE(is_locked());
}

TEST_CASE_METHOD(Run, "a run that may exist is begun, and continued with the same bits") {
  CHECK_FALSE(has_checkpoint(file));
  CHECK_FALSE(has_checkpoint(""));
  const auto fit = [&](std::uint64_t epochs) {
    Model model = line_model();
    TrainerOptions maybe = options(epochs);
    maybe.resume_if_exists = true;
    Trainer(model, maybe).fit(data);
    return model;
  };
  fit(2);
  CHECK(has_checkpoint(file));
  const Model continued = fit(4);
  Model whole = line_model();
  TrainerOptions in_one = options(4);
  in_one.checkpoint.clear();
  Trainer(whole, in_one).fit(data);
  CHECK(same_state(continued, whole));
  std::filesystem::remove(file);
  CHECK(has_checkpoint(file));  // the generation before
  CHECK(same_state(fit(4), whole));
  TrainerOptions nowhere{.resume_if_exists = true};
  Model model = line_model();
  CHECK_THROWS_WITH(Trainer(model, nowhere), Contains("no checkpoint to resume"));
}

TEST_CASE_METHOD(Run,
                 "a linked checkpoint is the file that it leads to, for saving and for locking") {
  std::filesystem::create_directory(folder / "far");
  std::filesystem::create_symlink("far/real.ckpt", folder / "link.ckpt");
  Model model = line_model();
  TrainerOptions linked = options(2);
  linked.checkpoint = folder / "link.ckpt";
  linked.early_stopping = EarlyStopping{.metric = "loss"};
  Trainer trainer(model, linked);
  trainer.on_epoch([&](const EpochReport&) {
    Model other = line_model();
    TrainerOptions direct = options(1);
    direct.checkpoint = folder / "far/real.ckpt";
    direct.overwrite = true;
    CHECK_THROWS_WITH(Trainer(other, direct).fit(data), Contains("in use"));
  });
  trainer.fit(data);
  CHECK(std::filesystem::is_symlink(folder / "link.ckpt"));
  for (const char* name : {"far/real.ckpt", "far/real.ckpt.prev", "far/real.ckpt.best"}) {
    INFO(name);
    CHECK(std::filesystem::is_regular_file(folder / name));
  }
  Model restored = line_model();
  CHECK(restored.restore_checkpoint(folder / "link.ckpt").file.filename() == "real.ckpt");
  CHECK(same_state(restored, model));
}

TEST_CASE_METHOD(Run, "a part that the data does not have gives no batches") {
  Model model = line_model();
  const std::vector<PortInfo> inputs = model.algorithm(0).inputs;
  CHECK(data.batches(4, {.inputs = inputs}).count() == 3);
  CHECK(data.validation().batches(4, {.inputs = inputs}).count() == 0);
  CHECK(data.validation().batches(4).count() == 0);
  for (const Batch& batch : data.validation().batches(4, {.inputs = inputs})) {
    FAIL_CHECK("a batch of " << batch.rows().size() << " rows");
  }
}

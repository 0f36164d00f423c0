// Options of finetune: rows of its own and rows of prepare, train and new networks.
#include <catch2/catch.hpp>

#include <ondine/error.h>
#include <ondine/options.h>

using Catch::Contains;
using namespace ondine;

namespace {

std::string refusal(const OptionValues& values) {
  try {
    finetune_options(values, OptionSpelling::dashes);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_option);
    return error.message();
  }
  return {};
}

const OptionInfo& row(OptionGroup group, const std::string& name) {
  const OptionInfo* const found = find_option(group, name);
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace

TEST_CASE("finetune decides what no option says") {
  const FinetuneOptions none = finetune_options({});
  CHECK_FALSE(none.targets);
  CHECK(none.head == HeadChoice::automatic);
  CHECK_FALSE(none.loss);
  CHECK_FALSE(none.preprocess);
  CHECK_FALSE(none.optimizer);
  CHECK_FALSE(none.learning_rate);
  CHECK_FALSE(none.schedule);
  CHECK_FALSE(none.epochs);
  CHECK_FALSE(none.batch_size);
  CHECK_FALSE(none.validation_split);
  CHECK_FALSE(none.patience);
  CHECK_FALSE(none.network);
  CHECK_FALSE(none.refit);
}

TEST_CASE("options that finetune decides itself are members of its first group") {
  const FinetuneOptions all = finetune_options({{"targets", "labels"},
                                                {"head", "new"},
                                                {"network", "unet"},
                                                {"refit", "never"},
                                                {"patience", "0"},
                                                {"loss", "focal"},
                                                {"optimizer", "adam"},
                                                {"beta1", "0.5"},
                                                {"learning_rate", "0.25"},
                                                {"schedule", "cosine"},
                                                {"final-rate", "0.125"},
                                                {"epochs", "1"},
                                                {"batch-size", "32"},
                                                {"validation-split", "0.5"},
                                                {"preprocess", "scale=1/2"}});
  CHECK(all.targets == TargetKind::labels);
  CHECK(all.head == HeadChoice::replace);
  CHECK(all.network == NetworkKind::unet);
  CHECK(all.refit == false);
  CHECK(all.patience == 0U);
  CHECK(all.loss == Loss::focal);
  CHECK(std::get<Adam>(all.optimizer.value()).beta1 == 0.5F);
  CHECK(all.learning_rate == 0.25F);
  CHECK(std::get<CosineSchedule>(all.schedule.value()).final_rate == 0.125);
  CHECK(all.epochs == 1U);
  CHECK(all.batch_size == 32U);
  CHECK(all.validation_split == 0.5);
  REQUIRE(all.preprocess.value_or(std::vector<Preprocess>()).size() == 1);
  // Where finetune() refuses values of them.
  const PrepareOptions plain;
  CHECK(all.prepare.loss == plain.loss);
  CHECK(all.prepare.optimizer.index() == plain.optimizer.index());
  CHECK(all.prepare.preprocess.empty());
  CHECK(all.trainer.epochs == TrainerOptions().epochs);
  CHECK(all.trainer.validation_split == 0);
  CHECK_FALSE(all.trainer.learning_rate);
  CHECK(std::holds_alternative<ConstantSchedule>(all.trainer.schedule));
}

TEST_CASE("other options of finetune are those of prepare and training") {
  const FinetuneOptions some = finetune_options({{"freeze", "a*"},
                                                 {"freeze", "b"},
                                                 {"lora", "4"},
                                                 {"lora-alpha", "8"},
                                                 {"monitor", "val_f1"},
                                                 {"metrics", "f1,top5"},
                                                 {"max-time", "2m"},
                                                 {"augment", "flip"},
                                                 {"map", "x=rows"},
                                                 {"checkpoint", "run.ckpt"},
                                                 {"resume", "true"}});
  CHECK(some.prepare.freeze == std::vector<std::string>{"a*", "b"});
  REQUIRE(some.prepare.lora);
  CHECK(some.prepare.lora->rank == 4);
  CHECK(some.prepare.lora->alpha == 8);
  CHECK(some.trainer.early_stopping.value_or(EarlyStopping()).metric == "val_f1");
  CHECK(some.trainer.metrics == std::vector<std::string>{"f1", "top5"});
  CHECK(some.trainer.max_time == std::chrono::milliseconds(120000));
  CHECK(some.trainer.map.size() == 1);
  CHECK(some.trainer.checkpoint == "run.ckpt");
  CHECK(some.trainer.resume);
  CHECK_FALSE(some.trainer.averaged);
  // Nothing else would use them.
  CHECK(finetune_options({{"ema", "0.9"}}).trainer.averaged);
  CHECK(finetune_options({{"swa", "true"}}).trainer.averaged);
}

TEST_CASE("rows that finetune takes from other groups are theirs but for what it chooses") {
  std::size_t taken = 0;
  for (const OptionInfo& option : option_table(OptionGroup::finetune)) {
    CAPTURE(option.name);
    const OptionInfo* source = nullptr;
    for (const OptionGroup group :
         {OptionGroup::network, OptionGroup::prepare, OptionGroup::train}) {
      if (option.name == "head" || option.name == "patience") continue;  // other meanings
      if (option.name == "learning-rate" && group != OptionGroup::train) continue;
      if (source == nullptr) source = find_option(group, option.name);
    }
    if (source == nullptr) continue;
    CHECK(option.kind == source->kind);
    CHECK(option.letter == source->letter);
    CHECK(option.value == source->value);
    CHECK(option.low == source->low);
    CHECK(option.high == source->high);
    CHECK(option.repeats == source->repeats);
    CHECK((option.default_value == source->default_value || option.default_value.empty()));
    for (const std::string& other : option.excludes) row(OptionGroup::finetune, other);
    for (const OptionCondition& one : option.applies) row(OptionGroup::finetune, one.option);
    ++taken;
  }
  CHECK(taken > 60);
}

TEST_CASE("options of finetune without an effect are errors") {
  CHECK(refusal({{"momentum", "0.9"}, {"optimizer", "adam"}}) ==
        "--momentum does not apply to adam; use --optimizer sgd, momentum, nesterov or muon");
  CHECK(refusal({{"weight-decay", "0.1"}}) == "--weight-decay needs --optimizer");
  CHECK(refusal({{"warmup", "0.1"}}) == "--warmup needs --schedule");
  CHECK(refusal({{"huber-delta", "2"}}) == "--huber-delta needs --loss huber");
  CHECK_THAT(refusal({{"min-delta", "0.1"}, {"patience", "0"}}),
             Contains("no effect with --patience 0"));
  CHECK(refusal({{"min-delta", "0.1"}, {"patience", "1"}}).empty());
  CHECK(refusal({{"monitor", "val_f1"}}).empty());
  CHECK_THAT(refusal({{"folds", "3"}, {"validation-split", "0.1"}}), Contains("--folds excludes"));
  CHECK_THAT(refusal({{"averaged", "true"}}), Contains("'averaged' is no option of finetune"));
  CHECK_THAT(refusal({{"epoch", "3"}}), Contains("did you mean --epochs?"));
  CHECK_THAT(refusal({{"loss", "triplet"}}), Contains("--loss needs") && Contains("'triplet'"));
  CHECK_THAT(refusal({{"class-weights", "even"}}), Contains("or balanced"));
}

TEST_CASE("classes of finetune weigh as it is said, or by their rows") {
  CHECK(finetune_options({{"class-weights", "1,2"}}).prepare.class_weights ==
        std::vector<float>{1, 2});
  const FinetuneOptions balanced = finetune_options({{"class-weights", "balanced"}});
  CHECK(balanced.balances_classes);
  CHECK(balanced.prepare.class_weights.empty());
}

TEST_CASE("options of a new network are those of data, loading and targets") {
  const NetworkOptions network = network_options({{"targets", "numbers"},
                                                  {"target", "price"},
                                                  {"image-size", "8x16"},
                                                  {"text-length", "99"},
                                                  {"audio-seconds", "0.5"},
                                                  {"seed", "7"}});
  CHECK(network.targets == TargetKind::numbers);
  CHECK(network.target == "price");
  REQUIRE(network.image_size);
  CHECK(network.image_size->height == 8);
  CHECK(network.image_size->width == 16);
  CHECK(network.text_length == 99);
  CHECK(network.seconds == 0.5);
  CHECK(network.seed == 7);
}

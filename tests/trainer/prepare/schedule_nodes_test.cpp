// Learning rates that a model computes from its own step count, against closed forms in double.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <numbers>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr double pi = std::numbers::pi;
constexpr double base = 0.40625;  // exact in float32

// y = x a b.
std::vector<std::byte> product_model(std::int64_t opset = 17) {
  ModelBuilder b("product", opset);
  b.input("x", DType::float32, {"N", 1});
  b.node("MatMul", {"x", b.initializer("a", Tensor::of<float>({1, 1}, {0.75F}))}, {}, "h");
  b.node("MatMul", {"h", b.initializer("b", Tensor::of<float>({1, 1}, {1.5F}))}, {}, "y");
  b.output("y", DType::float32, {"N", 1});
  return b.bytes();
}

// The derivatives at a = 0.75 and b = 1.5 do not vanish.
NamedValues feeds() {
  return {{"x", Tensor::of<float>({3, 1}, {0.25F, -0.5F, 0.125F})},
          {"label", Tensor::of<float>({3, 1}, {2, 1, -1})}};
}

PrepareOptions scheduled(const ModelSchedule& schedule, const Optimizer& optimizer) {
  return {
      .loss = Loss::mse, .optimizer = optimizer, .init = WeightInit::keep, .schedule = schedule};
}
PrepareOptions scheduled(const ModelSchedule& schedule) {
  return scheduled(schedule, Sgd{.learning_rate = static_cast<float>(base)});
}

std::string metadata(const Model& model, std::string_view name) {
  for (const auto& [key, text] : model.metadata()) {
    if (key == name) return text;
  }
  return {};
}

double step_rate(Model& model, const NamedValues& fed = feeds(), std::size_t algorithm = 0) {
  return model.train_step(fed, algorithm).scalar(metadata(model, "ondine.scheduled_rate"));
}

struct Formula {
  ModelSchedule schedule;
  std::function<double(int)> rate;
};

double falling_cosine(int i, int first, int last, double final_rate) {
  const double p = std::min(1.0, double(i - first) / (last - first));
  return final_rate + (base - final_rate) * (1 + std::cos(pi * p)) / 2;
}

std::vector<Formula> formulas() {
  return {
      {{.schedule = CosineSchedule{}, .steps = 12},
       [](int i) { return falling_cosine(i, 0, 11, 0); }},
      {{.schedule = CosineSchedule{.warmup = 0.25, .final_rate = 0.125}, .steps = 12},
       [](int i) { return i < 3 ? base * (i + 1) / 4 : falling_cosine(i, 3, 11, 0.125); }},
      {{.schedule = CosineSchedule{.final_rate = 2}, .steps = 9},
       [](int i) { return falling_cosine(i, 0, 8, 2); }},
      {{.schedule = PolynomialSchedule{.final_rate = 0.05, .power = 2},
        .steps = 11,
        .warmup_steps = 2},
       [](int i) {
         const double rest = std::max(0.0, (10.0 - i) / 8);
         return i < 2 ? base * (i + 1) / 3 : 0.05 + (base - 0.05) * rest * rest;
       }},
      {{.schedule = PolynomialSchedule{}, .steps = 10},
       [](int i) { return base * std::max(0.0, (9.0 - i) / 9); }},
      {{.schedule = OneCycleSchedule{.start = 0.125, .final_rate = 0.01}, .steps = 12},
       [](int i) {
         const double rise = 0.125 + 0.875 * (1 - std::cos(pi * i / 4)) / 2;
         return i < 4 ? base * rise : falling_cosine(i, 4, 11, 0.01);
       }},
      {{.schedule = OneCycleSchedule{.warmup = 0, .final_rate = 0}, .steps = 5},
       [](int i) { return falling_cosine(i, 0, 4, 0); }},
      {{.schedule = StepSchedule{.factor = 0.3, .every = 2}, .epoch_steps = 3},
       [](int i) { return base * std::pow(0.3, i / 6); }},
      {{.schedule = StepSchedule{.factor = 0.5}, .epoch_steps = 2, .warmup_steps = 5},
       [](int i) { return i < 5 ? base * (i + 1) / 6 : base * std::pow(0.5, i / 2); }},
      {{.schedule = ConstantSchedule{.warmup = 0.5}, .steps = 9},
       [](int i) { return i < 5 ? base * (i + 1) / 6 : base; }},
      // The run ends with the warm-up's first step behind it.
      {{.schedule = CosineSchedule{.final_rate = 0.1}, .steps = 4, .warmup_steps = 3},
       [](int i) { return i < 3 ? base * (i + 1) / 4 : base; }},
  };
}

}  // namespace

TEST_CASE("a scheduled model gives every step the rate of the formula, in old versions too") {
  for (const std::int64_t opset : {7, 8, 12, 17, 21}) {
    for (const Formula& one : formulas()) {
      Model model = prepare(product_model(opset), scheduled(one.schedule));
      CAPTURE(opset, metadata(model, "ondine.schedule"));
      for (int i = 0; i < 15; ++i) {
        CAPTURE(i);
        const double a = double{model.get_state("a").item<float>()};
        const double b = double{model.get_state("b").item<float>()};
        const NamedValues fed = feeds();
        double slope = 0;
        for (std::size_t k = 0; k < 3; ++k) {
          const double x = double{fed[0].second.tensor().values<float>()[k]};
          slope += 2 * (x * a * b - double{fed[1].second.tensor().values<float>()[k]}) * x * b / 3;
        }
        const double rate = step_rate(model);
        CHECK(rate == Approx(one.rate(i)).epsilon(1e-6).margin(1e-12));
        // The update takes this rate.
        const double moved = a - double{model.get_state("a").item<float>()};
        CHECK(moved == Approx(one.rate(i) * slope).epsilon(1e-5).margin(2e-7));
        CHECK(model.learning_rate() == static_cast<float>(base));
      }
    }
  }
}

TEST_CASE("late steps of very long runs keep their precision") {
  const std::int64_t steps = 3'000'000'000;
  Model line = prepare(product_model(),
                       scheduled({.schedule = PolynomialSchedule{}, .steps = 3'000'000'000}));
  Model cosine =
      prepare(product_model(), scheduled({.schedule = CosineSchedule{}, .steps = 3'000'000'000}));
  for (Model* model : {&line, &cosine}) model->set_state("step", Tensor::scalar(steps - 4));
  for (int left = 3; left >= 0; --left) {
    const double rest = left / double(steps - 1);
    CHECK(step_rate(line) == Approx(base * rest).epsilon(1e-6));
    CHECK(step_rate(cosine) == Approx(base * std::pow(std::sin(pi / 2 * rest), 2)).epsilon(1e-6));
  }
  CHECK(step_rate(line) == 0);
}

TEST_CASE("every optimizer trains at the scheduled rate as at one that is set before each step") {
  const std::vector<Optimizer> optimizers{Sgd{.weight_decay = 0.1F},
                                          Momentum{.weight_decay = 0.1F},
                                          Nesterov{},
                                          Adagrad{},
                                          Adam{.weight_decay = 0.1F},
                                          AdamW{.weight_decay = 0.1F},
                                          Lion{.weight_decay = 0.1F},
                                          Adafactor{.weight_decay = 0.1F},
                                          Muon{.weight_decay = 0.1F},
                                          ScheduleFree{.weight_decay = 0.1F}};
  const ModelSchedule schedule{.schedule = CosineSchedule{.warmup = 0.25}, .steps = 8};
  for (const Optimizer& optimizer : optimizers) {
    CAPTURE(optimizer.index());
    PrepareOptions options = scheduled(schedule, optimizer);
    options.clip_norm = 0.5F;
    if (!std::holds_alternative<ScheduleFree>(optimizer)) {
      options.average = WeightAverage{.decay = 0.5F};
    }
    options.rate_groups = {{"a", 0.5F}, {"b", 1, 2}};
    Model model = prepare(product_model(), options);
    options.schedule.reset();
    Model other = prepare(product_model(), options);
    for (int i = 0; i < 10; ++i) {
      other.set_learning_rate(static_cast<float>(step_rate(model)));
      other.train_step(feeds());
      for (const StateInfo& one : other.state()) {
        CAPTURE(one.name);
        CHECK(other.get_state(one.name).identical(model.get_state(one.name)));
      }
    }
  }
}

TEST_CASE("with accumulated gradients the schedule counts updates") {
  PrepareOptions options = scheduled({.schedule = PolynomialSchedule{}, .steps = 5});
  options.accumulate = 2;
  Model model = prepare(product_model(), options);
  const NamedValues x{{"x", feeds()[0].second}};
  for (int update = 0; update < 5; ++update) {
    for (int batch = 0; batch < 1 + update % 2; ++batch) model.train_step(feeds(), 0);
    CHECK(step_rate(model, x, 1) == Approx(base * (4 - update) / 4).margin(1e-12));
  }
  CHECK(model.learning_rate(1) == static_cast<float>(base));
}

TEST_CASE("the base rate of a scheduled model can be fed and set") {
  const ModelSchedule schedule{.schedule = StepSchedule{.factor = 0.5}, .epoch_steps = 1};
  Model model = prepare(product_model(), scheduled(schedule));
  NamedValues fed = feeds();
  fed.emplace_back("learning_rate", Tensor::scalar(0.25F));
  CHECK(step_rate(model, fed) == 0.25);
  model.set_learning_rate(0.75F);
  CHECK(model.learning_rate() == 0.75F);
  CHECK(step_rate(model) == 0.375);
  CHECK(step_rate(model, fed) == 0.0625);
  CHECK(model.eval_step(feeds()).scalar("loss") > 0);
}

TEST_CASE("a rate is computed in float32 whatever the precision of the products") {
  const ModelSchedule schedule{.schedule = CosineSchedule{.warmup = 0.1}, .steps = 40};
  Model full = prepare(product_model(), scheduled(schedule));
  Model low = prepare(product_model(), scheduled(schedule), {.precision = Precision::bfloat16});
  for (int i = 0; i < 40; ++i) CHECK(step_rate(full) == step_rate(low));
}

TEST_CASE("training files keep a schedule, inference files and constant rates have none") {
  const ModelSchedule schedule{
      .schedule = CosineSchedule{.final_rate = 0.001}, .steps = 100, .warmup_steps = 10};
  PrepareReport report;
  const Model model = prepare(product_model(), scheduled(schedule), {}, &report);
  CHECK(report.schedule == "cosine to 0.001 over 100 steps, warm-up of 10 steps");
  CHECK(metadata(model, "ondine.schedule") == report.schedule);
  Model again = Model::load(model.export_training());
  CHECK(step_rate(again) == Approx(base / 11));
  const Model exported = Model::load(model.export_inference());
  CHECK(metadata(exported, "ondine.schedule").empty());
  CHECK(metadata(exported, "ondine.scheduled_rate").empty());
  const Model constant = prepare(
      product_model(), scheduled({.schedule = ConstantSchedule{}, .steps = 7}), {}, &report);
  CHECK(report.schedule.empty());
  CHECK(metadata(constant, "ondine.schedule").empty());
  CHECK(constant.state().size() == 2);
}

TEST_CASE("a trainer follows the schedule of a model as it would follow its own") {
  const Dataset data = Dataset::from(line_data(22));
  graph::ModelDef def = linear_regression(0.05F);
  def.training.clear();
  const auto trained = [&](std::optional<ModelSchedule> schedule, TrainerOptions options,
                           std::vector<double>& rates) {
    Model model = prepare(Model::load(encode(def)), {.loss = Loss::mse,
                                                     .label = "t",
                                                     .optimizer = Adam{.learning_rate = 0.5F},
                                                     .init = WeightInit::keep,
                                                     .accumulate = 2,
                                                     .schedule = schedule});
    options.epochs = 3;
    options.batch_size = 4;
    options.learning_rate = 0.125F;
    Trainer trainer(model, options);
    trainer.on_step([&](const StepReport& step) {
      if (step.step % 2 == 0) rates.push_back(step.learning_rate.value());
      CHECK(step.last.size() == 1);
      return true;
    });
    trainer.on_epoch([&](const EpochReport& one) { CHECK(one.learning_rate == rates.back()); });
    trainer.fit(data);
    CHECK(model.learning_rate(1) == 0.125F);
    return model.parameters();
  };
  const CosineSchedule cosine{.warmup = 0.3, .final_rate = 0.01};
  std::vector<double> in_model;
  std::vector<double> by_trainer;
  const auto a = trained(ModelSchedule{.schedule = cosine, .steps = 9}, {}, in_model);
  const auto b = trained({}, {.schedule = cosine}, by_trainer);
  REQUIRE(in_model.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) CHECK(in_model[i] == Approx(by_trainer[i]).epsilon(1e-6));
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(1e-4));
}

TEST_CASE("a second schedule for a model that has one is refused") {
  const ModelSchedule schedule{.schedule = CosineSchedule{}, .steps = 10};
  Model model = prepare(product_model(), scheduled(schedule));
  CHECK_THROWS_WITH(Trainer(model, {.schedule = StepSchedule{}}),
                    Contains("schedule of its own (cosine to 0 over 10 steps)"));
  CHECK_THROWS_WITH(Trainer(model, {.schedule = ConstantSchedule{.warmup = 0.1}}),
                    Contains("of its own"));
  CHECK_NOTHROW(Trainer(model, {.schedule = ConstantSchedule{}}));
}

TEST_CASE("a checkpoint is resumed with the schedule and the base rate that it began with") {
  const TemporaryFolder folder;
  const Dataset data =
      Dataset::from(NamedValues{{"x", feeds()[0].second}, {"label", feeds()[1].second}});
  const auto model_with = [&](std::uint64_t steps) {
    return prepare(product_model(),
                   scheduled({.schedule = CosineSchedule{}, .steps = steps}, Adam{}));
  };
  TrainerOptions options{.epochs = 4, .batch_size = 1, .learning_rate = 0.0625F};
  Model whole = model_with(12);
  Trainer(whole, options).fit(data);
  options.checkpoint = folder / "run.ckpt";
  Model first = model_with(12);
  Trainer stopped(first, options);
  int steps = 0;
  stopped.on_step([&](const StepReport&) { return ++steps < 5; });
  stopped.fit(data);
  options.resume = true;
  options.learning_rate.reset();
  Model other = model_with(20);
  CHECK_THROWS_WITH(Trainer(other, options).fit(data), Contains("fingerprint"));
  Model second = model_with(12);
  Trainer(second, options).fit(data);
  CHECK(same_state(whole, second));
}

TEST_CASE("schedules that a model cannot compute are refused") {
  const auto refuse = [](const ModelSchedule& schedule, const char* text) {
    CHECK_THROWS_WITH(prepare(product_model(), scheduled(schedule)), Contains(text));
  };
  refuse({.schedule = PlateauSchedule{}, .steps = 10}, "--schedule plateau");
  refuse({.schedule = CosineSchedule{}}, "--schedule-steps");
  refuse({.schedule = PolynomialSchedule{}, .warmup_steps = 2}, "--schedule-steps");
  refuse({.schedule = OneCycleSchedule{}}, "--schedule-steps");
  refuse({.schedule = ConstantSchedule{.warmup = 0.1}}, "--schedule-steps");
  refuse({.schedule = StepSchedule{.warmup = 0.1}, .epoch_steps = 5}, "--schedule-steps");
  refuse({.schedule = StepSchedule{}, .steps = 10}, "--epoch-steps");
  refuse({.schedule = StepSchedule{.every = std::uint64_t{1} << 52}, .epoch_steps = 3},
         "cannot be counted");
  refuse({.schedule = CosineSchedule{}, .steps = 5, .warmup_steps = 5}, "shorter than the run");
  refuse({.schedule = CosineSchedule{}, .steps = std::uint64_t{1} << 60}, "at most");
  refuse({.schedule = ConstantSchedule{}, .warmup_steps = std::uint64_t{1} << 60}, "at most");
  refuse({.schedule = CosineSchedule{.warmup = 1}, .steps = 5}, "warm-up");
  refuse({.schedule = CosineSchedule{.final_rate = -1}, .steps = 5}, "final rate");
}

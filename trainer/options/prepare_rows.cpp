// PrepareOptions: what trains, and how.
#include <cmath>

#include <ondine/error.h>

#include "trainer/options/groups.h"
#include "trainer/options/parse.h"
#include "trainer/options/prepare_parts.h"
#include "trainer/options/schedule_rows.h"
#include "trainer/options/settings.h"

namespace ondine::options {
namespace {

const std::vector<std::pair<std::string, WeightInit>> inits{
    {"auto", WeightInit::automatic},
    {"keep", WeightInit::keep},
    {"he-uniform", WeightInit::he_uniform},
    {"he-normal", WeightInit::he_normal},
    {"xavier-uniform", WeightInit::xavier_uniform},
    {"xavier-normal", WeightInit::xavier_normal},
    {"uniform", WeightInit::uniform},
    {"zeros", WeightInit::zeros}};

void add_parameters(Rows<PrepareTarget>& rows) {
  rows.heading("What trains");
  rows.text("train", "PATTERN",
            "Train only parameters that match (* and ?), constants too if a pattern names one; "
            "WEIGHT@0,8-15: these inputs of the weight's layer alone",
            [](PrepareTarget& to, const Given& given) { to.options.train = given.texts(); })
      .several();
  rows.text("freeze", "PATTERN", "Do not train parameters that match",
            [](PrepareTarget& to, const Given& given) { to.options.freeze = given.texts(); })
      .several();
  rows.integer("last-layers", "N", "Train only the last N layers",
               [](PrepareTarget& to, std::int64_t value) {
                 to.options.last_layers = static_cast<std::size_t>(value);
               })
      .from(0);
  rows.flag("only-biases", "Train biases alone (BitFit)",
            [](PrepareTarget& to, bool value) { to.options.only_biases = value; })
      .excludes("last-layers");
  rows.integer("head", "CLASSES", "Replace the last layer with a new head for so many classes",
               [](PrepareTarget& to, std::int64_t value) {
                 to.options.head = NewHead{.classes = static_cast<std::size_t>(value)};
               })
      .from(0);
  rows.text("cut", "VALUE", "Value that the new head reads",
            [](PrepareTarget& to, const Given& given) { to.options.head->cut = given.text(); })
      .needs({"head"});
  rows.choice<WeightInit>("init", inits,
                          "Initialization of weights; auto keeps trained ones, others become "
                          "he-uniform",
                          [](PrepareTarget& to, WeightInit value) { to.options.init = value; })
      .synonym("xavier", "xavier-uniform")
      .synonym("he", "he-uniform")
      .by_default("auto");
  rows.flag("packing",
            "Rows hold several texts: attention stays within each, as 'segment_ids' tells them "
            "apart (train --pack)",
            [](PrepareTarget& to, bool value) { to.options.packing = value; });
  rows.flag("no-training-mode", "Keep Dropout and BatchNormalization in inference mode",
            [](PrepareTarget& to, bool value) { to.options.training_mode = !value; });
  rows.flag("untie",
            "Train parameters separately that PyTorch's exporter wrote once, also if they may be "
            "tied",
            [](PrepareTarget& to, bool value) { to.options.untie = value; })
      .rare();
  rows.flag("tie", "Train parameters as one that PyTorch's exporter merged because they were equal",
            [](PrepareTarget& to, bool value) { to.options.tie = value; })
      .excludes("untie")
      .rare();
}

void add_rate_scales(PrepareTarget& to, const Given& given) {
  for (const std::string& text : given.texts()) {
    const auto [pattern, scale] = pattern_and_number(text, given.option());
    to.options.rate_groups.push_back({pattern, static_cast<float>(scale)});
  }
}

void add_starts(PrepareTarget& to, const Given& given) {
  for (const std::string& text : given.texts()) {
    const auto [pattern, step] = pattern_and_number(text, given.option());
    if (!(step >= 0 && step < 1e15) || std::trunc(step) != step) {
      throw Error(ErrorCode::invalid_option,
                  given.option() + " needs PATTERN=STEPS, found " + text);
    }
    to.options.rate_groups.push_back({pattern, 1, static_cast<std::uint64_t>(step)});
  }
}

void set_loss_scale(PrepareTarget& to, const Given& given) {
  const std::string& text = given.text();
  if (text == "dynamic") {
    to.options.loss_scale = DynamicLossScale{};
  } else if (text == "none") {
    to.options.loss_scale = NoLossScale{};
  } else if (const auto scale = number(text)) {
    to.options.loss_scale = StaticLossScale{static_cast<float>(*scale)};
  } else {
    throw Error(ErrorCode::invalid_option,
                given.option() + " needs dynamic, none or a number, found " + text);
  }
}

void add_averages(Rows<PrepareTarget>& rows) {
  rows.real("ema", "DECAY", "Keep exponential averages of parameters with this decay, as 0.999",
            [](PrepareTarget& to, double value) {
              to.options.average = WeightAverage{.decay = static_cast<float>(value)};
            })
      .within(0, 1);
  rows.flag("swa", "Keep averages of parameters over all steps",
            [](PrepareTarget& to, bool value) {
              if (value) to.options.average = WeightAverage{.decay = 1};
            })
      .excludes("ema");
  rows.integer("average-from", "STEPS", "Steps after which averages begin; 0 if absent",
               [](PrepareTarget& to, std::int64_t value) {
                 to.options.average->from = static_cast<std::uint64_t>(value);
               })
      .from(0)
      .needs({"ema", "swa"});
}

void add_updates(Rows<PrepareTarget>& rows) {
  rows.heading("Updates");
  rows.real(
      "clip-norm", "NORM", "Upper bound of the global norm of gradients",
      [](PrepareTarget& to, double value) { to.options.clip_norm = static_cast<float>(value); });
  rows.real(
      "clip-value", "VALUE",
      "Upper bound of every element of the gradients, applied before the bound of the norm",
      [](PrepareTarget& to, double value) { to.options.clip_value = static_cast<float>(value); });
  rows.text("lr-scale", "PATTERN=FACTOR",
            "Factor of the learning rate of the parameters that match", add_rate_scales)
      .repeats();
  rows.text("unfreeze-at", "PATTERN=STEPS",
            "Steps after which the parameters that match begin to change", add_starts)
      .repeats();
  rows.integer("accumulate", "N", "Update after N batches, as after one batch of all their rows",
               [](PrepareTarget& to, std::int64_t value) {
                 to.options.accumulate = static_cast<std::uint64_t>(value);
               })
      .from(1);
  add_averages(rows);
  rows.text("loss-scale", "SCALE",
            "Factor on the loss against underflow: dynamic (the default if there is float16), a "
            "number or none",
            set_loss_scale)
      .rare();
}

void add_model_schedule(Rows<PrepareTarget>& rows) {
  const auto chosen = [](PrepareTarget& to) -> Schedule& {
    if (!to.schedule) to.schedule.emplace();
    return *to.schedule;
  };
  rows.heading("Learning rate schedule in the model");
  add_schedule(rows, false, chosen);
  const std::vector<std::string> schedules{"schedule", "warmup", "warmup-steps"};
  rows.integer("schedule-steps", "STEPS",
               "Updates of the whole run, which schedules in a model must know: epochs times "
               "updates of an epoch",
               [](PrepareTarget& to, std::int64_t value) {
                 to.lengths.steps = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .needs(schedules);
  rows.integer("epoch-steps", "STEPS", "Updates of an epoch, for the schedule step",
               [](PrepareTarget& to, std::int64_t value) {
                 to.lengths.epoch_steps = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .needs(schedules);
  rows.integer("warmup-steps", "STEPS", "Updates in which the rate rises",
               [](PrepareTarget& to, std::int64_t value) {
                 to.lengths.warmup_steps = static_cast<std::uint64_t>(value);
                 if (!to.schedule) to.schedule.emplace();
               })
      .from(0)
      .excludes("warmup");
}

void add_formats(Rows<PrepareTarget>& rows) {
  rows.heading("Preprocessing and formats");
  rows.text("preprocess", "SETTINGS",
            "Operators in front of an input, so that the model takes raw pixels: "
            "scale=1/255,mean=M:M:M,std=S:S:S,resize=HxW,layout=nhwc,type=uint8,input=NAME; or "
            "raw samples: mel=BANDS,rate=16000,window=400,hop=160,low=HZ,high=HZ,offset=1e-6",
            [](PrepareTarget& to, const Given& given) {
              for (const std::string& text : given.texts()) {
                to.options.preprocess.push_back(parse_preprocess(text, given.option()));
              }
            })
      .repeats();
  rows.choice<FrozenFormat>(
      "quantize-frozen",
      {{"int8", DType::int8},
       {"int4", DType::int4},
       {"nf4", FrozenFormat::nf4()},
       {"bf16", DType::bfloat16}},
      "Format of frozen weights of products and lookups",
      [](PrepareTarget& to, FrozenFormat value) { to.options.quantize_frozen = value; });
  rows.choice<DType>("qat", {{"int8", DType::int8}, {"uint8", DType::uint8}},
                     "Quantization-aware training, which rounds weights and activations of every "
                     "layer: int8 to 7 bits for weights, uint8 to 8",
                     [](PrepareTarget& to, DType value) { to.options.qat = value; });
  rows.bytes("external-data-from", "Write tensors of at least this size to a separate data file",
             [](PrepareTarget& to, std::uint64_t value) { to.options.external_data_from = value; })
      .rare();
}

Rows<PrepareTarget> make_prepare_rows() {
  Rows<PrepareTarget> rows(OptionGroup::prepare);
  add_losses(rows);
  add_optimizers(rows);
  add_parameters(rows);
  add_adapters(rows);
  add_updates(rows);
  add_privacy(rows);
  add_model_schedule(rows);
  add_formats(rows);
  return rows;
}

}  // namespace

const Rows<PrepareTarget>& prepare_rows() {
  static const Rows<PrepareTarget> rows = make_prepare_rows();
  return rows;
}

}  // namespace ondine::options

#include <ondine/losses.h>
#include <ondine/prepare.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>

#include "ondine/class_weights.h"
#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/option_owners.h"
#include "ondine/prepare_report.h"
#include "ondine/settings.h"
#include "ondine/train/schedule_options.h"

namespace ondine::cli {
namespace {

std::map<std::string, std::optional<Loss>> loss_choices() {
  std::map<std::string, std::optional<Loss>> choices{{"cross-entropy", Loss::softmax_cross_entropy},
                                                     {"bce-with-logits", Loss::bce_with_logits}};
  // Soft labels are an option of softmax cross entropy.
  for (const LossFacts& one : loss_facts()) choices[std::string(loss_name(one.loss))] = one.loss;
  return choices;
}
const std::map<std::string, std::optional<Loss>> losses = loss_choices();
const std::map<std::string, Optimizer> optimizers{
    {"sgd", Sgd{}},         {"momentum", Momentum{}}, {"nesterov", Nesterov{}},
    {"adagrad", Adagrad{}}, {"adam", Adam{}},         {"adamw", AdamW{}}};
const std::map<std::string, WeightInit> inits{{"auto", WeightInit::automatic},
                                              {"keep", WeightInit::keep},
                                              {"xavier-uniform", WeightInit::xavier_uniform},
                                              {"xavier-normal", WeightInit::xavier_normal},
                                              {"he-uniform", WeightInit::he_uniform},
                                              {"he-normal", WeightInit::he_normal},
                                              {"xavier", WeightInit::xavier_uniform},
                                              {"he", WeightInit::he_uniform},
                                              {"uniform", WeightInit::uniform},
                                              {"zeros", WeightInit::zeros}};

const std::map<std::string, std::optional<FrozenFormat>> frozen_formats{
    {"int8", DType::int8},
    {"int4", DType::int4},
    {"nf4", FrozenFormat::nf4()},
    {"bf16", DType::bfloat16}};

const std::map<std::string, std::optional<DType>> qat_types{{"int8", DType::int8},
                                                            {"uint8", DType::uint8}};

const std::map<std::string, LossScale> loss_scales{{"dynamic", DynamicLossScale{}},
                                                   {"none", NoLossScale{}}};

constexpr const char* loss_option = "--loss";
constexpr const char* optimizer_option = "--optimizer";

struct Options {
  std::string input;
  std::string output_file;
  std::optional<float> learning_rate;
  std::optional<float> momentum;
  std::optional<float> beta1;
  std::optional<float> beta2;
  std::optional<float> epsilon;
  std::optional<float> weight_decay;
  std::optional<float> clip_norm;
  std::optional<float> clip_value;
  std::vector<std::string> rate_scales;
  std::vector<std::string> unfreeze_at;
  std::optional<float> ema;
  bool swa = false;
  std::optional<std::uint64_t> average_from;
  ScheduleOptions schedule;
  ScheduleSteps schedule_steps;
  std::optional<std::size_t> classes;
  std::string cut;
  std::optional<Loss> loss;
  std::string loss_model;
  ClassWeightOptions class_weights;
  std::vector<std::string> preprocess;
  std::string loss_scale;
  std::optional<double> ignore_index;
  bool no_accuracy = false;
  bool no_training_mode = false;
  OptionOwners owners;
  PrepareOptions prepare;
  LoadOptions load;
};

std::string name_of(const Optimizer& optimizer) {
  for (const auto& [key, value] : optimizers) {
    if (value.index() == optimizer.index()) return key;
  }
  return {};
}

// An option that changes nothing is a mistake.
void check_owners(const Options& options) {
  options.owners.check(optimizer_option, name_of(options.prepare.optimizer));
  options.owners.check(loss_option,
                       options.loss ? std::string(loss_name(*options.loss)) : "a loss model");
  if (options.average_from && !options.ema && !options.swa) {
    throw WrongUsage("--average-from needs averages of parameters, --ema or --swa");
  }
}

template <class Settings>
void set_options(Settings& settings, const Options& options) {
  const auto set = [](float& to, const std::optional<float>& value) { to = value.value_or(to); };
  set(settings.learning_rate, options.learning_rate);
  set(settings.weight_decay, options.weight_decay);
  if constexpr (requires { settings.momentum; }) set(settings.momentum, options.momentum);
  if constexpr (requires { settings.epsilon; }) set(settings.epsilon, options.epsilon);
  if constexpr (requires { settings.beta1; }) {
    set(settings.beta1, options.beta1);
    set(settings.beta2, options.beta2);
  }
}

void add_loss_options(Command command, Options& options) {
  PrepareOptions& prepare = options.prepare;
  command.choice(loss_option, &options.loss, losses,
                 "softmax-cross-entropy, bce, mse, mae, huber, kl, hinge, focal, dice, cosine, "
                 "triplet, contrastive or ctc; of probabilities nll or bce-probabilities");
  command.option("--loss-model", &options.loss_model,
                 "ONNX model of the loss, whose inputs are values of the model or new labels");
  command.option("--loss-output", &prepare.output, "Output or inner value that the loss reads");
  command.option("--label", &prepare.label, "Name of the new label input");
  const auto of = [&options](const Option& option, std::initializer_list<const char*> owners) {
    options.owners.add(option, loss_option, owners);
  };
  of(command.option("--label-smoothing", &prepare.label_smoothing,
                    "Of softmax-cross-entropy: the part of a label that all classes share"),
     {"softmax-cross-entropy"});
  of(command.number(
         "--ignore-index", [&options](double value) { options.ignore_index = value; },
         "Of softmax-cross-entropy: the label that does not count"),
     {"softmax-cross-entropy"});
  add_class_weights(command, options.class_weights, options.load.deadline);
  of(command.option("--soft-labels", &prepare.soft_labels,
                    "Of softmax-cross-entropy: labels are probabilities of the classes"),
     {"softmax-cross-entropy"});
  of(command.option("--focal-gamma", &prepare.focal_gamma, "Exponent of the focal loss"),
     {"focal"});
  of(command.option("--margin", &prepare.margin, "Margin of the triplet and contrastive losses"),
     {"triplet", "contrastive"});
  of(command.option("--ctc-blank", &prepare.ctc_blank, "Class that stands for no label in ctc"),
     {"ctc"});
  of(command.option("--huber-delta", &prepare.huber_delta,
                    "Error at which the Huber loss becomes linear"),
     {"huber"});
  of(command.option("--no-accuracy", &options.no_accuracy, "Do not add an accuracy output"),
     {"softmax-cross-entropy", "nll", "kl", "focal"});
}

void check_loss_choice(const Options& options) {
  if (options.loss.has_value() != options.loss_model.empty()) {
    throw WrongUsage("prepare needs one of --loss and --loss-model");
  }
}

void set_loss(Options& options) {
  PrepareOptions& prepare = options.prepare;
  if (options.loss) prepare.loss = *options.loss;
  if (!options.loss_model.empty()) {
    prepare.loss_model = std::filesystem::path(options.loss_model);
  }
  if (options.ignore_index) {
    const double index = *options.ignore_index;
    if (std::trunc(index) != index || std::fabs(index) > 1e15) {
      throw WrongUsage("--ignore-index needs an integer");
    }
    prepare.ignore_index = static_cast<std::int64_t>(index);
  }
  prepare.class_weights = class_weights(options.class_weights, options.input);
}

// "PATTERN=NUMBER"; patterns may contain '='.
std::pair<std::string, double> pattern_and_number(const std::string& text, const char* option) {
  const std::size_t at = text.rfind('=');
  double number = 0;
  const char* const end = text.data() + text.size();
  const char* const from = at == std::string::npos ? end : text.data() + at + 1;
  const auto [last, error] = std::from_chars(from, end, number);
  if (at == 0 || error != std::errc() || last != end) {
    throw WrongUsage(std::string(option) + " needs PATTERN=NUMBER, found " + text);
  }
  return {text.substr(0, at), number};
}

void set_updates(Options& options) {
  PrepareOptions& prepare = options.prepare;
  prepare.clip_norm = options.clip_norm;
  prepare.clip_value = options.clip_value;
  prepare.schedule = make_model_schedule(options.schedule, options.schedule_steps);
  for (const std::string& text : options.rate_scales) {
    const auto [pattern, scale] = pattern_and_number(text, "--lr-scale");
    prepare.rate_groups.push_back({pattern, static_cast<float>(scale)});
  }
  for (const std::string& text : options.unfreeze_at) {
    const auto [pattern, step] = pattern_and_number(text, "--unfreeze-at");
    if (!(step >= 0 && step < 1e15) || std::trunc(step) != step) {
      throw WrongUsage("--unfreeze-at needs PATTERN=STEPS, found " + text);
    }
    prepare.rate_groups.push_back({pattern, 1, static_cast<std::uint64_t>(step)});
  }
  if (!options.ema && !options.swa) return;
  prepare.average = WeightAverage{options.ema.value_or(1), options.average_from.value_or(0)};
}

void add_update_options(Command command, Options& options) {
  command.option("--clip-norm", &options.clip_norm, "Upper bound of the global norm of gradients");
  command.option("--clip-value", &options.clip_value,
                 "Upper bound of every element of the gradients, applied before --clip-norm");
  command
      .option("--lr-scale", &options.rate_scales,
              "PATTERN=FACTOR of the learning rate of the parameters that match")
      .one_each();
  command
      .option("--unfreeze-at", &options.unfreeze_at,
              "PATTERN=STEPS after which the parameters that match begin to change")
      .one_each();
  command
      .option("--accumulate", &options.prepare.accumulate,
              "Update after N batches, by the mean of their gradients over all rows")
      .positive();
  Option ema = command.option("--ema", &options.ema,
                              "Keep exponential averages of parameters with this decay, as 0.999");
  command.option("--swa", &options.swa, "Keep averages of parameters over all steps").excludes(ema);
  command.option("--average-from", &options.average_from,
                 "Steps after which averages begin; 0 if absent");
  add_model_schedule(command, options.schedule, options.schedule_steps);
}

void add_coefficients(Command command, Options& options) {
  const auto of = [&options](const Option& option, std::initializer_list<const char*> owners) {
    options.owners.add(option, optimizer_option, owners);
  };
  of(command.option("--momentum", &options.momentum,
                    "Momentum coefficient, for momentum and nesterov"),
     {"momentum", "nesterov"});
  of(command.option("--beta1", &options.beta1, "Decay of the first moment, for adam and adamw"),
     {"adam", "adamw"});
  of(command.option("--beta2", &options.beta2, "Decay of the second moment, for adam and adamw"),
     {"adam", "adamw"});
  of(command.option("--epsilon", &options.epsilon,
                    "Added to denominators, for adagrad, adam and adamw"),
     {"adagrad", "adam", "adamw"});
}

void add_options(Command command, Options& options) {
  PrepareOptions& prepare = options.prepare;
  command.option("MODEL", &options.input, "Inference model").required();
  command.option("-o,--output", &options.output_file, "Training model to write").required();
  add_loss_options(command, options);
  command.choice(optimizer_option, &prepare.optimizer, optimizers,
                 "sgd (the default), momentum, nesterov, adagrad, adam or adamw");
  command.option(
      "--train", &prepare.train,
      "Train only parameters that match this pattern (* and ?), constants too if it names one");
  command.option("--freeze", &prepare.freeze, "Do not train parameters that match this pattern");
  command.option("--last-layers", &prepare.last_layers, "Train only the last N layers");
  command.option("--head", &options.classes,
                 "Replace the last layer with a new head for N classes");
  command.option("--cut", &options.cut, "Value that the new head reads");
  Option untie = command.option("--untie", &prepare.untie,
                                "Train parameters separately that PyTorch's exporter wrote once, "
                                "also where they may be tied");
  command
      .option("--tie", &prepare.tie,
              "Train parameters as one that PyTorch's exporter merged because they were equal")
      .excludes(untie);
  command.option("--learning-rate", &options.learning_rate, "Default learning rate");
  add_coefficients(command, options);
  command.option("--weight-decay", &options.weight_decay, "Weight decay");
  add_update_options(command, options);
  command.option("--loss-scale", &options.loss_scale,
                 "Factor on the loss against underflow: dynamic (the default where there is "
                 "float16), a number or none");
  command.choice(
      "--init", &prepare.init, inits,
      "Initialization of weights: auto (the default: keep trained ones, else he-uniform), keep, "
      "he-uniform, he-normal, xavier-uniform, xavier-normal, uniform or zeros");
  command
      .option("--preprocess", &options.preprocess,
              "Operators in front of an input, so that the model takes raw pixels: "
              "scale=1/255,mean=M:M:M,std=S:S:S,resize=HxW,layout=nhwc,type=uint8,input=NAME; or "
              "raw samples: mel=BANDS,rate=16000,window=400,hop=160,low=HZ,high=HZ,offset=1e-6")
      .one_each();
  command.choice("--quantize-frozen", &prepare.quantize_frozen, frozen_formats,
                 "Store frozen weights of products and lookups in int8, int4, nf4 or bf16");
  command.choice(
      "--qat", &prepare.qat, qat_types,
      "Quantization-aware training, which rounds weights and activations of every layer: "
      "int8 to 7 bits for weights, uint8 to 8");
  add_external_data(command, prepare.external_data_from);
  command.option("--no-training-mode", &options.no_training_mode,
                 "Keep Dropout and BatchNormalization in inference mode");
  add_deadline(command, options.load.deadline);
  add_operator_sets(command, options.load.operator_sets);
}

void set_loss_scale(Options& options) {
  const std::string& text = options.loss_scale;
  if (text.empty()) return;
  if (const auto named = loss_scales.find(text); named != loss_scales.end()) {
    options.prepare.loss_scale = named->second;
    return;
  }
  float number = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || last != end) {
    throw WrongUsage("--loss-scale needs dynamic, none or a number, found " + text);
  }
  options.prepare.loss_scale = StaticLossScale{number};
}

}  // namespace

void add_prepare(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command =
      parser.add("prepare", "Turn an inference model into a training model",
                 "  ondine prepare cnn.onnx -o train.onnx --loss softmax-cross-entropy "
                 "--optimizer adam\n"
                 "  ondine prepare net.onnx -o train.onnx --loss mse --optimizer sgd "
                 "--learning-rate 0.1\n"
                 "  ondine prepare cnn.onnx -o head.onnx --loss softmax-cross-entropy "
                 "--optimizer momentum \\\n"
                 "      --last-layers 1 --init keep\n"
                 "  ondine prepare cnn.onnx -o flowers.onnx --loss softmax-cross-entropy "
                 "--optimizer adamw --head 5\n"
                 "  ondine prepare cnn.onnx -o raw.onnx --loss softmax-cross-entropy \\\n"
                 "      --preprocess scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225\n");
  add_options(command, *options);
  command.takes_job_file();
  command.runs([options] {
    PrepareOptions& prepare = options->prepare;
    std::visit([&](auto& settings) { set_options(settings, *options); }, prepare.optimizer);
    check_loss_choice(*options);
    check_owners(*options);
    set_loss(*options);
    for (const std::string& text : options->preprocess) {
      prepare.preprocess.push_back(parse_preprocess(text));
    }
    set_loss_scale(*options);
    set_updates(*options);
    if (options->classes) prepare.head = NewHead{.classes = *options->classes, .cut = options->cut};
    if (!options->classes && !options->cut.empty()) {
      throw Error(ErrorCode::mismatch, "--cut needs --head CLASSES");
    }
    prepare.accuracy = !options->no_accuracy;
    prepare.training_mode = !options->no_training_mode;
    const PrepareReport report =
        ondine::prepare(options->input, options->output_file, prepare, options->load);
    print_warnings(report.warnings);
    print_report(options->output_file, report, prepare.quantize_frozen.has_value());
    return 0;
  });
}

}  // namespace ondine::cli

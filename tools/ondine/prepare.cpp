#include <ondine/prepare.h>

#include <iostream>
#include <map>
#include <memory>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {
namespace {

const std::map<std::string, Loss> losses{{"softmax-cross-entropy", Loss::softmax_cross_entropy},
                                         {"cross-entropy", Loss::softmax_cross_entropy},
                                         {"bce", Loss::bce_with_logits},
                                         {"bce-with-logits", Loss::bce_with_logits},
                                         {"mse", Loss::mse},
                                         {"mae", Loss::mae},
                                         {"huber", Loss::huber}};
const std::map<std::string, Optimizer> optimizers{
    {"sgd", Optimizer::sgd},           {"momentum", Optimizer::momentum},
    {"nesterov", Optimizer::nesterov}, {"adagrad", Optimizer::adagrad},
    {"adam", Optimizer::adam},         {"adamw", Optimizer::adamw}};
const std::map<std::string, WeightInit> inits{{"keep", WeightInit::keep},
                                              {"xavier-uniform", WeightInit::xavier_uniform},
                                              {"xavier-normal", WeightInit::xavier_normal},
                                              {"he-uniform", WeightInit::he_uniform},
                                              {"he-normal", WeightInit::he_normal},
                                              {"xavier", WeightInit::xavier_uniform},
                                              {"he", WeightInit::he_uniform},
                                              {"uniform", WeightInit::uniform},
                                              {"zeros", WeightInit::zeros}};

// The option's text names the choices already.
template <class Value>
CLI::Validator choice(const std::map<std::string, Value>& values) {
  return CLI::CheckedTransformer(values, CLI::ignore_case).description("");
}

// The usual learning rate of each optimizer.
float default_rate(Optimizer optimizer) {
  return optimizer == Optimizer::adam || optimizer == Optimizer::adamw ? 1e-3F : 1e-2F;
}

struct Options {
  std::string input;
  std::string output_file;
  std::optional<float> learning_rate;
  std::optional<float> clip_norm;
  bool no_accuracy = false;
  bool no_training_mode = false;
  PrepareOptions prepare;
};

void add_options(CLI::App& command, Options& options) {
  PrepareOptions& prepare = options.prepare;
  command.add_option("MODEL", options.input, "Inference model")->required();
  command.add_option("-o,--output", options.output_file, "Training model to write")->required();
  command.add_option("--loss", prepare.loss, "softmax-cross-entropy, bce, mse, mae or huber")
      ->required()
      ->transform(choice(losses));
  command
      .add_option("--optimizer", prepare.optimizer,
                  "sgd (the default), momentum, nesterov, adagrad, adam or adamw")
      ->transform(choice(optimizers));
  command.add_option("--loss-output", prepare.output, "Model output that the loss reads");
  command.add_option("--label", prepare.label, "Name of the new label input");
  command.add_option("--train", prepare.train, "Train only parameters of this pattern (* and ?)");
  command.add_option("--freeze", prepare.freeze, "Do not train parameters of this pattern");
  command.add_option("--last-layers", prepare.last_layers, "Train only the last N layers");
  command.add_flag("--untie", prepare.untie,
                   "Parameters that PyTorch's exporter found equal train on their own again");
  command.add_option("--learning-rate", options.learning_rate, "Default of the learning rate");
  command.add_option("--momentum", prepare.momentum, "Of momentum and nesterov");
  command.add_option("--beta1", prepare.beta1, "Of adam and adamw");
  command.add_option("--beta2", prepare.beta2, "Of adam and adamw");
  command.add_option("--epsilon", prepare.epsilon, "Of adagrad, adam and adamw");
  command.add_option("--weight-decay", prepare.weight_decay, "Weight decay");
  command.add_option("--clip-norm", options.clip_norm, "Bound of the gradients' global norm");
  command.add_option("--huber-delta", prepare.huber_delta, "Where the Huber loss becomes linear");
  command
      .add_option("--init", prepare.init,
                  "Of weights: he-uniform, he-normal, xavier-uniform, "
                  "xavier-normal, uniform, zeros "
                  "or keep")
      ->transform(choice(inits));
  command.add_option("--external-data-from", prepare.external_data_from,
                     "Tensors of at least this many bytes go to a file of their own");
  command.add_flag("--no-accuracy", options.no_accuracy, "No accuracy output");
  command.add_flag("--no-training-mode", options.no_training_mode,
                   "Dropout and BatchNormalization stay as in inference");
}

}  // namespace

void add_prepare(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      add_command(app, "prepare", "Turn an inference model into one that trains",
                  "  ondine prepare cnn.onnx -o train.onnx --loss softmax-cross-entropy "
                  "--optimizer adam\n"
                  "  ondine prepare net.onnx -o train.onnx --loss mse --optimizer sgd "
                  "--learning-rate 0.1\n"
                  "  ondine prepare cnn.onnx -o head.onnx --loss softmax-cross-entropy "
                  "--optimizer momentum \\\n"
                  "      --last-layers 1 --init keep\n");
  add_options(*command, *options);
  command->callback([options, &action] {
    action = [options] {
      PrepareOptions& prepare = options->prepare;
      prepare.learning_rate = options->learning_rate.value_or(default_rate(prepare.optimizer));
      prepare.clip_norm = options->clip_norm;
      prepare.accuracy = !options->no_accuracy;
      prepare.training_mode = !options->no_training_mode;
      const PrepareReport report = ondine::prepare(options->input, options->output_file, prepare);
      std::cout << options->output_file << ": loss '" << report.loss << "', trains "
                << report.trained.size() << " parameters, " << report.frozen.size() << " frozen\n";
      for (const std::string& name : report.trained) std::cout << "  train   " << name << '\n';
      for (const std::string& name : report.frozen) std::cout << "  freeze  " << name << '\n';
      return 0;
    };
  });
}

}  // namespace ondine::cli

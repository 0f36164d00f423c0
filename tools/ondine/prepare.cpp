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

void add_options(Command command, Options& options) {
  PrepareOptions& prepare = options.prepare;
  command.option("MODEL", &options.input, "Inference model").required();
  command.option("-o,--output", &options.output_file, "Training model to write").required();
  command.choice("--loss", &prepare.loss, losses, "softmax-cross-entropy, bce, mse, mae or huber")
      .required();
  command.choice("--optimizer", &prepare.optimizer, optimizers,
                 "sgd (the default), momentum, nesterov, adagrad, adam or adamw");
  command.option("--loss-output", &prepare.output, "Model output that the loss reads");
  command.option("--label", &prepare.label, "Name of the new label input");
  command.option("--train", &prepare.train, "Train only parameters of this pattern (* and ?)");
  command.option("--freeze", &prepare.freeze, "Do not train parameters of this pattern");
  command.option("--last-layers", &prepare.last_layers, "Train only the last N layers");
  command.option("--untie", &prepare.untie,
                 "Parameters that PyTorch's exporter found equal train on their own again");
  command.option("--learning-rate", &options.learning_rate, "Default of the learning rate");
  command.option("--momentum", &prepare.momentum, "Of momentum and nesterov");
  command.option("--beta1", &prepare.beta1, "Of adam and adamw");
  command.option("--beta2", &prepare.beta2, "Of adam and adamw");
  command.option("--epsilon", &prepare.epsilon, "Of adagrad, adam and adamw");
  command.option("--weight-decay", &prepare.weight_decay, "Weight decay");
  command.option("--clip-norm", &options.clip_norm, "Bound of the gradients' global norm");
  command.option("--huber-delta", &prepare.huber_delta, "Where the Huber loss becomes linear");
  command.choice("--init", &prepare.init, inits,
                 "Of weights: he-uniform, he-normal, xavier-uniform, xavier-normal, uniform, zeros "
                 "or keep");
  command.option("--external-data-from", &prepare.external_data_from,
                 "Tensors of at least this many bytes go to a file of their own");
  command.option("--no-accuracy", &options.no_accuracy, "No accuracy output");
  command.option("--no-training-mode", &options.no_training_mode,
                 "Dropout and BatchNormalization stay as in inference");
}

}  // namespace

void add_prepare(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command =
      parser.add("prepare", "Turn an inference model into one that trains",
                 "  ondine prepare cnn.onnx -o train.onnx --loss softmax-cross-entropy "
                 "--optimizer adam\n"
                 "  ondine prepare net.onnx -o train.onnx --loss mse --optimizer sgd "
                 "--learning-rate 0.1\n"
                 "  ondine prepare cnn.onnx -o head.onnx --loss softmax-cross-entropy "
                 "--optimizer momentum \\\n"
                 "      --last-layers 1 --init keep\n");
  add_options(command, *options);
  command.runs([options] {
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
  });
}

}  // namespace ondine::cli

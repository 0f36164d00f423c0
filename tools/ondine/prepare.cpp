#include <ondine/prepare.h>

#include <memory>

#include <ondine/options.h>

#include "ondine/class_weights.h"
#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/prepare_report.h"

namespace ondine::cli {
namespace {

struct Options {
  std::string input;
  std::string output;
  OptionValues values;
  ClassWeightOptions class_weights;
  LoadOptions load;
};

int run(Options& options) {
  balance_classes(options.class_weights, options.input, options.values);
  const PrepareOptions prepare = prepare_options(options.values, OptionSpelling::dashes);
  const PrepareReport report =
      ondine::prepare(options.input, options.output, prepare, options.load);
  print_warnings(report.warnings);
  print_report(options.output, report, prepare.quantize_frozen.has_value());
  return 0;
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
  command.option("MODEL", &options->input, "Inference model").required();
  command.option("-o,--output", &options->output, "Training model to write").required();
  command.table(OptionGroup::prepare, options->values);
  add_class_weights(command, options->class_weights, options->load.deadline);
  add_deadline(command, options->load);
  add_operator_sets(command, options->load);
  command.takes_job_file("prepare");
  command.runs([options] { return run(*options); });
}

}  // namespace ondine::cli

#include "ondine/command.h"
#include "ondine/train/seeds.h"
#include "ondine/train/train_run.h"

namespace ondine::cli {
namespace {

void add_stopping(Command command, TrainOptions& options) {
  Option patience = command.option("--patience", &options.patience,
                                   "Stop after this many epochs without improvement");
  command
      .option("--monitor", &options.early_stopping.metric,
              "Metric that must improve: val_loss, val_accuracy, loss, ...")
      .needs(patience);
  command
      .option("--min-delta", &options.early_stopping.min_delta,
              "Improvements up to this size do not count")
      .needs(patience);
  command.option("--max-time", &options.max_time, "Stop after this time: 90s, 10m, 1.5h");
}

void add_evaluation(Command command, TrainOptions& options) {
  command
      .option("--metrics", &options.metrics,
              "NAME,NAME,... of the validation: accuracy, topK, f1, roc_auc, confusion_matrix, r2, "
              "... (docs/metrics.md); with a '.' or '/' a file for one line of JSON per epoch")
      .one_each();
  command.option(
      "--class-axis", &options.trainer.class_axis,
      "Axis of the output with an entry for each class, where the model does not say it");
  const std::map<std::string, OnNan> on_nan{{"stop", OnNan::stop}, {"continue", OnNan::proceed}};
  Option choice = command.choice("--on-nan", &options.trainer.on_nan, on_nan,
                                 "When a metric of a step is not finite: stop (the default), "
                                 "naming the first tensor that is not, or continue");
  command.option("--stop-on-nan", &options.trainer.stop_on_nan, "The same as --on-nan stop")
      .excludes(choice);
}

void add_records(Command command, TrainOptions& options) {
  command.option("--log-dir", &options.log_dir,
                 "Folder for TensorBoard event files, steps.csv, epochs.csv and log.jsonl");
  command.option("--quiet", &options.quiet, "Print errors and warnings only");
  command.option("--report", &options.report,
                 "Page of HTML with curves, worst errors and summary, written at the end");
}

}  // namespace

void add_train(Parser& parser) {
  auto options = std::make_shared<TrainOptions>();
  Command command = parser.add("train", "Train a model on data",
                               "  ondine train train.onnx --data "
                               "/usr/share/datasets/fashion-mnist --epochs 3 \\\n"
                               "      --batch-size 64 --initialize --checkpoint run.ckpt -o "
                               "trained.onnx\n"
                               "  ondine train train.onnx --data x_train.npy y_train.npy "
                               "--map image=x --map label=y \\\n"
                               "      --epochs 10 --batch-size 32 -o trained.onnx\n"
                               "  ondine train train.onnx --data data.npz --epochs 20 "
                               "--batch-size 32 \\\n"
                               "      --checkpoint run.ckpt --resume\n");
  command.option("MODEL", &options->model, "Training model").required();
  add_data_options(command, options->data, options->load.deadline);
  options->data.cache_bytes = DatasetOptions().cache_bytes;
  command.option("--cache-bytes", &options->data.cache_bytes,
                 "Bytes of decoded images and recordings to keep in memory, of training and of "
                 "validation data");
  Option validation_data = command.option("--validation-data", &options->validation_data,
                                          "Folder or files to evaluate on after each epoch");
  command
      .option("--validation-split", &options->trainer.validation_split,
              "Fraction of the training rows to evaluate on instead")
      .excludes(validation_data);
  command.option("--augment", &options->augment,
                 "Random changes of training images: flip, flip-vertical, crop=PIXELS, "
                 "rotate=DEGREES, scale=LOW:HIGH, color=STRENGTH, cutout=PIXELS, mixup=ALPHA; of "
                 "recordings: time-shift=SECONDS, noise=LEVEL, mixup=ALPHA; with commas between "
                 "them");
  command.option("--map", &options->map,
                 "INPUT=ARRAY, for arrays named differently from the input");
  command.option("--set", &options->set, "INPUT=NUMBER fed in every step");
  command.option("--epochs", &options->trainer.epochs, "Passes over the data")
      .required()
      .positive();
  command.option("--batch-size", &options->batch_size, "Rows per step; required with --data")
      .positive();
  command.option("--learning-rate", &options->trainer.learning_rate,
                 "Overrides the model's learning rate");
  command
      .option("--accumulate", &options->trainer.accumulate,
              "Batches for an update, of a model prepared with --accumulate, instead of its own")
      .positive();
  command.option("--averaged", &options->trainer.averaged,
                 "Evaluate with, and write to --output, the averages of the parameters");
  add_load_options(command, options->load);
  command.option("--seed", &options->load.seed, "Seed of shuffling and random operators");
  command.option("--algorithm", &options->trainer.algorithm, "Index of the training algorithm");
  command.option("--initialize", &options->initialize,
                 "Start from the model's initialization instead of its initializers");
  Option weights =
      command.option("--weights", &options->weights, "Weights to start from, in .safetensors");
  Option checkpoint =
      command.option("--checkpoint", &options->checkpoint,
                     "Saved after each epoch and when stopped; FILE.best keeps the best epoch");
  command
      .option("--checkpoint-every", &options->trainer.checkpoint_every,
              "Also save after every N steps")
      .needs(checkpoint);
  Option resume =
      command.option("--resume", &options->trainer.resume, "Continue from the checkpoint");
  resume.needs(checkpoint).excludes(weights);
  Option resume_if_exists =
      command.option("--resume-if-exists", &options->trainer.resume_if_exists,
                     "Continue from the checkpoint where there is one, else start anew");
  resume_if_exists.needs(checkpoint).excludes(resume);
  command
      .option("--overwrite", &options->trainer.overwrite,
              "Replace an existing checkpoint, and records in --log-dir")
      .excludes(resume)
      .excludes(resume_if_exists);
  add_run_schedule(command, options->schedule);
  add_stopping(command, *options);
  command.option("-o,--output", &options->output,
                 "Trained inference model to write, or its weights as .safetensors");
  add_evaluation(command, *options);
  add_records(command, *options);
  Option dry_run =
      command.option("--dry-run", &options->dry_run,
                     "Try every output, print data, plan, memory and the time of three steps, and "
                     "write nothing");
  dry_run.excludes(resume).excludes(resume_if_exists);
  command
      .option("--seeds", &options->seeds,
              "Train with N seeds from --seed on and print mean and standard deviation of the "
              "metrics; writes no files")
      .positive()
      .excludes(dry_run);
  command.takes_job_file();
  command.runs([options] {
    note_precision(options->load);
    if (options->seeds > 1) return train_seeds(*options, options->seeds);
    TrainRun run(*options);
    return options->dry_run ? run.dry_run() : run.run();
  });
}

}  // namespace ondine::cli

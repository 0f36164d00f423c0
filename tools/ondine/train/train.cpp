#include "ondine/command.h"
#include "ondine/train/trainer.h"

namespace ondine::cli {

void add_train(CLI::App& app, Action& action) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = add_command(app, "train", "Train a model on data",
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
  command->add_option("MODEL", options->model, "Training model")->required();
  command->add_option("--data", options->data, "Folder or files: IDX, .npy, .npz")->required();
  command->add_option("--map", options->map, "INPUT=ARRAY where names differ");
  command->add_option("--set", options->set, "INPUT=NUMBER fed in every step");
  command->add_option("--epochs", options->epochs, "Passes over the data")
      ->required()
      ->check(CLI::PositiveNumber);
  command->add_option("--batch-size", options->batch_size, "Rows of a step")
      ->required()
      ->check(CLI::PositiveNumber);
  command->add_option("--learning-rate", options->learning_rate, "Instead of the model's own");
  add_load_options(*command, options->load);
  command->add_option("--seed", options->load.seed, "Of shuffling and random operators");
  command->add_option("--algorithm", options->algorithm, "Index of the training algorithm");
  command->add_flag("--initialize", options->initialize,
                    "Start from the model's initialization instead of its initializers");
  CLI::Option* weights =
      command->add_option("--weights", options->weights, "Weights to start from, in .safetensors");
  CLI::Option* checkpoint = command->add_option("--checkpoint", options->checkpoint,
                                                "Saved after each epoch and when interrupted");
  command
      ->add_option("--checkpoint-every", options->checkpoint_every, "Save after every N steps too")
      ->needs(checkpoint);
  command->add_flag("--resume", options->resume, "Go on where the checkpoint stands")
      ->needs(checkpoint)
      ->excludes(weights);
  command->add_option("-o,--output", options->output,
                      "Trained inference model to write, or its weights as .safetensors");
  command->add_option("--metrics", options->metrics, "One line of JSON for each epoch");
  command->add_flag("--stop-on-nan", options->stop_on_nan, "Fail when a metric is not finite");
  command->callback(
      [options, &action] { action = [options] { return TrainRun(*options).run(); }; });
}

}  // namespace ondine::cli

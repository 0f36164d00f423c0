// Fine-tunes a model on a data set: validates, stops early, checkpoints and exports.
#include <iostream>

#include <ondine/ondine.h>

int main(int argc, char** argv) try {
  using namespace ondine;  // NOLINT
  if (argc != 4) throw std::invalid_argument("usage: finetune MODEL DATA OUT");
  const Dataset data = Dataset::open(argv[2]);
  PrepareOptions options{.loss = Loss::softmax_cross_entropy,
                         .optimizer = AdamW{.learning_rate = 1e-3F, .weight_decay = 0.01F}};
  // Data that names its classes gets a head of its own; other data has those of the model.
  const std::vector<std::string>& names = data.classes();
  if (!names.empty()) options.head = NewHead{.classes = names.size(), .names = names};
  PrepareReport prepared;
  Model model = prepare(std::filesystem::path(argv[1]), options, {.threads = 2}, &prepared);
  std::cout << prepared.trained.size() << " parameters; " << prepared.init_reason << '\n';

  Trainer trainer(model, {.epochs = 5,
                          .batch_size = 64,
                          .seed = 1,
                          .validation_split = 0.1,
                          .schedule = CosineSchedule{.warmup = 0.1},
                          .early_stopping = EarlyStopping{.metric = "val_loss", .patience = 2},
                          .checkpoint = std::string(argv[3]) + ".ckpt",
                          .overwrite = true});
  trainer.on_epoch([](const EpochReport& epoch) { std::cout << epoch << std::endl; });
  std::cout << trainer.fit(data) << '\n';
  model.export_inference(argv[3]);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}

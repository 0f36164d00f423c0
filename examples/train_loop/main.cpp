// Trains a model one step at a time: train_loop MODEL DATA OUT
#include <iostream>

#include <ondine/ondine.h>

int main(int argc, char** argv) try {
  using namespace ondine;  // NOLINT
  if (argc != 4) throw std::invalid_argument("usage: train_loop MODEL DATA OUT");
  auto model = Model::load(argv[1]);
  const Dataset data = Dataset::open(argv[2]);
  model.initialize(1);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    double loss = 0;
    for (const Batch& batch :
         data.batches(64, {.seed = 1, .epoch = epoch, .inputs = model.algorithm(0).inputs})) {
      loss = model.train_step(batch.feeds(), 0, {"loss"}).scalar("loss");
    }
    std::cout << "epoch " << epoch + 1 << ": last loss " << loss << '\n';
    model.set_learning_rate(model.learning_rate() / 2);
  }
  model.export_inference(argv[3]);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}

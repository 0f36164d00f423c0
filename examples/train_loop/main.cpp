// Trains a model on a folder of arrays: train_loop MODEL DATA OUT
#include <iostream>

#include <ondine/data.h>
#include <ondine/model.h>

int main(int argc, char** argv) try {
  if (argc != 4) throw std::invalid_argument("usage: train_loop MODEL DATA OUT");
  constexpr std::uint64_t batch = 64;
  auto model = ondine::Model::load(argv[1]);
  const auto data = ondine::load_splits(std::vector<std::filesystem::path>{argv[2]});
  ondine::Feeder feeder(model.algorithm(0).inputs, data.train);
  model.initialize(1);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    const auto order = ondine::shuffled(feeder.size(), 1, epoch);
    float loss = 0;
    for (std::uint64_t i = 0; i + batch <= order.size(); i += batch) {
      const auto results = model.train_step(feeder.take(std::span(order).subspan(i, batch)), 0,
                                            std::vector<std::string>{"loss"});
      loss = results[0].second.tensor().values<float>()[0];
    }
    std::cout << "epoch " << epoch + 1 << ": last loss " << loss << '\n';
  }
  model.export_inference(argv[3]);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}

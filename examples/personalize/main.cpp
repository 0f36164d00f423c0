// Learns new classes from few images: a backbone trained on classes 0 to 7 is frozen, a new head
// learns all ten from 20 images of each. personalize DATA OUT.onnx
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>

#include <ondine/data.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "common/cnn.h"

namespace {

namespace fs = std::filesystem;
using namespace ondine;
using Rows = std::vector<std::uint64_t>;

const Tensor& find(const NamedValues& arrays, std::string_view name) {
  for (const auto& [key, value] : arrays) {
    if (key == name) return value.tensor();
  }
  throw std::runtime_error("the data has no array '" + std::string(name) + "'");
}

// Up to `each` rows of every class below `classes`.
Rows choose(const Tensor& labels, int classes, std::size_t each) {
  std::vector<std::size_t> taken(256);
  Rows rows;
  const auto values = labels.values<std::uint8_t>();
  for (std::uint64_t row = 0; row < values.size(); ++row) {
    const std::uint8_t label = values[row];
    if (label < classes && taken[label]++ < each) rows.push_back(row);
  }
  return rows;
}

void train(Model& model, const NamedValues& arrays, const Rows& rows, std::uint64_t epochs,
           std::uint64_t batch) {
  Feeder feeder(model.algorithm(0).inputs, arrays);
  NamedValues loss{{"loss", Value()}};
  Rows chosen;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const auto order = shuffled(rows.size(), 1, epoch);
    for (std::uint64_t i = 0; i < order.size(); i += batch) {
      chosen.clear();
      for (std::uint64_t k = i; k < std::min<std::uint64_t>(i + batch, order.size()); ++k) {
        chosen.push_back(rows[order[k]]);
      }
      model.train_step_into(feeder.take(chosen), 0, loss);
    }
  }
}

double accuracy(const Model& model, const NamedValues& arrays, const Rows& rows) {
  Feeder feeder(model.inputs(), arrays, {{"image", "images"}});
  const auto labels = find(arrays, "labels").values<std::uint8_t>();
  std::size_t hits = 0;
  for (std::size_t i = 0; i < rows.size(); i += 200) {
    const auto part = std::span(rows).subspan(i, std::min<std::size_t>(200, rows.size() - i));
    const Tensor logits = model.infer(feeder.take(part))["logits"].tensor();
    const auto classes = static_cast<std::size_t>(logits.shape()[1]);
    for (std::size_t k = 0; k < part.size(); ++k) {
      const auto row = logits.values<float>().subspan(k * classes, classes);
      const auto best = std::max_element(row.begin(), row.end()) - row.begin();
      if (best == labels[part[k]]) ++hits;
    }
  }
  return static_cast<double>(hits) / static_cast<double>(rows.size());
}

Model prepared(const ModelBuilder& builder, const PrepareOptions& options) {
  return prepare(builder.bytes(), options, {.threads = 2, .seed = 1});
}

void run(const fs::path& data_folder, const fs::path& out) {
  const DataSplits data = load_splits(std::vector{data_folder});
  const Tensor& train_labels = find(data.train, "labels");
  const Tensor& test_labels = find(data.validation, "labels");

  PrepareOptions base_options;
  base_options.optimizer = Adam{.learning_rate = 0.001F};
  Model base = prepared(example::make_cnn(8, "old_head"), base_options);
  train(base, data.train, choose(train_labels, 8, 1500), 2, 64);
  std::cout << "backbone, classes 0-7: test accuracy "
            << accuracy(base, data.validation, choose(test_labels, 8, 1000)) << '\n';

  // The new model has the trained backbone and a head of its own for ten classes.
  const auto start = std::chrono::steady_clock::now();
  const auto trained = [&](const std::string& name, const Shape& shape) {
    return name.starts_with("head.") ? example::zeros(name, shape) : base.get_state(name);
  };
  PrepareOptions head_options = base_options;
  head_options.train = {"head.*"};
  head_options.optimizer = Adam{.learning_rate = 0.01F};
  Model personal = prepared(example::make_cnn(10, "head", trained), head_options);
  train(personal, data.train, choose(train_labels, 10, 20), 40, 20);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  personal.export_inference(out);
  const Model reloaded = Model::load(out);
  std::cout << "head, classes 0-9 from 20 images each, in " << seconds << " s: test accuracy "
            << accuracy(reloaded, data.validation, choose(test_labels, 10, 1000)) << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::invalid_argument("usage: personalize DATA OUT.onnx");
  run(argv[1], argv[2]);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}

// Several folders of adapters beside one model.
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/adapters.h>
#include <ondine/error.h>

#include "tests/trainer/adapters/kinds.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// After so many steps, in a folder.
Model tuned(const std::vector<std::byte>& network, const PrepareOptions& options,
            const NamedValues& feeds, const std::filesystem::path& folder, int steps) {
  Model model = prepare(network, options);
  for (int i = 0; i < steps; ++i) model.train_step(feeds);
  save_adapters(model, folder);
  return model;
}

std::vector<float> weighed(const Model& model, const NamedValues& feeds, float one, float other) {
  NamedValues all{feeds[0]};
  for (const auto& [name, weight] :
       {std::pair("adapter.one", one), std::pair("adapter.other", other)}) {
    Tensor value(DType::float32, {});
    value.mutable_values<float>()[0] = weight;
    all.emplace_back(name, value);
  }
  const auto results = model.infer(all);
  const auto values = results[0].second.tensor().values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("adapters of several folders are switched and weighed from call to call") {
  const struct {
    std::vector<std::byte> network;
    NamedValues feeds;
    std::vector<std::string> one;
    std::vector<std::string> other;
  } cases[]{{three_layers(), sequences(), {}, {"fc1", "head"}},
            {image_network(), images(), {"conv1", "conv2"}, {"conv2", "head"}},
            {text_network(), texts(), {"words"}, {"words", "key"}}};
  for (const auto& [network, feeds, one, other] : cases) {
    const TemporaryFolder folder;
    const Model first = tuned(network, with_adapters({.rank = 2, .alpha = 6, .targets = one}),
                              feeds, folder / "one", 4);
    Lora lora{.rank = 3, .alpha = 2, .targets = other};
    lora.rank_stabilized = true;
    const Model second = tuned(network, with_adapters(lora), feeds, folder / "other", 7);
    const Model base = Model::load(network);
    const std::vector<AdapterFolder> folders{{folder / "one"}, {folder / "other" / "", 0}};
    const Model both = with_adapters(base, folders);
    CHECK(distance(first_output(both, feeds), first_output(first, feeds)) < 1e-5);
    CHECK(distance(weighed(both, feeds, 0, 0), first_output(base, feeds)) == 0);
    CHECK(distance(weighed(both, feeds, 1, 0), first_output(first, feeds)) < 1e-5);
    CHECK(distance(weighed(both, feeds, 0, 1), first_output(second, feeds)) < 1e-5);
    CHECK(distance(weighed(both, feeds, 1, 1), first_output(second, feeds)) > 1e-3);
  }
}

TEST_CASE("weights of adapters add what each matrix adds to the weight") {
  ModelBuilder b("line", 17);
  const std::string x = b.input("x", DType::float32, {"N", 8});
  b.output(b.node("MatMul", {x, b.initializer("fc.weight", random_floats({8, 4}, 1))}),
           DType::float32, {"N", 4});
  const NamedValues feeds{{"x", random_floats({6, 8}, 2)}, batch_of_six()[1]};
  const PrepareOptions options = with_adapters({.rank = 2, .targets = {"fc"}});
  const TemporaryFolder folder;
  const Model first = tuned(b.bytes(), options, feeds, folder / "one", 3);
  const Model second = tuned(b.bytes(), options, feeds, folder / "other", 9);
  const Model base = Model::load(b.bytes());
  const std::vector<AdapterFolder> folders{{folder / "one", 0.25}, {folder / "other", -2}};
  const std::vector<float> found = first_output(with_adapters(base, folders), feeds);
  const std::vector<float> plain = first_output(base, feeds);
  const std::vector<float> one = first_output(first, feeds);
  const std::vector<float> other = first_output(second, feeds);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] ==
          Approx(plain[i] + 0.25F * (one[i] - plain[i]) - 2 * (other[i] - plain[i])).margin(1e-4));
  }
}

TEST_CASE("folders that do not suit the model are refused") {
  const TemporaryFolder folder;
  tuned(three_layers(), with_adapters(), sequences(), folder / "one", 1);
  Lora lora{.rank = 2};
  lora.dora = true;
  tuned(three_layers(), with_adapters(lora), sequences(), folder / "dora", 1);
  const Model base = Model::load(three_layers());
  const auto refusal = [&](const Model& model, const std::vector<AdapterFolder>& folders) {
    try {
      with_adapters(model, folders);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refusal(Model::load(image_network()), {{folder / "one"}}),
             Contains("no layer for the module 'body.fc1' of the adapter 'adapter.one'"));
  CHECK_THAT(refusal(base, {{folder / "dora"}}), Contains("of the kind DoRA, needed: LoRA"));
  CHECK_THAT(refusal(base, {{folder / "one"}, {folder / "one"}}), Contains("have one name"));
  CHECK_THAT(refusal(base, {{folder / "one", NAN}}), Contains("needed: a finite number"));
  CHECK_THAT(refusal(base, {{folder / "none"}}), Contains("adapter_config.json"));
  CHECK_THAT(refusal(prepare(three_layers()), {{folder / "one"}}),
             Contains("this one has training information"));
  CHECK(refusal(base, {{folder / "one"}, {folder / "one", 1, "again"}}).empty());
}

// Weights of which some channels train.
#include <algorithm>
#include <catch2/catch.hpp>

#include <ondine/adapters.h>
#include <ondine/error.h>

#include "tests/trainer/adapters/kinds.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

PrepareOptions with_channels(std::vector<std::string> train, Optimizer optimizer = Adam{}) {
  PrepareOptions options;
  options.optimizer = std::move(optimizer);
  options.train = std::move(train);
  return options;
}

// Values of a weight that a model has.
std::vector<float> values_of(std::span<const std::byte> network, const std::string& weight) {
  const Tensor found = prepare(network, with_channels({weight})).get_state(weight);
  const auto values = found.values<float>();
  return {values.begin(), values.end()};
}

// Changes that one step of plain descent makes to a weight of the exported model.
std::vector<float> change_of(const std::vector<std::byte>& network, const std::string& weight,
                             std::vector<std::string> train, const NamedValues& feeds) {
  PrepareOptions options = with_channels(std::move(train), Sgd{.learning_rate = 0.5F});
  options.init = WeightInit::keep;
  Model model = prepare(network, options);
  model.train_step(feeds);
  std::vector<float> change = values_of(model.export_inference(), weight);
  const std::vector<float> before = values_of(network, weight);
  for (std::size_t i = 0; i < change.size(); ++i) change[i] -= before[i];
  return change;
}

std::string refusal(PrepareOptions options, const std::vector<std::byte>& network) {
  try {
    prepare(network, options);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::mismatch);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("Channels of weights train, and merge into the weights") {
  const Optimizer quick = Adam{.learning_rate = 0.05F};
  const PrepareOptions linear =
      with_channels({"body.fc1.weight@1,3-5", "body.fc2.weight@0,7-20,35"}, quick);
  check_kind(three_layers(), linear, sequences());
  check_gradients(three_layers(), linear, sequences());
  const PrepareOptions images_of =
      with_channels({"conv1.weight@0,2", "conv2.weight@1-4", "conv3.weight@0-1"}, quick);
  check_kind(image_network(), images_of, images());
  check_gradients(image_network(), images_of, images());
}

TEST_CASE("The chosen channels change as in a step that trains the whole weight, others stay") {
  struct Case {
    std::vector<std::byte> network;
    NamedValues feeds;
    const char* weight;
    std::size_t channels;  // of the weight
    std::size_t inner;     // elements behind the channel
  };
  const Case cases[] = {{three_layers(), sequences(), "body.fc1.weight", 8, 12},
                        {three_layers(), sequences(), "body.fc2.weight", 36, 1},
                        {image_network(), images(), "conv1.weight", 3, 9},
                        {image_network(), images(), "conv3.weight", 5, 4}};
  for (const Case& one : cases) {
    CAPTURE(one.weight);
    const std::string name = one.weight;
    const std::vector<float> whole = change_of(one.network, name, {name}, one.feeds);
    const std::vector<float> part = change_of(one.network, name, {name + "@0,2"}, one.feeds);
    REQUIRE(part.size() == whole.size());
    float largest = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const std::size_t channel = i / one.inner % one.channels;
      const bool trains = channel == 0 || channel == 2;
      CHECK(part[i] == Approx(trains ? whole[i] : 0.0F).margin(2e-6));
      if (trains) largest = std::max(largest, std::abs(whole[i]));
    }
    CHECK(largest > 1e-3F);
  }
}

TEST_CASE("Derivatives and states of the optimizer exist for the chosen channels alone") {
  Model model = prepare(image_network(), with_channels({"conv1.weight@0,2"}));
  std::vector<Shape> shapes;
  for (const StateInfo& one : model.state()) {
    if (one.name.starts_with("conv1.weight.channels")) shapes.push_back(one.shape);
  }
  REQUIRE(shapes.size() == 3);  // the part and Adam's moments
  for (const Shape& shape : shapes) CHECK(shape == Shape{6, 2, 3, 3});
  const Results gradients = model.gradients(images());
  REQUIRE(gradients.size() == 1);
  CHECK(gradients[0].second.tensor().shape() == Shape{6, 2, 3, 3});
}

TEST_CASE("Whole tensors train beside channels of others") {
  PrepareReport report;
  Model model =
      prepare(three_layers(), with_channels({"head.*", "body.fc1.weight@2"}), {}, &report);
  CHECK(report.trained ==
        std::vector<std::string>{"head.weight", "head.bias", "body.fc1.weight.channels"});
  const Tensor before = model.get_state("head.weight");
  const double first = model.train_step(sequences()).scalar("loss");
  for (int i = 0; i < 20; ++i) model.train_step(sequences());
  CHECK(model.eval_step(sequences()).scalar("loss") < first);
  const Tensor after = model.get_state("head.weight");
  CHECK_FALSE(std::ranges::equal(before.values<float>(), after.values<float>()));
}

TEST_CASE("The list of adapters and the table of parameters tell which channels train") {
  PrepareReport report;
  const Model model = prepare(three_layers(), with_channels({"body.fc2.weight@4-6"}), {}, &report);
  const auto found = adapters(model);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == AdapterKind::channels);
  CHECK(found[0].weight == "body.fc2.weight");
  CHECK(found[0].b == "body.fc2.weight.channels");
  CHECK(report.trained == std::vector<std::string>{"body.fc2.weight.channels"});
  const auto row =
      std::ranges::find(report.parameters, std::string("body.fc2.weight"), &ParameterInfo::name);
  REQUIRE(row != report.parameters.end());
  CHECK(row->reason == "3 of its channels train");
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(save_adapters(model, folder / "adapter"),
                    Contains("channels of 'body.fc2.weight' train, which PEFT does not have"));
}

TEST_CASE("Channels that cannot train are refused by their names") {
  const auto of = [](std::vector<std::string> train) {
    return refusal(with_channels(std::move(train)), three_layers());
  };
  CHECK_THAT(of({"body.fc1.weight@8"}),
             Contains("channel 8 of 'body.fc1.weight'") && Contains("the 8 inputs"));
  CHECK_THAT(of({"body.fc1.weight@3,1"}), Contains("rising order"));
  CHECK_THAT(of({"body.fc1.weight@1,1"}), Contains("rising order"));
  CHECK_THAT(of({"body.fc1.weight@1-99999999999"}), Contains("rising order"));
  CHECK_THAT(of({"body.fc1.weight@1", "body.fc1.weight@2"}), Contains("named twice"));
  CHECK_THAT(of({"body.fc1.weight@1", "*.weight"}), Contains("a pattern trains all"));
  CHECK_THAT(of({"head.bias@1"}), Contains("'head.bias'") && Contains("no weight of one"));
  CHECK_THAT(of({"fc9@1"}), Contains("'fc9'"));
  CHECK_THAT(of({"body.fc1.weight@one"}), Contains("'body.fc1.weight@one'"));
  CHECK_THAT(refusal(with_channels({"words.weight@1"}), text_network()),
             Contains("'words.weight'"));
  PrepareOptions options = with_channels({"body.fc1.weight@1"});
  options.lora = Lora{};
  CHECK_THAT(refusal(options, three_layers()), Contains("excludes lora"));
  options = with_channels({"body.fc1.weight@1"});
  options.last_layers = 1;
  CHECK_THAT(refusal(options, three_layers()), Contains("excludes last_layers"));
  options = with_channels({"body.fc1.weight@1"});
  options.init = WeightInit::he_uniform;
  CHECK_THAT(refusal(options, three_layers()), Contains("excludes init"));
}

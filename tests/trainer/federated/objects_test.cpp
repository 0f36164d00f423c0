// Objects and arrays as Flower 1.42 writes them.
#include <catch2/catch.hpp>

#include "graph/record/json_value.h"
#include "tests/support/random_tensor.h"
#include "tests/trainer/federated/fake_superlink.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// The object of a store with this id.
federated::FetchObject from(const std::map<std::string, std::string>& objects) {
  return [&objects](const std::string& id) -> const std::string& {
    REQUIRE(objects.contains(id));
    return objects.at(id);
  };
}

StateInfo info(const Tensor& tensor) {
  return {"w", StateRole::weight, tensor.dtype(), tensor.shape()};
}

std::string description(const std::string& order, const std::string& shape) {
  return R"({"dtype": "float32", "shape": )" + shape +
         R"(, "stype": "numpy.ndarray", "arraychunk_ids": )" + order + "}";
}

}  // namespace

TEST_CASE("objects have the ids that Flower gives them") {
  federated::ObjectStore store;
  // MetricRecord({"loss": 0.5, "num-examples": 10})
  const fleet::Record metrics{{"loss", 0.5}, {"num-examples", std::int64_t{10}}};
  CHECK(store.add("MetricRecord", {}, fleet::record_bytes(metrics)).id ==
        "1dc7310c1f58aa2fc38176dbc66ac4d556e14dbf3eb6db9002ef7a4179addaa0");
  // A message with Error(1, "no").
  fleet::Message message;
  message.metadata.run = 7;
  message.metadata.source = 5;
  message.metadata.destination = 1;
  message.metadata.reply_to = "ab";
  message.metadata.group = "3";
  message.metadata.created = 1.5;
  message.metadata.seconds_to_live = 2.5;
  message.metadata.type = "train";
  message.metadata.id = "is left out";
  message.failure = fleet::Failure{1, "no"};
  CHECK(store.add("Message", {}, fleet::message_bytes(message, true)).id ==
        "22881fdf161daf9ad150ee323020099aaa86f65e9c3feec8fcdcfcf57dbcf7d4");
}

TEST_CASE("settings are read as Flower writes them") {
  // ConfigRecord({"epochs": 2, "lr": 0.1, "seed": 7, "verbose": True, "name": "x", "list": [1, 2]})
  const std::string hex =
      "0a0c0a0665706f636873120210040a0f0a026c721209099a9999999999b93f0a0a0a04736565641202100e0a0d0a"
      "07766572626f7365120220010a0b0a046e616d6512032a01780a0f0a046c6973741207b201040a020204";
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  const fleet::Record record = fleet::read_record(bytes);
  CHECK(record.size() == 6);
  CHECK(value_of(record, "verbose") == fleet::Scalar(true));
  CHECK(value_of(record, "name") == fleet::Scalar(std::string("x")));
  CHECK(value_of(record, "list") == fleet::Scalar());
  const federated::RoundSettings settings = federated::read_settings(record);
  CHECK(settings.epochs == 2);
  CHECK(settings.learning_rate == 0.1F);
  CHECK(settings.seed == 7);
  CHECK(settings.unknown == std::vector<std::string>{"verbose", "name", "list"});
}

TEST_CASE("an array in many chunks, some of them equal, is put together") {
  const Tensor zeros(DType::float32, {64});
  federated::ObjectStore whole;
  const fleet::Tree tree = federated::add_array(whole, zeros);
  const std::string& id = tree.children.at(0).id;
  const std::string bytes(federated::read_object(whole.all().at(id), id, "ArrayChunk").body);
  federated::ObjectStore store;
  std::vector<fleet::Tree> chunks;
  std::string order;
  for (std::size_t at = 0; at < bytes.size(); at += 32) {
    fleet::Tree chunk = store.add("ArrayChunk", {}, bytes.substr(at, 32));
    std::size_t index = 0;
    while (index < chunks.size() && chunks[index].id != chunk.id) ++index;
    order += (order.empty() ? "[" : ", ") + std::to_string(index);
    if (index == chunks.size()) chunks.push_back(std::move(chunk));
  }
  REQUIRE(chunks.size() < bytes.size() / 32);
  const fleet::Tree array = store.add("Array", chunks, description(order + "]", "[64]"));
  CHECK(federated::read_array(array.id, info(zeros), from(store.all()), {}).identical(zeros));

  const std::string no_such = "[0, " + std::to_string(chunks.size()) + "]";
  const fleet::Tree wrong = store.add("Array", chunks, description(no_such, "[64]"));
  CHECK_THROWS_WITH(federated::read_array(wrong.id, info(zeros), from(store.all()), {}),
                    Contains("it names chunk"));
}

TEST_CASE("arrays of several chunks come back with the same bits, equal chunks travel once") {
  const Tensor zeros(DType::float32, {6 << 20});  // 24 MiB
  federated::ObjectStore store;
  const fleet::Tree tree = federated::add_array(store, zeros);
  CHECK(tree.children.size() == 3);  // with the header, zeros, the rest
  CHECK(federated::read_array(tree.id, info(zeros), from(store.all()), {}).identical(zeros));
  for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{2, 3, 4}}) {
    const Tensor tensor = random_floats(shape, 3);
    federated::ObjectStore small;
    const fleet::Tree added = federated::add_array(small, tensor);
    CHECK(federated::read_array(added.id, info(tensor), from(small.all()), {}).identical(tensor));
  }
}

TEST_CASE("chunks that hold more than the array are refused before they fill the memory") {
  const Tensor one(DType::float32, {1});
  federated::ObjectStore store;
  const fleet::Tree chunk = store.add("ArrayChunk", {}, std::string(60'000, 'x'));
  std::string order = "[0";
  for (int i = 0; i < 5000; ++i) order += ",0";
  const fleet::Tree array = store.add("Array", {chunk}, description(order + "]", "[1]"));
  CHECK_THROWS_WITH(federated::read_array(array.id, info(one), from(store.all()), {}),
                    Contains("its chunks have more than 65540 bytes"));
}

TEST_CASE("a file that holds another array than its description says is refused") {
  const Tensor two = Tensor::of<float>({2}, std::vector{1.0F, 2.0F});
  federated::ObjectStore store;
  const fleet::Tree chunk = federated::add_array(store, two).children.at(0);
  const fleet::Tree array = store.add("Array", {chunk}, description("[0]", "[1, 2]"));
  const StateInfo wanted{"w", StateRole::weight, DType::float32, Shape{1, 2}};
  CHECK_THROWS_WITH(federated::read_array(array.id, wanted, from(store.all()), {}),
                    Contains("its file holds a float[2]"));
  const std::string bytes(
      federated::read_object(store.all().at(chunk.id), chunk.id, "ArrayChunk").body);
  const fleet::Tree longer = store.add("ArrayChunk", {}, bytes + "more");
  const fleet::Tree trailing = store.add("Array", {longer}, description("[0]", "[2]"));
  CHECK_THROWS_WITH(federated::read_array(trailing.id, info(two), from(store.all()), {}),
                    Contains("4 bytes after the last element"));
  const fleet::Tree cut = store.add("ArrayChunk", {}, bytes.substr(0, bytes.size() - 1));
  const fleet::Tree short_one = store.add("Array", {cut}, description("[0]", "[2]"));
  CHECK_THROWS_AS(federated::read_array(short_one.id, info(two), from(store.all()), {}), Error);
}

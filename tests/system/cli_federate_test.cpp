// The command `federate` where there is no SuperLink; tests/federated has one.
#include <catch2/catch.hpp>

#include "tests/system/run/cli_run.h"

using Catch::Contains;
using cli_test::Result;
using cli_test::Workshop;

TEST_CASE("federate needs a SuperLink, a model and data, and says which it lacks") {
  const Workshop shop;
  shop.succeed("prepare net.onnx -o train.onnx --loss softmax-cross-entropy --label y");
  shop.misuse("federate --model train.onnx --data data", "--superlink is required");
  shop.misuse("federate --superlink 127.0.0.1:1 --data data", "--model is required");
  shop.misuse("federate --superlink 127.0.0.1:1 --model train.onnx", "--data is required");
  const std::string federate = "federate --superlink 127.0.0.1:1 --model train.onnx --data data ";
  shop.misuse(federate + "--insecure --root-certificates ca.pem", "excludes");
  shop.misuse(federate + "--train-metric loss", "--train-metric needs NAME=VALUE");
  shop.misuse(federate + "--most-epochs 0", "--most-epochs");
}

TEST_CASE("federate ends with an error where nothing listens, and keeps its key") {
  const Workshop shop;
  shop.succeed("prepare net.onnx -o train.onnx --loss softmax-cross-entropy --label y");
  const std::string federate =
      "federate --superlink 127.0.0.1:1 --insecure --retry 100ms --model train.onnx "
      "--data data --checkpoint node.ckpt";
  const Result result = shop.run(federate);
  CHECK(result.exit_code == 1);
  if (result.err.find("federations need libcurl") != std::string::npos) return;
  CHECK_THAT(result.err, Contains("cannot reach the SuperLink at '127.0.0.1:1'"));
  const std::string key = shop.read("node.ckpt.key");
  CHECK_THAT(key, Catch::StartsWith("-----BEGIN PRIVATE KEY-----\n"));
  shop.refuse(federate, "cannot reach the SuperLink");
  CHECK(shop.read("node.ckpt.key") == key);
  CHECK_FALSE(exists(shop / "node.ckpt"));
}

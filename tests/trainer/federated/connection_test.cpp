// Keys, places and options of a node.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/federated/fake_superlink.h"
#include "tests/trainer/fit/small_task.h"
#include "trainer/federated/http_transport.h"
#include "trainer/federated/node_key.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using federated::NodeKey;

namespace {

// Whether the build has libcurl and OpenSSL; a build without says which it misses.
bool is_there() {
  try {
    federated::make_http_transport({.superlink = "127.0.0.1:1"}, NodeKey::make());
    return true;
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
    CHECK_THAT(error.message(), Contains("federations need libcurl"));
    return false;
  }
}

std::string read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("a key is made once, is its owner's alone and has its public part beside it") {
  if (!is_there()) return;
  const TemporaryFolder folder;
  const NodeKey first = NodeKey::load_or_make(folder / "node.key");
  struct stat facts {};
  REQUIRE(::stat((folder / "node.key").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  CHECK(first.public_pem().starts_with("-----BEGIN PUBLIC KEY-----\n"));
  const std::string line = read(folder / "node.key.pub");
  // The lengths and names of "ecdsa-sha2-nistp384" and "nistp384", and an uncompressed point.
  CHECK(line.starts_with(
      "ecdsa-sha2-nistp384 AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlzdHAzODQAAABhB"));
  CHECK(line.ends_with(" ondine\n"));
  CHECK(NodeKey::load_or_make(folder / "node.key").public_pem() == first.public_pem());
  CHECK(NodeKey::make().public_pem() != first.public_pem());
  CHECK(first.sign("text") != first.sign("other"));
}

TEST_CASE("keys that a SuperLink does not take are refused by name") {
  if (!is_there()) return;
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(NodeKey::load(folder / "none"), Contains("cannot read the key"));
  std::ofstream(folder / "text") << "no key";
  CHECK_THROWS_WITH(NodeKey::load(folder / "text"), Contains("is no private key in PEM"));
  std::ofstream(folder / "ssh") << "-----BEGIN OPENSSH PRIVATE KEY-----\n";
  CHECK_THROWS_WITH(NodeKey::load(folder / "ssh"), Contains("ssh-keygen -p -m PEM"));
  // An Ed25519 key of RFC 8410.
  std::ofstream(folder / "ed")
      << "-----BEGIN PRIVATE KEY-----\n"
         "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
         "-----END PRIVATE KEY-----\n";
  CHECK_THROWS_WITH(NodeKey::load(folder / "ed"), Contains("none of ECDSA on P-384 or P-256"));
}

TEST_CASE("a place that is no HOST:PORT is refused") {
  if (!is_there()) return;
  const NodeKey key = NodeKey::make();
  for (const std::string place : {"", "host", "host:", ":80", "host:port", "host:123456",
                                  "http://host:80/x", "user@host:80", "host:80/../x"}) {
    INFO(place);
    CHECK_THROWS_WITH(federated::make_http_transport({.superlink = place}, key),
                      Contains("needs HOST:PORT"));
  }
}

TEST_CASE("a port that nothing listens on is an error of the connection") {
  if (!is_there()) return;
  const auto transport = federated::make_http_transport(
      {.superlink = "127.0.0.1:1", .insecure = true}, NodeKey::make());
  try {
    transport->post("pull-messages", "", 100);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::io);
    CHECK_THAT(error.message(), Contains("cannot reach the SuperLink at '127.0.0.1:1'"));
  }
}

TEST_CASE("options that make no sense in a federation are refused") {
  if (!is_there()) return;
  Model model = line_model();
  const auto refusal = [&](const std::function<void(FederatedOptions&)>& change) {
    FederatedOptions options{.superlink = "127.0.0.1:1", .insecure = true};
    change(options);
    try {
      const FederatedNode node(model, Dataset::from(line_data(4)), options);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  CHECK(refusal([](FederatedOptions&) {}).empty());
  CHECK_THAT(refusal([](auto& one) { one.trainer.checkpoint = "x"; }), Contains("checkpoint"));
  CHECK_THAT(refusal([](auto& one) { one.trainer.log_dir = "x"; }), Contains("no records"));
  CHECK_THAT(refusal([](auto& one) { one.root_certificates = "x"; }), Contains("without TLS"));
  CHECK_THAT(refusal([](auto& one) { one.heartbeat = std::chrono::milliseconds(1); }),
             Contains("1 second to 30 minutes"));
}

// HTTP by libcurl, against a server of the test that writes what it is told.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

#include <ondine/error.h>

#include "trainer/federated/http_transport.h"

using namespace ondine;
using Catch::Contains;

namespace {

// Takes one request, answers with the given bytes and closes.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(socket_, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0);
    REQUIRE(::listen(socket_, 1) == 0);
    socklen_t size = sizeof place;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&place), &size);
    port_ = ntohs(place.sin_port);
    thread_ = std::thread([this, answer = std::move(answer)] { serve(answer); });
  }
  ~OneAnswer() {
    thread_.join();
    ::close(socket_);
  }

  std::string place() const { return "127.0.0.1:" + std::to_string(port_); }
  const std::string& request() {
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([] {});
    return request_;
  }

 private:
  void serve(const std::string& answer) {
    const int peer = ::accept(socket_, nullptr, nullptr);
    std::array<char, 4096> bytes{};
    while (request_.find("the body") == std::string::npos) {
      const auto count = ::read(peer, bytes.data(), bytes.size());
      if (count <= 0) break;
      request_.append(bytes.data(), static_cast<std::size_t>(count));
      if (!request_.starts_with("POST")) break;
    }
    std::size_t done = 0;
    while (done < answer.size()) {
      const auto count = ::send(peer, answer.data() + done, answer.size() - done, MSG_NOSIGNAL);
      if (count <= 0) break;
      done += static_cast<std::size_t>(count);
    }
    ::close(peer);
  }

  int socket_;
  int port_ = 0;
  std::string request_;
  std::thread thread_;
};

bool is_there() {
  ::setenv("no_proxy", "127.0.0.1", 1);
  try {
    federated::make_http_transport({.superlink = "127.0.0.1:1"}, federated::NodeKey::make());
    return true;
  } catch (const Error&) {
    return false;
  }
}

federated::Answer post(const OneAnswer& server, std::uint64_t most = 1000) {
  const auto transport = federated::make_http_transport(
      {.superlink = server.place(), .insecure = true, .timeout = std::chrono::seconds(20)},
      federated::NodeKey::make());
  return transport->post("pull-messages", "the body", most);
}

// The code of the error that the answer ends in.
ErrorCode refusal(const std::string& answer, std::uint64_t most = 1000) {
  OneAnswer server(answer);
  try {
    post(server, most);
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("no error");
  return ErrorCode::internal;
}

}  // namespace

TEST_CASE("a call is a signed POST of Protobuf, and its answer has status and body") {
  if (!is_there()) return;
  OneAnswer server("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone");
  const federated::Answer answer = post(server);
  CHECK(answer.status == 404);
  CHECK(answer.body == "none");
  const std::string& request = server.request();
  CHECK_THAT(request, Catch::StartsWith("POST /v1/fleet/pull-messages HTTP/1.1\r\n") &&
                          Contains("content-type: application/protobuf\r\n") &&
                          Contains("accept: application/protobuf\r\n") &&
                          Contains("\r\nflwr-public-key: ") && Contains("\r\nflwr-signature: ") &&
                          Contains("+00:00\r\n") && Catch::EndsWith("\r\n\r\nthe body"));
  CHECK_THAT(request, !Contains("Expect:") && !Contains("PRIVATE"));
}

TEST_CASE("an answer that is longer than it may be is refused before it is taken") {
  if (!is_there()) return;
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n";
  CHECK(refusal(head + std::string(4'000'000, 'x')) == ErrorCode::limit);
  // Without a length, until the connection ends.
  CHECK(refusal("HTTP/1.1 200 OK\r\n\r\n" + std::string(4'000'000, 'x')) == ErrorCode::limit);
}

TEST_CASE(
    "connections that break and servers that speak something else are errors of the connection") {
  if (!is_there()) return;
  CHECK(refusal("") == ErrorCode::io);
  CHECK(refusal("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nshort") == ErrorCode::io);
  CHECK(refusal("220 mail.example.org ESMTP\r\n") == ErrorCode::mismatch);
}

TEST_CASE("a server without TLS and certificates that cannot be read are errors") {
  if (!is_there()) return;
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nthe body");
  const auto key = federated::NodeKey::make();
  const auto plain = federated::make_http_transport({.superlink = server.place()}, key);
  CHECK_THROWS_AS(plain->post("pull-messages", "the body", 10), Error);
  const auto blind = federated::make_http_transport(
      {.superlink = server.place(), .root_certificates = "no such file"}, key);
  try {
    blind->post("pull-messages", "the body", 10);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::mismatch);
  }
}

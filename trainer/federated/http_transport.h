// HTTP or HTTPS by libcurl, every call signed.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "trainer/federated/node_key.h"
#include "trainer/federated/transport.h"

namespace ondine::federated {

struct HttpOptions {
  std::string superlink;  // "HOST:PORT"
  bool insecure = false;  // without TLS
  std::filesystem::path root_certificates = {};
  std::chrono::milliseconds timeout = std::chrono::seconds(60);  // of one call
};

// Error(unsupported) in builds without libcurl, Error(invalid_option) for a place that is no
// HOST:PORT.
std::unique_ptr<Transport> make_http_transport(const HttpOptions& options, const NodeKey& key);

}  // namespace ondine::federated

#include "trainer/federated/http_transport.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/federated/missing.h"

#ifdef ONDINE_FLOWER
#include <curl/curl.h>

#include <array>
#include <ctime>
#include <mutex>
#include <new>
#include <vector>

#include "core/text/base64.h"
#include "trainer/federated/loaded_library.h"
#endif

namespace ondine::federated {

#ifdef ONDINE_FLOWER

namespace {

using Handle = std::unique_ptr<CURL, void (*)(CURL*)>;
using Headers = std::unique_ptr<curl_slist, void (*)(curl_slist*)>;

class Curl {
  LoadedLibrary library_{"libcurl.so.4", "libcurl4"};

 public:
  static const Curl& instance() {
    static const Curl curl;
    return curl;
  }

  CURLcode (*init)(long) = library_["curl_global_init"];
  CURL* (*make)() = library_["curl_easy_init"];
  void (*free)(CURL*) = library_["curl_easy_cleanup"];
  CURLcode (*set)(CURL*, CURLoption, ...) = library_["curl_easy_setopt"];
  CURLcode (*perform)(CURL*) = library_["curl_easy_perform"];
  CURLcode (*info)(CURL*, CURLINFO, ...) = library_["curl_easy_getinfo"];
  const char* (*text)(CURLcode) = library_["curl_easy_strerror"];
  curl_slist* (*append)(curl_slist*, const char*) = library_["curl_slist_append"];
  void (*free_list)(curl_slist*) = library_["curl_slist_free_all"];

 private:
  Curl() {
    if (init(CURL_GLOBAL_DEFAULT) != CURLE_OK) fail(ErrorCode::internal, "libcurl cannot be used");
  }
};

struct Received {
  std::string body;
  std::uint64_t most = 0;
  bool is_too_long = false;
  bool is_out_of_memory = false;
};

// An exception must not pass through libcurl.
std::size_t receive(char* data, std::size_t, std::size_t size, void* to) {
  auto& received = *static_cast<Received*>(to);
  if (size > received.most - received.body.size()) {
    received.is_too_long = true;
    return 0;
  }
  try {
    received.body.append(data, size);
  } catch (const std::bad_alloc&) {
    received.is_out_of_memory = true;
    return 0;
  }
  return size;
}

// ISO 8601 in UTC with microseconds.
std::string timestamp() {
  const auto now = std::chrono::system_clock::now();
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string digits = std::to_string(1'000'000 + micros % 1'000'000).substr(1);
  return std::string(text.data(), size) + "." + digits + "+00:00";
}

void add(Headers& headers, const std::string& line) {
  curl_slist* const longer = Curl::instance().append(headers.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  static_cast<void>(headers.release());
  headers.reset(longer);
}

class HttpTransport final : public Transport {
 public:
  HttpTransport(HttpOptions options, NodeKey key)
      : curl_(Curl::instance()), options_(std::move(options)), key_(std::move(key)) {}

  Answer post(std::string_view name, const std::string& body, std::uint64_t most) override {
    Handle handle = lend();
    Received received;
    received.most = most;
    std::array<char, CURL_ERROR_SIZE> reason{};
    const Headers headers = make_headers();
    prepare(handle.get(), name, body, headers.get());
    curl_.set(handle.get(), CURLOPT_WRITEDATA, &received);
    curl_.set(handle.get(), CURLOPT_ERRORBUFFER, reason.data());
    const CURLcode code = curl_.perform(handle.get());
    curl_.set(handle.get(), CURLOPT_ERRORBUFFER, nullptr);
    if (received.is_out_of_memory) throw std::bad_alloc();
    if (received.is_too_long) {
      fail(ErrorCode::limit, "the SuperLink's answer to ", quoted(name), " has more than ", most,
           " bytes");
    }
    if (code != CURLE_OK) {
      const std::string why = reason[0] == 0 ? curl_.text(code) : reason.data();
      fail(is_final(code) ? ErrorCode::mismatch : ErrorCode::io, "cannot reach the SuperLink at ",
           quoted(options_.superlink), ": ", why);
    }
    long status = 0;
    curl_.info(handle.get(), CURLINFO_RESPONSE_CODE, &status);
    give_back(std::move(handle));
    return {static_cast<int>(status), std::move(received.body)};
  }

 private:
  // Certificates do not become right by waiting.
  static bool is_final(CURLcode code) {
    return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
           code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
  }

  Headers make_headers() const {
    Headers headers(nullptr, curl_.free_list);
    const std::string now = timestamp();
    add(headers, "content-type: application/protobuf");
    add(headers, "accept: application/protobuf");
    add(headers, "Expect:");  // no pause before large bodies
    add(headers, "flwr-public-key: " + to_base64(key_.public_pem()));
    add(headers, "flwr-timestamp: " + now);
    add(headers, "flwr-signature: " + to_base64(key_.sign(now)));
    return headers;
  }

  void prepare(CURL* handle, std::string_view name, const std::string& body,
               curl_slist* headers) const {
    const std::string scheme = options_.insecure ? "http" : "https";
    const std::string url = scheme + "://" + options_.superlink + "/v1/fleet/" + std::string(name);
    curl_.set(handle, CURLOPT_URL, url.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_.set(handle, CURLOPT_PROTOCOLS_STR, scheme.c_str());
#endif
    curl_.set(handle, CURLOPT_NOSIGNAL, 1L);
    curl_.set(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl_.set(handle, CURLOPT_CONNECTTIMEOUT_MS, 10'000L);
    curl_.set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout.count()));
    curl_.set(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!options_.root_certificates.empty()) {
      curl_.set(handle, CURLOPT_CAINFO, options_.root_certificates.c_str());
      curl_.set(handle, CURLOPT_CAPATH, nullptr);
    }
    curl_.set(handle, CURLOPT_POST, 1L);
    curl_.set(handle, CURLOPT_POSTFIELDS, body.data());
    curl_.set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_.set(handle, CURLOPT_HTTPHEADER, headers);
    curl_.set(handle, CURLOPT_WRITEFUNCTION, receive);
  }

  // Handles keep their connections; heartbeats have another thread and so another handle.
  Handle lend() {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      Handle handle = std::move(idle_.back());
      idle_.pop_back();
      return handle;
    }
    Handle handle(curl_.make(), curl_.free);
    if (handle == nullptr) throw std::bad_alloc();
    return handle;
  }
  void give_back(Handle handle) {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(handle));
  }

  const Curl& curl_;
  HttpOptions options_;
  NodeKey key_;
  std::mutex mutex_;
  std::vector<Handle> idle_;
};

void require_place(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  const std::string_view port =
      colon == std::string::npos ? std::string_view() : std::string_view(place).substr(colon + 1);
  const bool is_port =
      !port.empty() && port.size() <= 5 &&
      std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  const bool is_host = colon != 0 && place.find_first_of("/@?# \t\r\n") == std::string::npos;
  if (is_port && is_host) return;
  fail(ErrorCode::invalid_option, "the SuperLink needs HOST:PORT, found ", quoted(place));
}

}  // namespace

std::unique_ptr<Transport> make_http_transport(const HttpOptions& options, const NodeKey& key) {
  require_place(options.superlink);
  return std::make_unique<HttpTransport>(options, key);
}

#else

std::unique_ptr<Transport> make_http_transport(const HttpOptions&, const NodeKey&) {
  fail_without_flower();
}

#endif

}  // namespace ondine::federated

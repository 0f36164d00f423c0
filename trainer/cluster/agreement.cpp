#include "trainer/cluster/agreement.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/checked.h"
#include "core/digest.h"
#include "core/message.h"

namespace ondine::cluster {
namespace {

// Words above a wish: a rank sends either its wish or first_error plus the code of an error.
constexpr std::uint32_t first_error = 1U << 16;

struct Failure {
  ErrorCode code = ErrorCode::internal;
  std::string text;
};

std::vector<std::uint32_t> exchange(Communicator& ranks, std::uint32_t word) {
  std::vector<std::uint32_t> all(ranks.size());
  ranks.all_gather(std::as_bytes(std::span(&word, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

std::optional<Failure> attempt(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const AgreedError&) {
    throw;
  } catch (const Error& error) {
    return Failure{error.code(), error.what()};
  } catch (const std::exception& error) {
    return Failure{ErrorCode::internal, error.what()};
  }
}

// The text of rank `from`, on all ranks.
std::string share(Communicator& ranks, std::size_t from, std::string text) {
  std::uint64_t size = text.size();
  ranks.broadcast(std::as_writable_bytes(std::span(&size, 1)), from);
  text.resize(size_in_memory(size, "a text"));
  ranks.broadcast(std::as_writable_bytes(std::span(text)), from);
  return text;
}

}  // namespace

std::uint32_t agree_on(Communicator& ranks, const std::function<void()>& work, std::uint32_t wish) {
  const std::optional<Failure> failure = attempt(work);
  const std::uint32_t word =
      failure ? first_error + static_cast<std::uint32_t>(failure->code) : wish;
  const std::vector<std::uint32_t> all = exchange(ranks, word);
  const auto first =
      std::find_if(all.begin(), all.end(), [](std::uint32_t one) { return one >= first_error; });
  if (first == all.end()) return *std::max_element(all.begin(), all.end());
  const auto from = static_cast<std::size_t>(first - all.begin());
  std::string text = share(ranks, from, failure ? failure->text : std::string());
  const bool is_common =
      std::all_of(all.begin(), all.end(), [&](std::uint32_t one) { return one == *first; });
  if (!is_common) text = cat("rank ", from, ": ", text);
  throw AgreedError(static_cast<ErrorCode>(*first - first_error), std::move(text));
}

void require_same(Communicator& ranks,
                  const std::vector<std::pair<std::string, std::string>>& facts) {
  std::vector<Sha256Digest> mine;
  for (const auto& [name, text] : facts) mine.push_back(sha256(bytes_of(text)));
  std::vector<Sha256Digest> all(mine.size() * ranks.size());
  ranks.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  std::string others;
  std::string names;
  for (std::size_t fact = 0; fact < facts.size(); ++fact) {
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
      if (all[rank * facts.size() + fact] == all[fact]) continue;
      if (!names.ends_with(facts[fact].first)) {
        names += (names.empty() ? "" : ", ") + facts[fact].first;
      }
      if (others.empty()) others = std::to_string(rank);
    }
  }
  if (names.empty()) return;
  throw AgreedError(ErrorCode::mismatch, cat("rank ", others, " differs from rank 0 in: ", names,
                                             "; all ranks of a cluster need the same"));
}

}  // namespace ondine::cluster

namespace ondine {

void agree(Communicator& ranks, const std::function<void()>& work) {
  cluster::agree_on(ranks, work);
}

}  // namespace ondine

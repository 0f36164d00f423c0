#include "trainer/data/text/passage.h"

#include <algorithm>

#include "core/stop.h"

namespace ondine::data {
namespace {

using Ids = std::vector<std::int64_t>;

Ids encode_start(const std::string& text, const TextEncoding& encoding, bool is_bare) {
  return is_bare ? encode_bare(text, encoding) : encoding.encode_beginning(text);
}

std::size_t common_start(const Ids& a, const Ids& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

}  // namespace

std::vector<std::int64_t> encode_bare(const std::string& text, const TextEncoding& encoding) {
  Ids ids = encoding.encode_beginning(text);
  ids.erase(ids.begin(), ids.begin() + std::ssize(encoding.beginning()));
  return ids;
}

MarkedIds encode_passage(const Passage& passage, const TextEncoding& encoding, LossOn loss_on) {
  const std::string& text = passage.text;
  MarkedIds result;
  Ids& ids = result.ids;
  ids = encode_start(text, encoding, passage.is_whole);
  // The number of ids of the text's beginning.
  const auto ids_before = [&](std::size_t bytes) {
    check_stop();
    if (bytes == text.size()) return ids.size();
    return common_start(ids, encode_start(text.substr(0, bytes), encoding, passage.is_whole));
  };
  result.counts.assign(ids.size(), loss_on == LossOn::all);
  bool ends_with_answer = loss_on == LossOn::all;
  if (loss_on == LossOn::answer) {
    for (const Passage::Answer& answer : passage.answers) {
      const std::size_t end = ids_before(answer.end);
      for (std::size_t i = ids_before(answer.begin); i < end; ++i) result.counts[i] = true;
      ends_with_answer = answer.end == text.size();
    }
  }
  const auto end_of_text = encoding.end_of_text();
  if (!passage.is_whole && end_of_text) {
    ids.push_back(*end_of_text);
    result.counts.push_back(ends_with_answer);
  }
  return result;
}

}  // namespace ondine::data

#include "trainer/data/array_splits.h"

#include <algorithm>
#include <utility>

#include "core/message.h"

namespace ondine::data {
namespace {

using Arrays = std::vector<NamedArray>;

std::int64_t rows_of(const NamedArray& one) {
  return one.array.shape().empty() ? -1 : one.array.shape()[0];
}

bool has_name(const Arrays& arrays, const NamedArray& wanted) {
  return std::any_of(arrays.begin(), arrays.end(), [&](const NamedArray& one) {
    return one.split != wanted.split && one.name == wanted.name;
  });
}

bool has_rows(const Arrays& arrays, std::int64_t rows) {
  return std::any_of(arrays.begin(), arrays.end(), [&](const NamedArray& one) {
    return one.split == Split::unknown && rows_of(one) == rows;
  });
}

// In its own name, not in that of its file.
bool has_word(const NamedArray& one) { return one.whole != one.name; }

// Whether the word in the names of this part belongs to the names, as in "test_score" beside "x":
// no other array has such a name without the word or with another one, and each has as many rows as
// one without a word.
bool is_word_of_names(const Arrays& arrays, Split split) {
  return std::all_of(arrays.begin(), arrays.end(), [&](const NamedArray& one) {
    if (one.split == Split::train) return false;
    if (one.split != split) return true;
    return has_word(one) && !has_name(arrays, one) && has_rows(arrays, rows_of(one));
  });
}

void keep_words_of_names(Arrays& arrays) {
  for (const Split split : {Split::validation, Split::test}) {
    if (!is_word_of_names(arrays, split)) continue;
    for (NamedArray& one : arrays) {
      if (one.split != split) continue;
      one.split = Split::unknown;
      one.name = one.whole;
    }
  }
}

void add(NamedValues& part, NamedArray one) {
  const bool taken = std::any_of(part.begin(), part.end(),
                                 [&](const NamedValue& other) { return other.first == one.name; });
  if (taken) {
    fail(ErrorCode::mismatch, "two arrays are named ", quoted(one.name), "; the second is in ",
         quoted(one.file));
  }
  part.emplace_back(std::move(one.name), std::move(one.array));
}

}  // namespace

ArrayParts split_arrays(std::vector<NamedArray> arrays) {
  keep_words_of_names(arrays);
  ArrayParts result;
  NamedValues test;
  std::vector<std::string> test_names;
  for (NamedArray& one : arrays) {
    if (one.split == Split::test) {
      const std::string& shown = has_word(one) ? one.whole : one.file;
      if (test_names.empty() || test_names.back() != shown) test_names.push_back(shown);
    }
    NamedValues& part = one.split == Split::test         ? test
                        : one.split == Split::validation ? result.splits.validation
                                                         : result.splits.train;
    add(part, std::move(one));
  }
  auto& [train, validation] = result.splits;
  if (validation.empty()) {
    validation = std::move(test);
  } else if (!test.empty()) {
    result.note = left_out_note(test_names);
  }
  if (train.empty() && result.note.empty()) std::swap(train, validation);
  return result;
}

}  // namespace ondine::data

// Text of an output's answer for one row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ondine/data_record.h>
#include <ondine/text.h>

namespace ondine::cli {

// Fields of a row; `names` are those of the table's columns.
struct RowAnswer {
  std::vector<std::string> names;
  std::vector<std::string> fields;
  // Whether fields come in pairs, such as class and score, and are printed together.
  bool are_pairs = false;
};

// Answers rows of one output.
class RowReader {
 public:
  struct Options {
    std::optional<std::uint64_t> top;
    DataRecord::Prediction prediction;  // of the output; no meaning for one that was not trained
    std::vector<std::string> classes;
    std::string target;                 // name of what the numbers estimate
    std::optional<TextEncoding> texts;  // of a model that takes or gives texts
  };

  explicit RowReader(Options options);

  // Answer for row `row` of the output, whose first axis counts rows. `length`: ids of a text
  // without its padding; 0: all.
  RowAnswer read(const Tensor& output, std::uint64_t row, std::int64_t length = 0);
  // Assumption that the answers rest on; empty when nothing was assumed.
  const std::string& note() const noexcept { return note_; }

 private:
  enum class Kind { values, numbers, classes, labels, class_ids, shares, sequence, next_token };

  Kind kind_of(const Tensor& output, std::uint64_t row);
  Kind kind_of_unknown(const Tensor& output, std::uint64_t row);
  std::vector<double> probabilities(std::vector<double> scores) const;
  std::vector<std::vector<double>> positions(const Tensor& output, std::uint64_t row) const;
  std::string class_name(std::size_t position) const;
  RowAnswer best(const std::vector<double>& scores, const char* noun, const char* measure) const;
  RowAnswer values(const Tensor& output, std::uint64_t row, const std::string& name) const;
  RowAnswer one_label(const Tensor& output, std::uint64_t row) const;
  RowAnswer class_ids(const Tensor& output, std::uint64_t row) const;
  RowAnswer shares(const Tensor& output, std::uint64_t row) const;
  RowAnswer sequence(const Tensor& output, std::uint64_t row) const;
  RowAnswer next_token(const Tensor& output, std::uint64_t row, std::int64_t length) const;

  Options options_;
  std::string note_;
};

}  // namespace ondine::cli

// The target column of a file of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/tensor.h>

namespace ondine::data {

// As it is written, with the files and lines that say it.
struct Targets {
  struct File {
    std::string name;
    std::size_t first_row = 0;
  };

  // Starts a file: texts added from now on are of it.
  void begin(std::string file);
  void add(std::string text, std::uint64_t line);
  const std::string& file_of(std::size_t row) const;

  std::string column;
  std::vector<File> files;  // at least one where there are texts
  std::vector<std::string> texts;
  std::vector<std::uint64_t> lines;
};

void append(Targets& targets, const Targets& more);

// Without the blanks around it.
std::string_view trimmed(std::string_view text);
// Whether a field, without spaces around it, is empty or a word for a value that is not there, in
// letters of any case: NaN with or without a sign, NA, N/A, #N/A, null, None and the like.
bool is_missing(std::string_view text);
// A number, possibly infinite, with or without spaces around it; nothing for any other text.
std::optional<double> parse_number(std::string_view text);

// Integers, floating point numbers or, for any other text and texts that are all among the names
// given, positions in the names of classes.
class TargetReader {
 public:
  // Decides by the training data. `classes` may be empty.
  TargetReader(const Targets& training, const std::vector<std::string>& classes);

  // In alphabetical order, or as given; empty for numbers.
  const std::vector<std::string>& classes() const noexcept { return classes_; }
  // Remark that the column holds classes although most of its texts are numbers, with an example,
  // or that two classes are written almost alike; empty otherwise.
  const std::string& note() const noexcept { return note_; }
  // [N]. Throws Error(mismatch) naming file and line of a class that is none of these, and the
  // column where it holds no numbers; Error(corrupt) for a number that is not finite.
  Tensor read(const Targets& targets) const;

 private:
  enum class Kind { integers, numbers, classes };
  std::vector<std::int64_t> positions(const Targets& targets) const;
  void note_numbers(const Targets& training);

  Kind kind_ = Kind::integers;
  bool given_ = false;
  std::vector<std::string> classes_;
  std::string note_;
};

}  // namespace ondine::data

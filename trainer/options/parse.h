// Texts of option values.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/options.h>

namespace ondine::options {

// "--learning-rate needs a number above 0, found 'x'". `option` is spelled already.
[[noreturn]] void refuse(std::string_view option, std::string_view needed, std::string_view found);

std::string spelled(std::string_view name, OptionSpelling spelling);
// "a", "a or b", "a, b or c".
std::string alternatives(const std::vector<std::string>& words);

// The number that the text is, or nothing; "1/255" is a fraction.
std::optional<double> number(std::string_view text);
std::optional<std::int64_t> integer(std::string_view text);
// Bytes, or nothing for another text and a size above 2^63.
std::optional<std::uint64_t> bytes(std::string_view text);
// Nothing for another text, and for a time that is not above 0 or above 30,000 years.
std::optional<std::chrono::milliseconds> duration(std::string_view text);

// The parts between separators, empty ones included; one part if there is no separator.
std::vector<std::string> split(std::string_view text, char separator);

// Splits "NAME=VALUE" after the longest NAME that is one of `inputs`, whose names may contain '=',
// or else at the first '='. Error(invalid_option) if there is none.
std::pair<std::string, std::string> name_and_value(const std::string& text, std::string_view option,
                                                   std::span<const PortInfo> inputs);

// "PATTERN=NUMBER"; patterns may contain '='. Error(invalid_option) naming the option.
std::pair<std::string, double> pattern_and_number(const std::string& text,
                                                  const std::string& option);

}  // namespace ondine::options

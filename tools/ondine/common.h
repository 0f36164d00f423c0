// Helpers shared by several commands.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ondine/data.h>
#include <ondine/human_bytes.h>
#include <ondine/model.h>

#include "ondine/command.h"

namespace ondine::cli {

// Options of loading as the command gives them; `start` has the others.
LoadOptions load_of(const CommandOptions& options, LoadOptions start = {});
// --external-data-from.
std::optional<std::uint64_t> external_data_of(const CommandOptions& options);

// Says on standard error when the processor lacks the precision that was asked for.
void note_precision(const LoadOptions& load);

// The texts between commas, empty ones included; one of them if there is no comma.
std::vector<std::string> split_commas(const std::string& text);

// Splits "NAME=VALUE" after the longest NAME that is one of `inputs`, whose names may contain '=',
// or else at the first '='. Throws Error(mismatch), naming the option, if there is none.
std::pair<std::string, std::string> split_pair(const std::string& text, const char* option,
                                               const std::vector<PortInfo>& inputs);
std::vector<std::filesystem::path> to_paths(const std::vector<std::string>& texts);

// Inputs of an algorithm that are not inputs of the main graph.
std::vector<PortInfo> extra_inputs(const Model& model, std::size_t algorithm);
// Prints Model::warnings() to the standard error, from number `first` on; returns how many there
// are.
std::size_t print_warnings(const Model& model, std::size_t first = 0);
void print_warnings(std::span<const std::string> warnings);
double scalar_of(const Tensor& tensor);
// Element i of a numeric tensor.
double element_of(const Tensor& tensor, std::int64_t i);
// Element i of a numeric tensor as text. Integers have all digits, whole floating point numbers as
// many as tell them from others of their type, other numbers six.
std::string element_text(const Tensor& tensor, std::int64_t i);

// A line of names after a label; nothing where there are none.
void print_names(const char* label, std::span<const std::string> names);
// For each value a name of a file, without a suffix; no two are the same.
std::vector<std::string> file_names_of(const std::vector<std::string>& value_names);
// With six significant digits.
std::string number(double value);

}  // namespace ondine::cli

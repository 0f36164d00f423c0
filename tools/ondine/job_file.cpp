#include "ondine/job_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
// Its assertions do not hold for every text; the code behind them reports the error. Compilers may
// not take them for granted either.
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <toml++/impl/preprocessor.h>
#undef TOML_ASSERT_ASSUME
#undef TOML_ASSUME
#define TOML_ASSERT_ASSUME(expression) static_cast<void>(0)
#define TOML_ASSUME(expression) static_cast<void>(0)
#include <toml++/toml.h>

#include <ondine/error.h>
#include <ondine/printable.h>

namespace ondine::cli {
namespace {

std::string read_text(const std::string& file) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::io, "cannot read the job file '" + printable(file) + "': " + why);
  };
  std::error_code error;
  const auto kind = std::filesystem::status(file, error).type();
  if (kind == std::filesystem::file_type::not_found)
    error = std::make_error_code(std::errc::no_such_file_or_directory);
  if (error) refuse(error.message());
  // Opening a pipe would wait for a writer.
  if (kind != std::filesystem::file_type::regular) refuse("it is not a regular file");
  errno = 0;
  std::ifstream opened(file, std::ios::binary);
  if (!opened) refuse(std::generic_category().message(errno));
  constexpr std::size_t most = std::size_t{1} << 20;
  std::string text(most + 1, '\0');
  opened.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (opened.bad()) refuse(std::generic_category().message(errno));
  text.resize(static_cast<std::size_t>(opened.gcount()));
  if (text.size() > most) refuse("it has more than 1 MiB");
  return text;
}

// The text of a value, or nothing for one that no option has.
std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* real = node.as_floating_point()) {
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), real->get());
    return std::string(digits.data(), end.ptr);
  }
  return {};
}

[[noreturn]] void refuse_value(const std::string& file, const std::string& key) {
  throw Error(ErrorCode::corrupt, "job file '" + printable(file) + "': '" + printable(key) +
                                      "' needs a text, a number, true, false or a list of these");
}

JobItem item_of(const std::string& file, const std::string& section, const std::string& key,
                const toml::node& node) {
  JobItem item{section, key, {}};
  if (const auto* list = node.as_array()) {
    for (const toml::node& one : *list) {
      std::optional<std::string> text = text_of(one);
      if (!text) refuse_value(file, key);
      item.values.push_back(std::move(*text));
    }
    return item;
  }
  std::optional<std::string> text = text_of(node);
  if (!text) refuse_value(file, key);
  item.values.push_back(std::move(*text));
  return item;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += std::string("\\") + c;
    } else if (code < 0x20 || code == 0x7f) {
      std::array<char, 8> escape;
      std::snprintf(escape.data(), escape.size(), "\\u%04X", code);
      result += escape.data();
    } else {
      result += c;
    }
  }
  return result + "\"";
}

// Behind the comment or the string in TOML that begins there.
std::size_t skip_token(const std::string& text, std::size_t at) {
  if (text[at] == '#') return std::min(text.find('\n', at), text.size());
  const char quote = text[at];
  const bool is_long = text.compare(at, 3, std::string(3, quote)) == 0;
  const std::string end(is_long ? 3 : 1, quote);
  for (at += end.size(); at < text.size(); ++at) {
    if (text.compare(at, end.size(), end) == 0) return at + end.size();
    if (!is_long && text[at] == '\n') return at;
    if (quote == '"' && text[at] == '\\') ++at;
  }
  return text.size();
}

// TOML has letters beyond ASCII in texts and comments only; elsewhere toml++ 3.3 runs into
// undefined behavior.
std::size_t find_stray_letter(const std::string& text) {
  std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '#' || c == '"' || c == '\'') {
      at = skip_token(text, at);
    } else if (static_cast<unsigned char>(c) > 0x7f) {
      return at;
    } else {
      ++at;
    }
  }
  return std::string::npos;
}

// Whether TOML reads the text as a number or a boolean that has the same text.
bool is_bare(const std::string& text) {
  if (text.find_first_of("\n\r#") != std::string::npos) return false;
  if (find_stray_letter(text) != std::string::npos) return false;
  const toml::parse_result parsed = toml::parse("x = " + text);
  if (!parsed) return false;
  const toml::node* const node = parsed.table().get("x");
  return node != nullptr && (node->is_number() || node->is_boolean());
}

std::string toml_value(const std::string& text, bool is_text) {
  if (!is_text && is_bare(text)) return text;
  std::string value = quoted(text);
  if (toml::parse("x = " + value)) return value;
  throw Error(ErrorCode::mismatch, "a job file cannot hold the text '" + printable(text) + "'");
}

// "key = value", or of several values "key = [value, value]". Numbers and booleans stay bare unless
// the option takes a text.
std::string job_line(const OptionInfo& option, const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) {
    text += (text.empty() ? "" : ", ") + toml_value(value, option.kind == OptionKind::text);
  }
  return option.name + " = " + (option.repeats ? "[" + text + "]" : text) + "\n";
}

bool is_in_jobs(const OptionInfo& option) {
  return !option.hidden && option.name != "config" && option.name != "write-config";
}

bool is_data(const OptionInfo& option) {
  return option.group == OptionGroup::data || option.name == "data";
}

}  // namespace

std::vector<JobItem> read_job_file(const std::string& file) {
  const std::string text = read_text(file);
  const auto refuse = [&](std::size_t line, const std::string& why) {
    throw Error(ErrorCode::corrupt,
                "job file '" + printable(file) + "', line " + std::to_string(line) + ": " + why);
  };
  if (const std::size_t stray = find_stray_letter(text); stray != std::string::npos) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(stray);
    refuse(static_cast<std::size_t>(1 + std::count(text.begin(), end, '\n')),
           "a letter beyond ASCII outside of a text in quotes");
  }
  const toml::parse_result parsed = toml::parse(text, std::string_view(file));
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    refuse(error.source().begin.line, printable(std::string(error.description())));
  }
  std::vector<JobItem> items;
  for (const auto& [key, node] : parsed.table()) {
    const std::string name(key.str());
    const toml::table* const section = node.as_table();
    if (section == nullptr) {
      items.push_back(item_of(file, "", name, node));
      continue;
    }
    for (const auto& [inner, value] : *section) {
      items.push_back(item_of(file, name, std::string(inner.str()), value));
    }
  }
  return items;
}

bool takes_job_file(std::string_view command) {
  if (std::ranges::find(command_names(), command) == command_names().end()) return false;
  return std::ranges::find(command_table(command), "config", &OptionInfo::name) !=
         command_table(command).end();
}

const OptionInfo* job_option(const std::string& file, const std::string& section,
                             const JobItem& item, std::string_view command) {
  const OptionInfo* result = nullptr;
  std::vector<std::string> keys;
  for (const std::string_view one : command_names()) {
    if (!takes_job_file(one) || (section != one && section != "data")) continue;
    for (const OptionInfo& option : command_table(one)) {
      if (!is_in_jobs(option) || (section != one && !is_data(option))) continue;
      keys.push_back(option.name);
      if (one == command && option.name == item.key) result = &option;
    }
  }
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::mismatch, "job file '" + printable(file) + "': " + why);
  };
  if (keys.empty()) refuse("there is no section [" + printable(section) + "]");
  if (std::ranges::find(keys, item.key) == keys.end()) {
    const std::string near = nearest_name(item.key, keys);
    refuse("'" + printable(item.key) + "' is no option of '" + section + "'" +
           (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  if (result != nullptr && (item.values.empty() || (item.values.size() > 1 && !result->repeats))) {
    refuse("'" + item.key + "' needs " + (result->repeats ? "a value" : "one value"));
  }
  return result;
}

std::string job_text(const CommandOptions& options, bool with_defaults) {
  std::map<std::string, std::string> sections;
  const std::string own(options.command());
  for (const OptionInfo& option : command_table(own)) {
    if (!is_in_jobs(option)) continue;
    std::vector<std::string> values = options.texts(option.name);
    const bool is_given = !values.empty();
    if (!is_given) {
      if (!with_defaults || option.default_value.empty()) continue;
      values = {option.default_value};
    }
    sections[is_data(option) ? "data" : own] += (is_given ? "" : "# ") + job_line(option, values);
  }
  std::string text = "# ondine " + own + " --config FILE\n";
  for (const auto& [section, lines] : sections) text += "\n[" + section + "]\n" + lines;
  return text;
}

}  // namespace ondine::cli

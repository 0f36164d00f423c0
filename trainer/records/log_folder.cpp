#include "trainer/records/log_folder.h"

#include <unistd.h>

#include <system_error>

#include "core/message.h"
#include "trainer/records/output.h"

namespace ondine::records {
namespace {

using Values = std::vector<std::pair<std::string, double>>;

constexpr std::string_view event_prefix = "events.out.tfevents.";
constexpr std::string_view event_suffix = ".ondine";
constexpr const char* steps_name = "steps.csv";
constexpr const char* epochs_name = "epochs.csv";
constexpr const char* lines_name = "log.jsonl";

double wall_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

bool is_own(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const bool events = name.starts_with(event_prefix) && name.ends_with(event_suffix);
  return events || name == steps_name || name == epochs_name || name == lines_name;
}

// TensorBoard reads the files of a folder in the order of their names.
std::filesystem::path new_event_file(const std::filesystem::path& folder) {
  const std::string second = std::to_string(static_cast<std::int64_t>(wall_time()));
  std::error_code error;
  for (int number = 0;; ++number) {
    std::string count = std::to_string(number);
    count.insert(0, 4 - std::min<std::size_t>(4, count.size()), '0');
    std::filesystem::path file = folder;
    file /= std::string(event_prefix) + second + "." + count + "." + std::to_string(getpid()) +
            std::string(event_suffix);
    if (!std::filesystem::exists(file, error)) return file;
  }
}

// The fields of a line, in both formats.
class LogLine {
 public:
  void add(const std::string& name, const std::string& csv, const std::string& json) {
    const char* comma = header_.empty() ? "" : ",";
    header_ += comma + csv_field(name);
    csv_ += comma + csv;
    json_ += comma + json_text(name) + ":" + json;
  }
  void add(const std::string& name, std::uint64_t number) {
    add(name, std::to_string(number), std::to_string(number));
  }
  void add(const std::string& name, double number) {
    add(name, number_text(number), json_number(number));
  }
  void add(const std::string& name, const std::optional<double>& number) {
    add(name, number ? number_text(*number) : "", number ? json_number(*number) : "null");
  }
  void add_json(const std::string& name, const std::string& json) {
    json_ += "," + json_text(name) + ":" + json;
  }

  const std::string& header() const { return header_; }
  const std::string& csv() const { return csv_; }
  std::string json() const { return "{" + json_ + "}"; }

 private:
  static std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string result = "\"";
    for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + "\"";
  }

  std::string header_;
  std::string csv_;
  std::string json_;
};

std::string rows_of(const ConfusionMatrix& matrix) {
  std::string text = "[";
  for (std::size_t label = 0; label < matrix.classes; ++label) {
    text += label == 0 ? "[" : ",[";
    for (std::size_t predicted = 0; predicted < matrix.classes; ++predicted) {
      text += (predicted == 0 ? "" : ",") + std::to_string(matrix.count(label, predicted));
    }
    text += "]";
  }
  return text + "]";
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    fail(ErrorCode::io, "cannot make the folder ", quoted(folder.string()), ": ", error.message());
  }
}

// Removes the event files of another run. Returns the name of a new one.
std::filesystem::path make_room(const LogFolderOptions& options) {
  make_folder(options.folder);
  std::error_code error;
  if (!options.resumed_at) {
    std::vector<std::filesystem::path> old;
    for (const auto& entry : std::filesystem::directory_iterator(options.folder, error)) {
      const bool events = entry.path().filename().string().starts_with(event_prefix);
      if (events && is_own(entry.path())) old.push_back(entry.path());
    }
    for (const auto& file : old) std::filesystem::remove(file, error);
  }
  return new_event_file(options.folder);
}

// A folder, with those above it that did not exist, which are gone with the object.
class NewFolders {
 public:
  explicit NewFolders(const std::filesystem::path& folder) {
    std::error_code error;
    for (std::filesystem::path at = folder; !at.empty() && !std::filesystem::exists(at, error);
         at = at.parent_path()) {
      made_.push_back(at);
    }
    try {
      make_folder(folder);
    } catch (const Error&) {
      remove();
      throw;
    }
  }
  ~NewFolders() { remove(); }
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;

 private:
  void remove() noexcept {
    std::error_code error;
    for (const auto& folder : made_) std::filesystem::remove(folder, error);
  }

  std::vector<std::filesystem::path> made_;  // the innermost first
};

}  // namespace

void require_log_folder(const LogFolderOptions& options) {
  std::error_code error;
  const NewFolders made(options.folder);
  if (!options.resumed_at && !options.replace) {
    for (const auto& entry : std::filesystem::directory_iterator(options.folder, error)) {
      if (!is_own(entry.path())) continue;
      fail(ErrorCode::exists, "folder ", quoted(options.folder.string()),
           " has records of another run (", quoted(entry.path().filename().string()),
           "); continue it with TrainerOptions::resume (--resume), replace them with "
           "TrainerOptions::overwrite (--overwrite) or name another folder");
    }
  }
  require_writable(options.folder / lines_name);
}

LogFolder::LogFolder(const LogFolderOptions& options)
    : events_(make_room(options), wall_time()),
      steps_(options.folder / steps_name, "", options.resumed_at),
      epochs_(options.folder / epochs_name, "", options.resumed_at),
      lines_(options.folder / lines_name, "{\"step\":", options.resumed_at) {
  if (options.resumed_at) {
    events_.restart(wall_time(), static_cast<std::int64_t>(*options.resumed_at) + 1);
  }
}

void LogFolder::step(const StepRecord& record) {
  const StepReport& report = *record.report;
  LogLine line;
  line.add("step", record.step);
  line.add("epoch", report.epoch);
  line.add("rows", report.rows);
  line.add("seconds", record.seconds);
  line.add("learning_rate", record.learning_rate);
  Values values;
  for (const auto& [name, value] : report.last) {
    line.add(name, value);
    values.emplace_back("train/" + name, value);
  }
  if (record.learning_rate) values.emplace_back("learning_rate", *record.learning_rate);
  line.add_json("type", "\"step\"");
  if (!steps_begun_) steps_.header(line.header());
  steps_begun_ = true;
  steps_.line(line.csv());
  lines_.line(line.json());
  events_.scalars(wall_time(), static_cast<std::int64_t>(record.step), values);
  if (Clock::now() - flushed_ > std::chrono::seconds(1)) flush();
}

void LogFolder::epoch(const EpochRecord& record) {
  const EpochReport& report = *record.report;
  LogLine line;
  line.add("step", report.steps);
  line.add("epoch", report.epoch);
  line.add("rows", report.rows);
  line.add("seconds", record.seconds);
  line.add("learning_rate", record.learning_rate);
  Values values;
  for (const auto& [name, value] : report.training) {
    line.add(name, value);
    values.emplace_back("epoch/" + name, value);
  }
  for (const auto& [name, value] : report.validation) {
    line.add("val_" + name, value);
    values.emplace_back("validation/" + name, value);
  }
  line.add_json("type", report.step == 0 ? "\"epoch\"" : "\"evaluation\"");
  if (report.confusion) line.add_json("confusion_matrix", rows_of(*report.confusion));
  if (!epochs_begun_) epochs_.header(line.header());
  epochs_begun_ = true;
  epochs_.line(line.csv());
  lines_.line(line.json());
  events_.scalars(wall_time(), static_cast<std::int64_t>(report.steps), values);
  flush();
}

void LogFolder::end(const std::string&, bool, double) { flush(); }

void LogFolder::flush() {
  events_.flush();
  steps_.flush();
  epochs_.flush();
  lines_.flush();
  flushed_ = Clock::now();
}

}  // namespace ondine::records

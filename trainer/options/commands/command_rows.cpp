#include "trainer/options/commands/command_rows.h"

namespace ondine::options {

CommandRows::CommandRows() : Rows(OptionGroup::command) { heading("Options"); }

CommandRow& CommandRows::flag(std::string name, std::string help) {
  return add(std::move(name), OptionKind::flag, "", std::move(help), {});
}

CommandRow& CommandRows::text(std::string name, std::string value, std::string help) {
  return add(std::move(name), OptionKind::text, std::move(value), std::move(help), {});
}

CommandRow& CommandRows::integer(std::string name, std::string value, std::string help) {
  return add(std::move(name), OptionKind::integer, std::move(value), std::move(help), {}).from(0);
}

CommandRow& CommandRows::real(std::string name, std::string value, std::string help) {
  return add(std::move(name), OptionKind::real, std::move(value), std::move(help), {});
}

CommandRow& CommandRows::choice(std::string name, std::vector<std::string> choices,
                                std::string help) {
  CommandRow& row = add(std::move(name), OptionKind::choice, "NAME", std::move(help), {});
  row.info.choices = std::move(choices);
  return row;
}

CommandRow& CommandRows::argument(std::string name, std::string help) {
  CommandRow& row = text(std::move(name), "", std::move(help)).required();
  row.info.positional = true;
  return row;
}

void CommandRows::use(OptionGroup group, Names only, Names except) {
  const auto is_in = [](Names names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const OptionInfo& info : option_table(group)) {
    if ((only.size() == 0 || is_in(only, info.name)) && !is_in(except, info.name)) {
      rows_.push_back({info, {}});
    }
  }
}

CommandRow& CommandRows::at(std::string_view name) {
  for (CommandRow& row : rows_) {
    if (row.info.name == name) return row;
  }
  throw Error(ErrorCode::internal, "there is no row " + std::string(name));
}

CommandRow& CommandRows::model(std::string help) { return argument("model", std::move(help)); }

CommandRow& CommandRows::output(std::string value, std::string help) {
  return text("output", std::move(value), std::move(help)).letter('o');
}

CommandRow& CommandRows::checkpoint() {
  return text("checkpoint", "FILE", "Checkpoint whose state to use");
}

void CommandRows::adapters() {
  text("adapter", "FOLDER",
       "FOLDER or FOLDER=WEIGHT: a folder of PEFT's whose adapters count WEIGHT times, 1 if "
       "absent; repeat for several")
      .several();
}

CommandRow& CommandRows::algorithm() {
  return integer("algorithm", "INDEX", "Index of the training algorithm").by_default("0");
}

CommandRow& CommandRows::shape(std::string help) {
  return text("shape", "INPUT=DIMxDIM", std::move(help)).several();
}

void CommandRows::dim_size(std::string usual) {
  integer("dim-size", "N", "Size of dynamic dimensions")
      .from(1)
      .by_default(std::move(usual))
      .replaces("batch");
}

CommandRow& CommandRows::json() { return flag("json", "Print JSON"); }

CommandRow& CommandRows::quiet(std::string but) {
  return flag("quiet", "Print " + std::move(but) + " only");
}

CommandRow& CommandRows::opset() {
  return integer("opset", "VERSION", "Version of ai.onnx (default: the model's, at least 18)")
      .from(1);
}

CommandRow& CommandRows::data(bool is_required, bool is_kept) {
  const std::size_t place = rows_.size();
  text("data", "PATH",
       "Folder or files: IDX, .npy, .npz, .csv, a .csv list of images or recordings and targets, "
       "these files, or a folder of them per class, .txt, or .jsonl or .csv with texts")
      .letter('d')
      .several()
      .info.required = is_required;
  use(OptionGroup::data, {}, is_kept ? Names{} : Names{"cache-bytes"});
  for (std::size_t i = place + 1; i < rows_.size() && !is_required; ++i) rows_[i].needs({"data"});
  return rows_[place];
}

CommandRow& CommandRows::validation_data(std::string help) {
  for (const char* const name : {"validation-split", "folds"}) at(name).excludes("validation-data");
  return text("validation-data", "PATH", std::move(help)).several();
}

void CommandRows::loading() { use(OptionGroup::load, {}, {"seed"}); }

void CommandRows::job_file() {
  heading("Job files");
  text("config", "FILE", "Job file in TOML: other options, which the command line overrides");
  text("write-config", "FILE", "Write the options to a job file and do nothing else");
}

}  // namespace ondine::options

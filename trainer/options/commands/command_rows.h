// Declares the options of commands: their own, and those of groups.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/options/rows.h"

namespace ondine::options {

// Commands read their own options by name; groups have setters of their own.
struct Nothing {};
using CommandRow = Row<Nothing>;

class CommandRows : public Rows<Nothing> {
 public:
  using Names = std::initializer_list<std::string_view>;

  CommandRows();

  CommandRow& flag(std::string name, std::string help);
  CommandRow& text(std::string name, std::string value, std::string help);
  // A whole number from 0 on.
  CommandRow& integer(std::string name, std::string value, std::string help);
  CommandRow& real(std::string name, std::string value, std::string help);
  CommandRow& choice(std::string name, std::vector<std::string> choices, std::string help);
  // A word without a name before it, which is required.
  CommandRow& argument(std::string name, std::string help);

  // The options of a group: those of `only`, unless it is empty, but for those of `except`.
  void use(OptionGroup group, Names only = {}, Names except = {});
  // A row that was added, for conditions and a help that the command gives it.
  CommandRow& at(std::string_view name);

  // Rows that several commands have.
  CommandRow& model(std::string help = "Model file");
  CommandRow& output(std::string value, std::string help);
  CommandRow& checkpoint();
  void adapters();
  CommandRow& algorithm();
  CommandRow& shape(std::string help);
  void dim_size(std::string usual);
  CommandRow& json();
  CommandRow& quiet(std::string but = "errors and warnings");
  CommandRow& opset();
  // --data and the options of reading, which need it unless it is required. Rows that are taken
  // once are not kept: there is no --cache-bytes then.
  CommandRow& data(bool is_required, bool is_kept = false);
  // In place of rows of the training data, of which there may be none.
  CommandRow& validation_data(std::string help);
  // Options of loading a model, but for the seed.
  void loading();
  // --config and --write-config.
  void job_file();
};

CommandRows bench_rows();
CommandRows check_rows();
CommandRows completion_rows();
CommandRows differentiate_rows();
CommandRows doctor_rows();
CommandRows eval_rows();
CommandRows export_command_rows();
CommandRows federate_command_rows();
CommandRows finetune_command_rows();
CommandRows generate_command_rows();
CommandRows gradcheck_rows();
CommandRows import_hf_rows();
CommandRows import_ort_rows();
CommandRows infer_rows();
CommandRows info_rows();
CommandRows inspect_rows();
CommandRows lower_rows();
CommandRows man_rows();
CommandRows new_rows();
CommandRows options_rows();
CommandRows prepare_command_rows();
CommandRows replay_rows();
CommandRows train_command_rows();
CommandRows verify_rows();

}  // namespace ondine::options

// Options by name. One table holds every option of loading, data, networks, prepare, training,
// finetune, evaluation and writing texts: the command line, job files, completion, manual pages,
// tables of the docs and bindings to other languages read it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/error.h>
#include <ondine/export.h>
#include <ondine/federated.h>
#include <ondine/finetune.h>
#include <ondine/generate.h>
#include <ondine/import_hugging_face.h>
#include <ondine/model.h>
#include <ondine/networks.h>
#include <ondine/prepare.h>
#include <ondine/table.h>
#include <ondine/train_budget.h>
#include <ondine/trainer.h>

namespace ondine {

enum class OptionKind : std::uint8_t {
  flag,      // "true" or "false"
  integer,   // "12"
  real,      // "1e-3" or a fraction, "1/255"
  text,      // any text: a name, a pattern, a file
  choice,    // one of OptionInfo::choices, in any case
  bytes,     // "4096", "512K", "512M", "2GiB" (powers of 1024) or "2GB" (of 1000)
  duration,  // "90" or "90s", "500ms", "10m", "1.5h", "2d"
};
ONDINE_API const char* to_string(OptionKind kind) noexcept;

// Structure that an option belongs to.
enum class OptionGroup : std::uint8_t {
  load,      // LoadOptions
  data,      // DatasetOptions
  table,     // TableOptions
  prepare,   // PrepareOptions
  train,     // TrainerOptions
  evaluate,  // EvaluateOptions
  export_,   // ExportOptions; its name is "export"
  federate,  // FederatedOptions
  generate,  // GenerateOptions
  import_,   // ImportHuggingFaceOptions; its name is "import"
  network,   // NetworkOptions
  budget,    // TrainBudget
  // FinetuneOptions, but for those of data and loading, which have groups of their own. Many rows
  // are those of prepare and train; their defaults are empty where finetune() chooses.
  finetune,
  // Options that no structure has, as files to write: those of single commands
  // (<ondine/commands.h>). It has no table and is none of option_groups.
  command,
};
ONDINE_API const char* to_string(OptionGroup group) noexcept;
inline constexpr OptionGroup option_groups[] = {
    OptionGroup::load,     OptionGroup::data,     OptionGroup::table,   OptionGroup::prepare,
    OptionGroup::train,    OptionGroup::evaluate, OptionGroup::export_, OptionGroup::federate,
    OptionGroup::generate, OptionGroup::import_,  OptionGroup::network, OptionGroup::budget,
    OptionGroup::finetune};

// Another option that must be given, or have one of these values.
struct OptionCondition {
  std::string option;
  std::vector<std::string> choices = {};  // empty: the option must be given
};

struct OptionInfo {
  std::string name;  // "learning-rate"; words of lower-case letters and digits, dashes between them
  char letter = 0;   // of the command line: 'e' for -e
  std::vector<std::string> former = {};  // names that mean the same and are not shown
  OptionGroup group = OptionGroup::load;
  std::string heading = {};  // of the help
  OptionKind kind = OptionKind::text;
  std::string value = {};          // placeholder of the value in the help: "RATE"; empty for flags
  std::string default_value = {};  // empty: none, or described in `help`
  std::vector<std::string> choices = {};  // of OptionKind::choice
  // Other words for choices, and the choices that they stand for.
  std::vector<std::pair<std::string, std::string>> synonyms = {};
  std::optional<double> low = {};          // numbers are at least this
  std::optional<double> high = {};         // and at most that
  bool above_low = false;                  // numbers exceed `low`
  bool below_high = false;                 // numbers are less than `high`
  bool repeats = false;                    // may be given several times
  bool several = false;                    // and takes several values each time
  bool rare = false;                       // shown by --help-all only
  bool positional = false;                 // of the command line: a word without a name before it
  bool required = false;                   // by a command
  bool hidden = false;                     // not shown at all
  std::vector<std::string> replaces = {};  // names of before that meant something else
  std::string help = {};                   // one sentence without a full stop
  // The option has an effect only if one of these holds.
  std::vector<OptionCondition> applies = {};
  std::vector<std::string> excludes = {};  // options that cannot be given besides
};

// The options of a group, in the order of the help.
ONDINE_API std::span<const OptionInfo> option_table(OptionGroup group);
// The option of that name, of one that it had or of one with '_' for '-'; null if there is none.
ONDINE_API const OptionInfo* find_option(OptionGroup group, std::string_view name) noexcept;

// The candidate with the least edit distance from the word; empty if none is near.
ONDINE_API std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

// Names and values as texts, for example {{"optimizer", "adam"}, {"learning-rate", "1e-3"}}. Names
// may have '_' for '-'. The last value of a name counts unless the option repeats.
using OptionValues = std::vector<std::pair<std::string, std::string>>;

// How messages spell the name of an option.
enum class OptionSpelling : std::uint8_t {
  name,     // learning-rate
  dashes,   // --learning-rate
  keyword,  // learning_rate
};

// Splits "INPUT=VALUE" after the longest input name that matches, since names may contain '=', or
// else at the first '='. Returns nothing if there is no '=' or a part is empty.
ONDINE_API std::optional<std::pair<std::string, std::string>> split_input_value(
    std::string_view text, std::span<const PortInfo> inputs);

// Checks the names, values and conditions of a group's options. Throws as the functions below.
ONDINE_API void check_options(OptionGroup group, const OptionValues& values,
                              OptionSpelling spelling = OptionSpelling::name);

// The options that values describe. Error(invalid_option) names the option for
// - a name that the group does not have, with the nearest that it has;
// - a value of another kind or outside the option's range;
// - an option that has no effect: "--momentum does not apply to adam; use --optimizer momentum";
// - options that exclude each other.
// `start` has what no value says.
ONDINE_API LoadOptions load_options(const OptionValues& values,
                                    OptionSpelling spelling = OptionSpelling::name,
                                    LoadOptions start = {});
ONDINE_API TableOptions table_options(const OptionValues& values,
                                      OptionSpelling spelling = OptionSpelling::name);
ONDINE_API TrainBudget train_budget(const OptionValues& values,
                                    OptionSpelling spelling = OptionSpelling::name);
ONDINE_API PrepareOptions prepare_options(const OptionValues& values,
                                          OptionSpelling spelling = OptionSpelling::name);
// "map" and "set" are INPUT=VALUE; `inputs` tells where names that contain '=' end.
ONDINE_API TrainerOptions trainer_options(const OptionValues& values,
                                          std::span<const PortInfo> inputs = {},
                                          OptionSpelling spelling = OptionSpelling::name);
ONDINE_API EvaluateOptions evaluate_options(const OptionValues& values,
                                            std::span<const PortInfo> inputs = {},
                                            OptionSpelling spelling = OptionSpelling::name);
ONDINE_API ExportOptions export_options(const OptionValues& values,
                                        OptionSpelling spelling = OptionSpelling::name);
ONDINE_API FederatedOptions federated_options(const OptionValues& values,
                                              OptionSpelling spelling = OptionSpelling::name);
ONDINE_API GenerateOptions generate_options(const OptionValues& values,
                                            OptionSpelling spelling = OptionSpelling::name);
ONDINE_API ImportHuggingFaceOptions import_options(const OptionValues& values,
                                                   OptionSpelling spelling = OptionSpelling::name);
ONDINE_API DatasetOptions dataset_options(const OptionValues& values,
                                          OptionSpelling spelling = OptionSpelling::name);
ONDINE_API NetworkOptions network_options(const OptionValues& values,
                                          OptionSpelling spelling = OptionSpelling::name);
// A member of the first group of FinetuneOptions is set where a value says it. A name in "map" ends
// at the first '='.
ONDINE_API FinetuneOptions finetune_options(const OptionValues& values,
                                            OptionSpelling spelling = OptionSpelling::name);
// As `model` takes data (recorded_options), but for what the values say. Error(mismatch) for values
// that contradict the model.
ONDINE_API DatasetOptions dataset_options(const OptionValues& values, const Model& model,
                                          DataUse use,
                                          OptionSpelling spelling = OptionSpelling::name);

// The table as JSON, for bindings: an object with a list for each group, whose entries have the
// members of OptionInfo that are not empty.
ONDINE_API std::string options_json();

// Texts of options that hold several settings (docs/options.md). Error(invalid_option) naming the
// setting; the option is spelled as asked for.
// "HEIGHTxWIDTH", both positive.
ONDINE_API ImageSize image_size_from_text(std::string_view text,
                                          OptionSpelling spelling = OptionSpelling::name);
// "scale=1/255,mean=0.5:0.4:0.3,std=...,resize=224x224,layout=nhwc,type=uint8,input=NAME" or
// "mel=40,rate=8000,window=256,hop=128,low=0,high=4000,offset=1e-6,scale=1,mean=...,std=..."
ONDINE_API Preprocess preprocess_from_text(std::string_view text,
                                           OptionSpelling spelling = OptionSpelling::name);
// "flip,flip-vertical,crop=4,rotate=10,scale=0.9:1.1,color=0.2,cutout=8,mixup=0.2" or
// "time-shift=0.1,noise=0.05"
ONDINE_API Augmentation augmentation_from_text(std::string_view text,
                                               OptionSpelling spelling = OptionSpelling::name);

}  // namespace ondine

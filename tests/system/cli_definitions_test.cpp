// Definitions of commands: their options, the completion of a shell, and which arguments exclude
// each other.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include <ondine/data.h>
#include <ondine/options.h>

#include "tests/support/paths.h"
#include "tests/system/run/cli_run.h"

using Catch::Contains;
using cli_test::Result;
using cli_test::Workshop;

namespace {

// Without what a page needs for fonts and dashes.
std::string plain(std::string text) {
  for (const char* mark : {"\\fB", "\\fI", "\\fR"}) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
      text.erase(at, 3);
    }
  }
  for (std::size_t at = text.find("\\-"); at != std::string::npos; at = text.find("\\-")) {
    text.erase(at, 1);
  }
  return text;
}

// The options of a manual page, as the lines of options.txt have them: names and type of the value,
// choices, default, and whether it is required.
std::set<std::string> options_of(const std::string& command, const std::string& page) {
  std::set<std::string> lines;
  const std::size_t end = page.find(".SH EXIT STATUS");
  for (std::size_t at = page.find(".TP\n"); at < end; at = page.find(".TP\n", at + 1)) {
    std::istringstream entry(page.substr(at + 4, page.find("\n.", at + 4) - at - 4));
    std::string line;
    std::getline(entry, line);
    std::string text = command + " | " + plain(line);
    while (std::getline(entry, line)) {
      const bool fact =
          line.starts_with("One of: ") || line.starts_with("Default: ") || line == "Required.";
      if (fact) text += " | " + plain(line);
    }
    lines.insert(text);
  }
  return lines;
}

}  // namespace

TEST_CASE("every command has its options, with their types, choices and defaults") {
  const Workshop shop;
  std::ifstream file(ondine::test::source_folder() / "tests/system/options.txt");
  std::map<std::string, std::set<std::string>> pages;
  std::size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const std::string command = line.substr(0, line.find(' '));
    auto& options = pages[command];
    if (options.empty()) options = options_of(command, shop.succeed("man " + command).out);
    INFO(line);
    CHECK(options.contains(line));
  }
  CHECK(count > 670);
  CHECK(pages.size() == 24);
}

TEST_CASE("a manual page has a title, a synopsis with the arguments, help and examples") {
  const Workshop shop;
  const std::string page = shop.succeed("man lower").out;
  CHECK_THAT(page, Catch::StartsWith(".TH ONDINE-LOWER 1 \"\" \"Ondine ") &&
                       Contains("\" \"User Commands\"\n.SH NAME\nondine\\-lower \\- Write a "
                                "training step as an inference model of standard operators\n"
                                ".SH SYNOPSIS\n\\fBondine lower\\fR \\fIMODEL\\fR "
                                "[\\fIOPTIONS\\fR]\n.SH OPTIONS\n.TP\n\\fBMODEL\\fR\nTraining "
                                "model.\nRequired.\n.TP\n\\fB\\-\\-output\\fR, \\fB\\-o\\fR "
                                "\\fIFILE\\fR\nInference model to write.\nRequired.\n") &&
                       Contains(".SH EXAMPLES\n.nf\nExamples:\n  ondine lower train.onnx \\-o "
                                "step.onnx\n"));
  // A backslash at the end of a line of an example.
  CHECK_THAT(shop.succeed("man prepare").out, Contains("\\-\\-optimizer momentum \\e\n"));
  const std::string program = shop.succeed("man").out;
  CHECK_THAT(program, Catch::StartsWith(".TH ONDINE 1 ") &&
                          Contains(".TP\n\\fBlower\\fR\nWrite a training step as an inference "
                                   "model of standard operators.\n") &&
                          Contains(".TP\n143\n") && Contains(".SH SEE ALSO\n"));
  const Result unknown = shop.run("man lowr");
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err, Contains("there is no command 'lowr'; did you mean 'lower'?"));
}

TEST_CASE("bash completes commands, options, choices and files") {
  const Workshop shop;
  if (shop.run("man", "bash -c true; %").exit_code != 0) return;
  shop.write("completion.bash", shop.succeed("completion bash").out);
  shop.write("complete.sh",
             "source ./completion.bash\nCOMP_WORDS=(ondine \"$@\")\nCOMP_CWORD=$#\n_ondine\n"
             "printf '%s\\n' \"${COMPREPLY[@]}\"\n");
  const auto completed = [&](const std::string& words) {
    return shop.run("man", "bash complete.sh " + words + "; true %").out;
  };
  const auto first = completed("in");
  CHECK(first.starts_with("info\ninspect\ninfer\n"));
  CHECK(completed("--v").starts_with("--version\n"));
  CHECK(completed("train --sched").starts_with("--schedule\n"));
  CHECK(completed("train --schedule pl").starts_with("plateau\n"));
  CHECK(completed("eval --schedule pl").find("plateau") == std::string::npos);
  CHECK(completed("info --h").starts_with("--help\n"));
  CHECK(completed("train completion.b").starts_with("completion.bash\n"));
}

TEST_CASE("zsh and fish are told values, choices and what may be repeated") {
  const Workshop shop;
  const std::string zsh = shop.succeed("completion zsh").out;
  CHECK_THAT(zsh,
             Contains("    'lower:Write a training step as an inference model of standard "
                      "operators'\n") &&
                 Contains("    lower)\n      _arguments \\\n        '--output[Inference model "
                          "to write]:FILE:_files' \\\n        '-o[Inference model to "
                          "write]:FILE:_files' \\\n") &&
                 Contains("'--precision[Precision of products\\: float32; bf16 to round their "
                          "factors if the processor can; int8\\: bf16, and frozen matrices in 8 "
                          "bits]:float32|bf16|int8:(float32 bf16 int8)'") &&
                 Contains("'--tie[Train parameters as one that PyTorch'\\''s exporter merged "
                          "because they were equal]'") &&
                 Contains("'*--input[NAME=FILE; repeat for each input]:NAME=FILE:_files'") &&
                 Contains(" \\\n        '*:file:_files'\n      ;;\n"));
  const std::string fish = shop.succeed("completion fish").out;
  CHECK_THAT(
      fish,
      Contains(
          "complete -c ondine -n __fish_use_subcommand -f -a man -d 'Print a manual page'\n") &&
          Contains("complete -c ondine -n '__fish_seen_subcommand_from lower' -l output -s o -r -d "
                   "'Inference model to write'\n") &&
          Contains("complete -c ondine -n '__fish_seen_subcommand_from info' -l json -d '") &&
          Contains(" -l precision -r -f -a 'float32 bf16 int8' -d 'Precision of products: "));
}

TEST_CASE("arguments that contradict each other or lack another are wrong usage") {
  const Workshop shop;
  const std::string prepare = "prepare net.onnx -o t.onnx --loss mse ";
  shop.succeed("prepare net.onnx -o train.onnx --loss softmax-cross-entropy --label y");
  const std::string train = "train train.onnx --data data --batch-size 7 --epochs 1 ";
  struct Row {
    std::string arguments;
    std::string message;
  };
  const std::vector<Row> rows{
      {"prepare net.onnx -o t.onnx", "prepare needs one of --loss, --loss-model and --in-batch"},
      {"prepare net.onnx -o t.onnx --loss softmax-cross-entropy --ignore-index 1.5",
       "--ignore-index needs a whole number, found '1.5'"},
      {"prepare net.onnx -o t.onnx --loss softmax-cross-entropy --ignore-index 1e16",
       "--ignore-index needs a whole number, found '1e16'"},
      {prepare + "--lr-scale fc1", "--lr-scale needs PATTERN=NUMBER, found fc1"},
      {prepare + "--lr-scale =2", "--lr-scale needs PATTERN=NUMBER, found =2"},
      {prepare + "--lr-scale fc1=2x", "--lr-scale needs PATTERN=NUMBER, found fc1=2x"},
      {prepare + "--lr-scale fc1=", "--lr-scale needs PATTERN=NUMBER, found fc1="},
      {prepare + "--unfreeze-at fc1=-1", "--unfreeze-at needs PATTERN=STEPS, found fc1=-1"},
      {prepare + "--unfreeze-at fc1=1.5", "--unfreeze-at needs PATTERN=STEPS, found fc1=1.5"},
      {prepare + "--unfreeze-at fc1=1e15", "--unfreeze-at needs PATTERN=STEPS, found fc1=1e15"},
      {prepare + "--loss-scale much", "--loss-scale needs dynamic, none or a number, found much"},
      {prepare + "--loss-scale 2x", "--loss-scale needs dynamic, none or a number, found 2x"},
      {prepare + "--ema 0.9 --swa", "--swa excludes --ema"},
      {prepare + "--accumulate 0", "--accumulate"},
      {"prepare net.onnx -o t.onnx --loss focal --class-weights 1,b",
       "--class-weights needs numbers with commas between them, or balanced, found '1,b'"},
      {"prepare net.onnx -o t.onnx --loss focal --class-weights balanced",
       "--class-weights balanced needs --data"},
      {prepare + "--data data",
       "--data needs --class-weights balanced, --one-hot, --embed, --standardize, --impute or "
       "--train-budget"},
      {prepare + "--one-hot a", "--one-hot needs --data"},
      {prepare + "--table-input x", "--table-input"},
      {prepare + "--data d --embed a=0", "COLUMN=SIZE with a size from 1 to 65536"},
      {prepare + "--data d --impute many", "or once mean, median or a number"},
      {prepare + "--seed 1", "--seed needs --data"},
      {prepare + "--validation-split 0.5", "--validation-split needs --data"},
      {train + "--seeds 2 -o o.onnx", "--seeds compares runs and writes no files"},
      {train + "--seeds 2 --checkpoint c", "--seeds compares runs and writes no files"},
      {train + "--seeds 2 --log-dir l", "--seeds compares runs and writes no files"},
      {train + "--seeds 2 --report r.html", "--seeds compares runs and writes no files"},
      {train + "--seeds 2 --metrics m.jsonl", "--seeds compares runs and writes no files"},
      {train + "--metrics a.jsonl --metrics b.jsonl",
       "--metrics and --metrics-file name two files"},
      {train + "--threads 0", "--threads"},
      {train + "--threads 1025", "--threads"},
      {"infer net.onnx --prompt a --input x=x.npy", "--prompt excludes --input"},
      {"infer net.onnx --prompt a --data data", "--data excludes --prompt"},
      {"infer net.onnx --data data --input x=x.npy", "--data excludes --input"},
      {"infer net.onnx --sample 3", "--sample needs --prompt"},
      {"infer net.onnx --temperature 1", "--temperature needs --prompt"},
      {"infer net.onnx --seed 1", "--seed needs --prompt"},
      {"infer net.onnx --data data --top 0", "--top"},
      {"inspect net.onnx --stage graph --shape x=1x4",
       "--shape does not apply to graph; use --stage plan"},
      {"inspect net.onnx --stage graph --format json",
       "--format does not apply to graph; use --stage plan"},
      {"inspect net.onnx --stage graf", "; did you mean graph?"},
      {"new mpl --data data -o o.onnx", "KIND needs mlp, cnn, unet, text or audio, found 'mpl'"},
      {"inspect net.onnx", "--stage is required"},
      {"doctor train.onnx --data data --shape x=1x4", "--shape excludes --data"},
      {"verify", "PATH is required"},
      {"verify net.onnx --refusal-seconds 0", "--refusal-seconds"},
      {"lower train.onnx", "--output is required"},
      {"man none", "there is no command 'none'"},
      {"completion tcsh", "tcsh"}};
  for (const Row& row : rows) {
    INFO(row.arguments);
    const Result result = shop.run(row.arguments);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.err, Contains(row.message));
    CHECK_THAT(result.err, Contains("Run with --help for more information.\n"));
  }
  CHECK_FALSE(exists(shop / "t.onnx"));
  CHECK_FALSE(exists(shop / "o.onnx"));
}

TEST_CASE("arguments that do not say what they must are refused with what was found") {
  const Workshop shop;
  const std::string prepare = "prepare net.onnx -o t.onnx --loss mse ";
  shop.succeed("prepare net.onnx -o train.onnx --loss softmax-cross-entropy --label y");
  const std::string train = "train train.onnx --data data --batch-size 7 --epochs 1 ";
  ondine::save_array(shop / "x.npy", ondine::Tensor(ondine::DType::float32, {1, 4}));
  const auto refuse = [&](const std::string& arguments, const std::string& message) {
    shop.refuse(arguments, message);
  };
  const auto misuse = [&](const std::string& arguments, const std::string& message) {
    shop.misuse(arguments, message);
  };
  misuse(train + "--metrics a,,b", "--metrics needs NAME,NAME,..., found 'a,,b'");
  misuse(train + "--set learning_rate=0.1x", "--set needs a number, found '0.1x'");
  misuse(train + "--set learning_rate=x", "--set needs a number, found 'x'");
  misuse(train + "--set learning_rate", "--set needs NAME=VALUE, found 'learning_rate'");
  misuse(train + "--set learning_rate=", "--set needs NAME=VALUE, found 'learning_rate='");
  misuse(train + "--set =1", "--set needs NAME=VALUE, found '=1'");
  misuse(train + "--map x", "--map needs NAME=VALUE, found 'x'");
  refuse(train + "--metrics none/m.jsonl", "cannot write 'none/m.jsonl'");
  refuse(train + "-o none/o.onnx", "cannot write 'none/o.onnx'");
  refuse(train + "--report none/r.html", "cannot write 'none/r.html'");
  misuse(train + "--schedule cosine --plateau-patience 2",
         "--plateau-patience does not apply to cosine; use --schedule plateau");
  misuse(train + "--schedule cosine --plateau-monitor loss",
         "--plateau-monitor does not apply to cosine; use --schedule plateau");
  misuse(train + "--schedule plateau --power 2",
         "--power does not apply to plateau; use --schedule polynomial");
  misuse(train + "--augment scale=1", "--augment scale needs two factors, LOW:HIGH, found '1'");
  misuse(train + "--augment flip=1", "--augment flip needs no value, found '1'");
  misuse(train + "--augment flip,flip", "--augment needs flip once, found 'flip,flip'");
  misuse(train + "--augment crop=1.5", "--augment crop needs an integer, found '1.5'");
  misuse(train + "--augment crop=1e10", "--augment crop needs an integer, found '1e10'");
  misuse(train + "--augment noise=a", "--augment noise needs numbers, found 'a'");
  misuse(train + "--augment wrong=1", "--augment needs settings among color, crop, cutout");
  refuse(train + "--write-config none/job.toml", "cannot write 'none/job.toml'");
  misuse(prepare + "--cut fc1 ", "--cut needs --head");
  misuse(prepare + "--preprocess type=none",
         "--preprocess type needs a type such as uint8, found 'none'");
  misuse(prepare + "--preprocess layout=chw",
         "--preprocess layout needs nhwc or nchw, found 'chw'");
  misuse(prepare + "--preprocess resize=3", "--preprocess resize needs HEIGHTxWIDTH, found '3'");
  misuse(prepare + "--preprocess resize=3x", "--preprocess resize needs HEIGHTxWIDTH, found '3x'");
  misuse(prepare + "--preprocess resize=0x3",
         "--preprocess resize needs HEIGHTxWIDTH, found '0x3'");
  misuse(prepare + "--preprocess resize=3x0",
         "--preprocess resize needs HEIGHTxWIDTH, found '3x0'");
  misuse(prepare + "--preprocess scale=1/x", "--preprocess scale needs numbers, found '1/x'");
  misuse(prepare + "--preprocess mean=1:", "--preprocess mean needs numbers, found ''");
  misuse(prepare + "--preprocess hop=160",
         "--preprocess needs mel=BANDS with the settings of a spectrogram, found 'hop=160'");
  refuse("infer net.onnx --input x.npy", "--input needs NAME=VALUE, found 'x.npy'");
  refuse("infer net.onnx --input x=x.npy -o net.onnx/y", "net.onnx/y");
  refuse("inspect net.onnx --stage plan --shape x=", "--shape needs NAME=VALUE, found 'x='");
  refuse("inspect net.onnx --stage plan --shape x=1x", "found 'x=1x'");
  refuse("inspect net.onnx --stage plan --shape x=1234567890123456789x4",
         "found 'x=1234567890123456789x4'");
  refuse("inspect net.onnx --stage plan --shape x=2x5",
         "input 'x' must be a tensor(float)[N, 4], "
         "not of shape [2, 5]");
  refuse("inspect net.onnx --stage plan --shape x=2",
         "input 'x' must be a tensor(float)[N, 4], not of shape [2]");
  refuse("verify none", "no folder 'none'");
  refuse("verify net.onnx", "no folder 'net.onnx'");
}

TEST_CASE("the page of options is what the table says") {
  const Workshop shop;
  std::ifstream file(ondine::test::source_folder() / "docs/options.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  // ondine options > docs/options.md
  CHECK(page == shop.succeed("options").out);
  const auto table = nlohmann::json::parse(shop.succeed("options --json").out);
  CHECK(table.size() == std::size(ondine::option_groups) + 1);  // commands
  CHECK(table.at("train").at(0).at("name") == "epochs");
}

TEST_CASE("the page of commands has every option that a command shows") {
  const Workshop shop;
  std::ifstream file(ondine::test::source_folder() / "docs/commands.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  // ondine man --markdown > docs/commands.md
  CHECK(page == shop.succeed("man --markdown").out);
  CHECK_THAT(page, Contains("\n## finetune\n") && Contains("| `--class-axis` |"));
  shop.misuse("man train --markdown", "--markdown excludes COMMAND");
}

TEST_CASE("the help hides rare options, which --help-all shows") {
  const Workshop shop;
  CHECK_THAT(shop.succeed("train --help").out,
             !Contains("--class-axis") && Contains(" rare options: ondine train --help-all\n") &&
                 Contains("Early stopping:\n"));
  CHECK_THAT(shop.succeed("train --help-all").out, Contains("--class-axis AXIS"));
  shop.misuse("prepare net.onnx -o t.onnx --loss nul", "; did you mean nll?");
}

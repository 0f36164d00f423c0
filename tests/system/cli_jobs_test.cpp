// Job files, suggestions, completion, manual pages and the report of an evaluation.
#include <catch2/catch.hpp>

#include "tests/system/cli_run.h"

using Catch::Contains;
using cli_test::Result;
using cli_test::Workshop;

namespace {

const std::string prepare =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --label y ";
const std::string train = "train train.onnx --data data --batch-size 7 --seed 3 --initialize ";

}  // namespace

TEST_CASE("a job file does what its options do, and the command line overrides it") {
  const Workshop shop;
  shop.succeed(prepare + "--optimizer adam --accumulate 2 --ema 0.9 --write-config prepare.toml");
  CHECK_FALSE(exists(shop / "train.onnx"));
  CHECK_THAT(shop.read("prepare.toml"), Contains("accumulate = 2\n") && Contains("model = \"net"));
  shop.succeed("prepare --config prepare.toml");
  const std::string options = train + "--epochs 3 --schedule cosine --averaged ";
  shop.succeed(options + "-o one.onnx --write-config job.toml");
  CHECK_FALSE(exists(shop / "one.onnx"));
  CHECK_THAT(shop.read("job.toml"), Contains("data = [\"data\"]\n") && Contains("epochs = 3\n") &&
                                        Contains("initialize = true\n") &&
                                        Contains("schedule = \"cosine\"\n"));
  shop.succeed(options + "-o one.onnx");
  shop.succeed("train --config job.toml -o two.onnx");
  CHECK(shop.read("one.onnx") == shop.read("two.onnx"));
  CHECK_THAT(shop.succeed("train --config=job.toml --epochs 1 -o three.onnx").out,
             Contains("epoch 1/1"));
  CHECK(shop.read("one.onnx") != shop.read("three.onnx"));
}

TEST_CASE("a key that is no option and a file that is not there are refused") {
  const Workshop shop;
  shop.write("job.toml", "model = \"train.onnx\"\nepoch = 3\n");
  shop.refuse("train --config job.toml", "'epoch' is no option of 'train'; did you mean 'epochs'?");
  shop.refuse("train --config other.toml", "cannot read the job file 'other.toml'");
}

TEST_CASE("unknown options and commands get the nearest name") {
  const Workshop shop;
  const auto said = [&](const std::string& arguments) {
    const Result result = shop.run(arguments);
    CHECK(result.exit_code == 2);
    return result.err;
  };
  CHECK_THAT(said(train + "--epoch 3"), Contains("Did you mean --epochs instead of --epoch?"));
  CHECK_THAT(said("trian x.onnx"), Contains("Did you mean 'ondine train'?"));
  CHECK_THAT(said(train + "--epochs 1 --zzzzzzzz"), !Contains("Did you mean"));
}

TEST_CASE("help, completion and manual pages come from the same definitions") {
  const Workshop shop;
  const std::string help = shop.succeed("train --help").out;
  CHECK_THAT(help, Contains("--monitor TEXT=val_loss") && Contains("--schedule TEXT=constant"));
  CHECK_THAT(shop.succeed("eval --help").out, Contains("--batch-size UINT:POSITIVE=256"));
  const std::string page = shop.succeed("man train").out;
  CHECK_THAT(page, Contains(".TH ONDINE-TRAIN 1") && Contains("Default: val_loss") &&
                       Contains("One of: constant, cosine, one\\-cycle") &&
                       Contains(".SH EXIT STATUS"));
  CHECK_THAT(shop.succeed("man").out, Contains("\\fBprepare\\fR"));
  const std::string bash = shop.succeed("completion bash").out;
  CHECK_THAT(bash, Contains("--accumulate") && Contains("complete -o filenames -F _ondine ondine"));
  CHECK_THAT(shop.succeed("completion zsh").out, Contains("#compdef ondine"));
  CHECK_THAT(shop.succeed("completion fish").out,
             Contains("__fish_seen_subcommand_from train' -l schedule -r -f -a 'constant cosine"));
}

TEST_CASE("the report of an evaluation shows the classes and the worst errors") {
  const Workshop shop;
  shop.succeed(prepare + "--ema 0.5");
  shop.succeed(train + "--epochs 1 --checkpoint run.ckpt --averaged");
  const Result result = shop.succeed(
      "eval train.onnx --checkpoint run.ckpt --averaged --data data --report page.html");
  CHECK_THAT(result.out, Contains("accuracy"));
  CHECK_THAT(shop.read("page.html"), Contains("Confusion matrix") &&
                                         Contains("Classes, the worst first") &&
                                         Contains("prefers-color-scheme: dark"));
  shop.refuse("eval train.onnx --data data --report missing/page.html", "cannot write");
}

// Job files, suggestions, completion, manual pages and the report of an evaluation.
#include <catch2/catch.hpp>

#include "tests/system/run/cli_run.h"

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

TEST_CASE("texts of a job file are quoted as TOML needs it, and read again as they were") {
  const Workshop shop;
  shop.succeed(prepare);
  const auto job = [&](const std::string& options) {
    shop.succeed(train + options + " --write-config job.toml");
    return shop.read("job.toml");
  };
  CHECK(job("--epochs 2") ==
        "# ondine train --config FILE\n\n[data]\ndata = [\"data\"]\n\n[train]\n"
        "model = \"train.onnx\"\nepochs = 2\nbatch-size = 7\ninitialize = true\nseed = 3\n");
  CHECK_THAT(job("--epochs 1 -o 'a b.onnx'"), Contains("output = \"a b.onnx\"\n"));
  CHECK_THAT(job("--epochs 1 -o '1e3'"), Contains("output = \"1e3\"\n"));
  CHECK_THAT(job("--epochs 1 -o true"), Contains("output = \"true\"\n"));
  CHECK_THAT(job("--epochs 1 -o \"it's.onnx\""), Contains("output = \"it's.onnx\"\n"));
  CHECK_THAT(job("--epochs 1 -o 'say \"hi\".onnx'"),
             Contains("output = \"say \\\"hi\\\".onnx\"\n"));
  shop.succeed("train --config job.toml --quiet");
  CHECK(exists(shop / "say \"hi\".onnx"));
  CHECK_THAT(job("--epochs 1 -o 'a\\b.onnx'"), Contains("output = \"a\\\\b.onnx\"\n"));
  shop.succeed("train --config job.toml --quiet");
  CHECK(exists(shop / "a\\b.onnx"));
  CHECK_THAT(job("--epochs 1 --learning-rate 0.5 --set a=1 --set b=2"),
             Contains("set = [\"a=1\", \"b=2\"]\n") && Contains("learning-rate = 0.5\n"));
  CHECK_THAT(job("--epochs 1 -o 'a # b, [c] = \"\\\" #'"),
             Contains("output = \"a # b, [c] = \\\"\\\\\\\" #\"\n"));
}

TEST_CASE("the last job file counts, and commands without them know none") {
  const Workshop shop;
  shop.succeed(prepare);
  shop.succeed(train + "--epochs 1 --write-config one.toml");
  shop.succeed(train + "--epochs 2 --write-config two.toml");
  CHECK_THAT(shop.succeed("train --config=two.toml").out, Contains("epoch 2/2: "));
  CHECK_THAT(shop.succeed("train --config one.toml").out, Contains("epoch 1/1: "));
  CHECK(shop.run("info net.onnx --config one.toml").exit_code == 2);
  CHECK(shop.run("train --config").exit_code == 2);
  // A key of another command is none of this one.
  shop.write("wrong.toml", "loss = \"mse\"\n");
  const Result wrong = shop.run("train --config wrong.toml");
  CHECK(wrong.exit_code == 1);
  CHECK_THAT(wrong.err, Contains("job file 'wrong.toml': 'loss' is no option of 'train'"));
  for (const char* key : {"help", "config", "write-config"}) {
    shop.write("wrong.toml", std::string(key) + " = \"x\"\n");
    shop.refuse("train --config wrong.toml", std::string("'") + key + "' is no option of 'train'");
  }
}

TEST_CASE("one job file has a section for each command, and --set overrides it") {
  const Workshop shop;
  shop.write("job.toml",
             "[prepare]\nmodel = \"net.onnx\"\noutput = \"train.onnx\"\n"
             "loss = \"softmax-cross-entropy\" # a comment\nlabel = \"y\"\n\n"
             "[data]\ndata = [\"data\"]\n\n[train]\nmodel = \"train.onnx\"\nepochs = 2\n"
             "batch-size = 7\ninitialize = true\noutput = \"one.onnx\"\n\n"
             "[eval]\nmodel = \"one.onnx\"\n");
  shop.succeed("prepare --config job.toml");
  CHECK_THAT(shop.succeed("train --config job.toml").out, Contains("epoch 2/2"));
  CHECK_THAT(shop.succeed("eval --config job.toml").out, Contains("accuracy"));
  CHECK_THAT(shop.succeed("train --config job.toml --set train.epochs=3").out,
             Contains("epoch 3/3"));
  shop.misuse("train --config job.toml --set prepare.loss=mse",
              "'train' reads the sections train and data");
  CHECK_THAT(shop.run("train --config job.toml --set train.epoch=3").err,
             Contains("Did you mean --epochs instead of --epoch?"));
}

TEST_CASE("prepare leaves out shared data that it does not need, but not data of its own section") {
  const Workshop shop;
  const std::string own = "[prepare]\nmodel = \"net.onnx\"\noutput = \"t.onnx\"\nloss = \"mse\"\n";
  shop.write("job.toml", own + "[data]\ndata = [\"absent\"]\ntarget = \"y\"\n");
  shop.succeed("prepare --config job.toml");
  shop.misuse("prepare --config job.toml --data data", "--data needs --class-weights");
  shop.write("job.toml", own + "data = [\"absent\"]\n");
  shop.misuse("prepare --config job.toml", "--data needs --class-weights");
}

TEST_CASE("what --write-config writes reads back to the same options, whatever the texts are") {
  const Workshop shop;
  shop.succeed(prepare);
  const std::vector<std::string> texts{"plain",
                                       "a # b",
                                       "say \\\"hi\\\"",
                                       "back\\\\slash",
                                       "[1, 2]",
                                       "x = 1",
                                       "true",
                                       "1e3",
                                       "0x10",
                                       "inf",
                                       "2024-01-01",
                                       " spaces ",
                                       "\xc3\xa9t\xc3\xa9",
                                       "a,b",
                                       "''",
                                       "tab\there",
                                       "1_000",
                                       "+5",
                                       "-0"};
  for (const std::string& one : texts) {
    CAPTURE(one);
    const std::string options = train +
                                "--epochs 3 --learning-rate 0.001 --averaged --map \"x=" + one +
                                "\" --map \"y=" + one + "\" -o \"" + one + "\" --log-dir \"" + one +
                                "\" --schedule cosine --warmup 1/8";
    shop.succeed(options + " --write-config one.toml");
    shop.succeed("train --config one.toml --write-config two.toml");
    CHECK(shop.read("one.toml") == shop.read("two.toml"));
    CHECK_THAT(shop.read("one.toml"), Contains("epochs = 3\n"));
  }
}

TEST_CASE("options that are wrong are refused before anything is read or written") {
  const Workshop shop;
  const std::string run = "train absent.onnx --data data ";
  shop.misuse(run + "--epochs 0", "--epochs needs a whole number from 1 on, found '0'");
  shop.misuse(run + "--final-rate 1", "--final-rate does not apply to constant");
  shop.misuse(run + "--schedule cosine --power 2 --write-config job.toml",
              "--power does not apply to cosine");
  shop.misuse(run + "--epochs 0 --write-config job.toml", "--epochs needs");
  CHECK_FALSE(exists(shop / "job.toml"));
}

TEST_CASE("a job file that is no TOML is refused with its line") {
  const Workshop shop;
  const auto refuse = [&](const std::string& text, const std::string& what) {
    shop.write("job.toml", text);
    shop.refuse("train --config job.toml", what);
  };
  refuse("[train]\nepochs = \n", "job file 'job.toml', line 2");
  refuse("[train]\nmap = [\"a\",}\n", "line 2");
  refuse("# \u00e9\n[train]\nepochs = 1\u00e9\n", "line 3: a letter beyond ASCII");
  refuse("[train]\nx = \"\"\"\u00e9\n\"\"\"\n\u00e9 = 1\n", "line 4: a letter beyond ASCII");
  refuse("[train]\nepochs = 1979-05-27\n",
         "'epochs' needs a text, a number, true, false or a list");
  refuse("[trian]\nepochs = 1\n", "there is no section [trian]");
  refuse("[train]\nepochs = [1, 2]\n", "'epochs' needs one value");
  refuse("[train]\nmap = []\n", "'map' needs a value");
  refuse("[prepare]\nlos = \"mse\"\n", "'los' is no option of 'prepare'; did you mean 'loss'?");
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
  CHECK_THAT(said(train + "--epoch=3"), Contains("Did you mean --epochs instead of --epoch?"));
  CHECK_THAT(said("bench net.onnx --batch 3"),
             Contains("Did you mean --dim-size instead of --batch?"));
  CHECK_THAT(said("gradcheck net.onnx --batch=3"),
             Contains("Did you mean --dim-size instead of --batch?"));
  CHECK_THAT(said("lower net.onnx -o step.onnx --initialization 0"),
             Contains("Did you mean --initialization-of instead of --initialization?"));
  CHECK_THAT(said("infer net.onnx --hlep"), Contains("Did you mean --help instead of --hlep?"));
  CHECK_THAT(said("check net.onnx other.onnx"), !Contains("Did you mean"));
  CHECK_THAT(said("check net.onnx info"), !Contains("Did you mean"));
  CHECK_THAT(said("fly trian"), !Contains("Did you mean"));
}

TEST_CASE("help, completion and manual pages come from the same definitions") {
  const Workshop shop;
  const std::string help = shop.succeed("train --help").out;
  CHECK_THAT(help, Contains("--monitor METRIC=val_loss") && Contains("--schedule NAME=constant"));
  CHECK_THAT(shop.succeed("eval --help").out, Contains("--batch-size N=256"));
  const std::string page = shop.succeed("man train").out;
  CHECK_THAT(page, Contains(".TH ONDINE-TRAIN 1") && Contains("Default: val_loss") &&
                       Contains("One of: constant, step, cosine") && Contains(".SH EXIT STATUS"));
  CHECK_THAT(shop.succeed("man").out, Contains("\\fBprepare\\fR"));
  const std::string bash = shop.succeed("completion bash").out;
  CHECK_THAT(bash, Contains("--accumulate") && Contains("complete -o filenames -F _ondine ondine"));
  // Only options with choices have words of their own, and arguments have none.
  CHECK_THAT(
      bash,
      !Contains("-W ''") && !Contains("'completion SHELL')") &&
          Contains("    'train --schedule') COMPREPLY=($(compgen -W 'constant step cosine "
                   "polynomial one-cycle plateau' -- \"$word\")); return ;;\n") &&
          Contains("    man) COMPREPLY=($(compgen -W '--help --markdown' -- \"$word\")) ;;\n"));
  CHECK_THAT(shop.succeed("completion zsh").out, Contains("#compdef ondine"));
  CHECK_THAT(shop.succeed("completion fish").out,
             Contains("__fish_seen_subcommand_from train' -l schedule -r -f -a 'constant step"));
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

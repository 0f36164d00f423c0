// The process around the commands: descriptors, output, signals, job files, locks, modes.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>

#include "tests/system/run/cli_run.h"

using Catch::Contains;
using Catch::StartsWith;
using cli_test::Result;
using cli_test::Workshop;
namespace fs = std::filesystem;

namespace {

const std::string prepare =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
    "--learning-rate 0.02 --label y";
const std::string train = "train train.onnx --data data --batch-size 30 --seed 3 --initialize ";

mode_t mode(const fs::path& file) {
  struct stat facts {};
  REQUIRE(::stat(file.c_str(), &facts) == 0);
  return facts.st_mode & 0777;
}

}  // namespace

TEST_CASE("output that cannot be written is an error of every command") {
  const Workshop shop;
  shop.succeed(prepare);
  for (const std::string& arguments :
       {std::string("info net.onnx"), std::string("man"), std::string("man train"),
        std::string("completion bash"), std::string("--help"), std::string("--version"),
        std::string("check net.onnx"), train + "--epochs 1", std::string("train --help"),
        std::string("inspect net.onnx --stage graph"), prepare,
        std::string("export net.onnx -o copy.onnx")}) {
    INFO(arguments);
    const Result result = shop.run(arguments, "% >/dev/full");
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.err,
               Contains("ondine: cannot write the standard output: No space left on device"));
  }
  // The code of a command that failed anyway stays.
  CHECK(shop.run("fly", "% >/dev/full").exit_code == 2);
  // Nothing printed, nothing lost.
  CHECK(shop.run(train + "--epochs 1 --quiet", "% >/dev/full").exit_code == 0);
  CHECK(shop.run("infer none.onnx", "% 2>/dev/full").exit_code == 1);
}

TEST_CASE("a closed pipe ends a command as it ends others") {
  const Workshop shop;
  // The other end is closed before anything is written.
  const Result result = shop.run("man train", "{ sleep 0.3; %; echo $? >code; } | true; cat code");
  CHECK(result.out == std::to_string(128 + SIGPIPE) + "\n");
  CHECK(result.err.empty());
}

TEST_CASE("missing descriptors are not taken by files of the run") {
  const Workshop shop;
  shop.succeed(prepare);
  shop.succeed(train + "--epochs 3 --log-dir whole --checkpoint whole.ckpt --metrics whole.jsonl");
  const std::string run = train +
                          "--epochs 3 --log-dir log --checkpoint run.ckpt --overwrite "
                          "--metrics run.jsonl";
  for (const char* closed : {"% >&-", "% 2>&-", "% <&- >&- 2>&-", "% <&-"}) {
    INFO(closed);
    CHECK(shop.run(run, closed).exit_code == 0);
    CHECK(shop.read("run.ckpt") == shop.read("whole.ckpt"));
    for (const char* name : {"steps.csv", "epochs.csv", "log.jsonl"}) {
      CHECK_THAT(shop.read(std::string("log/") + name), !Contains("epoch 1/3"));
    }
    CHECK_THAT(shop.read("run.jsonl"), StartsWith("{") && !Contains("epoch 1/3"));
    for (const auto& entry : fs::directory_iterator(shop / "log")) {
      CHECK_THAT(shop.read("log/" + entry.path().filename().string()), !Contains("epoch 1/3:"));
    }
  }
}

TEST_CASE("signals that were ignored at the start stay ignored") {
  const Workshop shop;
  shop.succeed(prepare);
  for (const char* signal : {"INT", "TERM"}) {
    INFO(signal);
    const std::string name = signal;
    const Result result =
        shop.run(train + "--epochs 60 --checkpoint " + name + ".ckpt",
                 "env --ignore-signal=" + name + " % & pid=$!; while ! test -e " + name +
                     ".ckpt; do sleep 0.01; done; kill -" + name + " $pid; wait $pid");
    CHECK(result.exit_code == 0);
    CHECK_THAT(result.out, Contains("epoch 60/60"));
  }
}

TEST_CASE("a job file is a regular file of bounded size") {
  const Workshop shop;
  shop.succeed(prepare);
  REQUIRE(::mkfifo((shop / "pipe").c_str(), 0600) == 0);
  for (const char* file : {"pipe", "/dev/zero", "/dev/null", "data", "/dev/stdin"}) {
    shop.refuse(std::string("train --config ") + file + " </dev/zero",
                "cannot read the job file '" + std::string(file) + "': it is not a regular file");
  }
  shop.refuse("train --config none.toml", "none.toml': No such file");
  shop.write("large.toml", std::string((std::size_t{1} << 20) + 1, '#'));
  shop.refuse("train --config large.toml", "it has more than 1 MiB");
  shop.write("job.toml",
             "model = \"train.onnx\"\ndata = [\"data\"]\nepochs = 1\nbatch-size = 30\n");
  shop.succeed("train --config job.toml");
  CHECK(shop.run("train --config /dev/stdin", "% <job.toml").exit_code == 0);  // it is a file
}

TEST_CASE("a second run with a checkpoint is refused while the first goes on") {
  const Workshop shop;
  shop.succeed(prepare);
  const std::string begin =
      "env --default-signal=INT % & pid=$!; while ! test -e run.ckpt; do sleep 0.01; done; ";
  const std::string end = "; kill -INT $pid; wait $pid";
  const std::string second = "\"$ONDINE\" " + train + "--epochs 1 --checkpoint run.ckpt ";
  for (const char* how : {"--resume", "--overwrite", "--resume-if-exists"}) {
    INFO(how);
    fs::remove(shop / "run.ckpt");
    fs::remove(shop / "run.ckpt.prev");
    std::string wrapper =
        begin + "ONDINE=$(readlink /proc/$pid/exe); " + second + how + "; echo \"second $?\"" + end;
    const Result result = shop.run(train + "--epochs 100000 --checkpoint run.ckpt", wrapper);
    CHECK_THAT(result.out, Contains("second 1\n"));
    CHECK_THAT(result.err, Contains("'run.ckpt' is in use by another run"));
    CHECK(result.exit_code == 130);
    CHECK_FALSE(fs::exists(shop / "run.ckpt.lock"));
  }
  // A crash leaves a lock file that nobody has locked.
  const Result killed = shop.run(train + "--epochs 100000 --checkpoint killed.ckpt",
                                 "% & pid=$!; while ! test -e killed.ckpt; do sleep 0.01; done; "
                                 "kill -KILL $pid; wait $pid");
  CHECK(killed.exit_code == 128 + SIGKILL);
  CHECK(fs::exists(shop / "killed.ckpt.lock"));
  shop.succeed(train + "--epochs 1 --checkpoint killed.ckpt --overwrite");
  CHECK_FALSE(fs::exists(shop / "killed.ckpt.lock"));
}

TEST_CASE("--resume-if-exists starts anew and continues with the same bits") {
  const Workshop shop;
  shop.succeed(prepare);
  shop.succeed(train + "--epochs 4 --checkpoint whole.ckpt");
  const std::string run = train + "--checkpoint run.ckpt --resume-if-exists --epochs ";
  CHECK_THAT(shop.succeed(run + "2").out, StartsWith("epoch 1/2"));
  CHECK_THAT(shop.succeed(run + "4").out, StartsWith("epoch 3/4"));
  CHECK(shop.read("run.ckpt") == shop.read("whole.ckpt"));
  CHECK_THAT(shop.succeed(run + "4").out, StartsWith("nothing to do"));
  // The generation before is a checkpoint too.
  fs::remove(shop / "run.ckpt");
  CHECK_THAT(shop.succeed(run + "4").out, StartsWith("epoch 4/4"));
  CHECK(shop.run(run + "4 --resume").exit_code == 2);
  CHECK(shop.run(run + "4 --overwrite").exit_code == 2);
  CHECK(shop.run(train + "--epochs 1 --resume-if-exists").exit_code == 2);
}

TEST_CASE("replaced files keep their mode, new ones have that of the mask") {
  const Workshop shop;
  shop.succeed(prepare);
  const std::string run = train +
                          "--epochs 2 --validation-split 0.2 --monitor val_loss --patience 5 "
                          "--checkpoint run.ckpt --overwrite --report r.html -o tuned.onnx";
  const std::vector<std::string> files{"run.ckpt", "run.ckpt.prev", "run.ckpt.best", "r.html",
                                       "tuned.onnx"};
  REQUIRE(shop.run(run, "umask 027; %").exit_code == 0);
  for (const std::string& name : files) {
    INFO(name);
    CHECK(mode(shop / name) == 0640);
    REQUIRE(::chmod((shop / name).c_str(), 0600) == 0);
  }
  shop.succeed(run);
  for (const std::string& name : files) {
    INFO(name);
    CHECK(mode(shop / name) == 0600);
  }
  const std::vector<std::string> others{
      "export net.onnx -o o.onnx", "export train.onnx -o o.safetensors",
      "infer net.onnx --input x=data/x_test.npy -o folder",
      "train train.onnx --data data --batch-size 3 --epochs 1 --write-config job.toml"};
  for (const std::string& arguments : others) shop.succeed(arguments);
  const std::vector<std::string> written{"o.onnx", "o.safetensors", "folder/logits.npy",
                                         "job.toml"};
  for (const std::string& name : written) {
    REQUIRE(::chmod((shop / name).c_str(), 0600) == 0);
  }
  for (const std::string& arguments : others) shop.succeed(arguments);
  for (const std::string& name : written) {
    INFO(name);
    CHECK(mode(shop / name) == 0600);
  }
}

TEST_CASE("a checkpoint behind a link is written where the link leads, both generations together") {
  const Workshop shop;
  shop.succeed(prepare);
  fs::create_directories(shop / "disk");
  fs::create_symlink("disk/far.ckpt", shop / "run.ckpt");  // leads to no file yet
  const std::string run = train + "--checkpoint run.ckpt --epochs ";
  shop.succeed(run + "2");
  CHECK(fs::is_symlink(shop / "run.ckpt"));
  CHECK(fs::is_regular_file(shop / "disk/far.ckpt"));
  CHECK(fs::is_regular_file(shop / "disk/far.ckpt.prev"));
  CHECK_FALSE(fs::exists(fs::symlink_status(shop / "run.ckpt.prev")));
  shop.refuse(run + "2", "exists");
  CHECK_THAT(shop.succeed(run + "3 --resume").out, StartsWith("epoch 3/3"));
  shop.succeed("export train.onnx --checkpoint run.ckpt -o tuned.onnx");
  fs::remove(shop / "disk/far.ckpt");
  CHECK_THAT(shop.succeed(run + "3 --resume").err, Contains("restored from"));
}

TEST_CASE("a run that is repeated says how to go on, in the words of the command line and of C++") {
  const Workshop shop;
  shop.succeed(prepare);
  shop.succeed(train + "--checkpoint run.ckpt --epochs 1 --log-dir log");
  for (const char* outputs : {"--checkpoint run.ckpt", "--log-dir log"}) {
    const Result again = shop.run(train + "--epochs 1 " + outputs);
    CHECK(again.exit_code == 1);
    CHECK_THAT(again.err, Contains("--resume") && Contains("--overwrite") &&
                              Contains("TrainerOptions::resume") &&
                              Contains("TrainerOptions::overwrite"));
  }
}

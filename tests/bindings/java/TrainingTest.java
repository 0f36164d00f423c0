import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.ondine.*;

/** Steps, runs, callbacks, files. */
final class TrainingTest {
  private TrainingTest() {}

  static void theLossOfStepsFallsAndResultsOutliveTheModel() {
    Values results, outputs;
    double first;
    try (Model model = Support.model(); Values feeds = Support.feeds(30)) {
      first = model.trainStep(feeds).scalar("loss");
      for (int i = 0; i < 60; ++i) model.trainStep(feeds).close();
      results = model.evalStep(feeds);
      outputs = model.infer(new Values().set("x", Support.images(30), 30, 4));
      Support.same(model.steps(), 61L);
    }
    Support.check(results.scalar("loss") < first / 2, results.scalar("loss"));
    Value scores = outputs.get(outputs.names().get(0));
    Support.same(Arrays.toString(scores.dims()), "[30, 3]");
    Support.same(scores.floats().length, 90);
    Support.same(scores.dtype(), DType.FLOAT32);
  }

  static void manyThreadsEvaluateBesideTraining() throws Exception {
    Model model = Support.model();
    Values feeds = Support.feeds(30);
    AtomicInteger done = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 4; ++i) {
      Thread thread = new Thread(() -> {
        for (int j = 0; j < 20; ++j) {
          if (Double.isFinite(model.evalStep(feeds).scalar("loss"))) done.incrementAndGet();
        }
      });
      thread.start();
      threads.add(thread);
    }
    for (int i = 0; i < 20; ++i) model.trainStep(feeds);
    for (Thread one : threads) one.join();
    Support.same(done.get(), 80);
  }

  static void finetuningSaysWhatItAssumedAndWritesAModelThatClassifies() throws Exception {
    Dataset data = Support.dataset(60);
    Path file = Support.path("tuned.onnx");
    List<String> lines = new ArrayList<>();
    AtomicInteger steps = new AtomicInteger(), epochs = new AtomicInteger();
    try (Finetune.Tuned tuned = new Finetune()
             .model(Support.network())
             .data(data)
             .output(file)
             .options(Options.of("epochs", 20, "refit", "never"))
             .onAssumed(lines::add)
             .onStep(report -> {
               Support.number(report, "mean", "loss");
               return steps.incrementAndGet() > 0;
             })
             .onEpoch(report ->
                 Support.number(report, "epoch") == epochs.incrementAndGet())
             .run()) {
      Support.same(Support.number(tuned.report(), "evaluation", "metrics", "accuracy"), 1.0);
      Support.same(tuned.report().get("output").text(), file.toString());
    }
    Support.check(lines.size() >= 2 && steps.get() == 60 && epochs.get() == 20, lines);
    Model exported = Model.load(file);
    Report report = Ondine.evaluate(exported, data, Options.none());
    Support.same(Support.number(report, "metrics", "accuracy"), 1.0);
    try (Finetune.Tuned again =
             new Finetune().model(exported).data(data).options(Options.of("epochs", 1)).run()) {
      Support.same(again.report().get("output").text(), "");
    }
    Files.delete(file);
  }

  static void aCallbackEndsARunThatThenWritesNothing() {
    Path file = Support.path("never.onnx");
    Finetune.Tuned tuned =
        new Finetune().data(Support.dataset(60)).output(file).onStep(report -> false).run();
    Support.same(tuned.report().get("fit", "reason").text(), "requested");
    Support.check(!Files.exists(file), file);
  }

  private static final class Share implements Metric {
    private double right, rows;

    @Override
    public void begin() {
      right = rows = 0;
    }

    @Override
    public void add(Values outputs, Values batch) {
      float[] scores = outputs.get("scores").floats();
      long[] labels = batch.get("label").longs();
      for (int row = 0; row < labels.length; ++row, ++rows) {
        int best = 0;
        for (int i = 1; i < 3; ++i) {
          if (scores[3 * row + i] > scores[3 * row + best]) best = i;
        }
        if (best == labels[row]) ++right;
      }
    }

    @Override
    public double value() {
      return right / rows;
    }
  }

  static void theTrainingLoopReportsStepsAndEpochsAndComputesAMetricOfTheCaller() {
    AtomicInteger steps = new AtomicInteger(), epochs = new AtomicInteger();
    try (Model model = Support.model();
         Trainer trainer = new Trainer(
             model, Options.of("epochs", 8, "batch-size", 10, "validation-split", 0.5))) {
      trainer.onStep(report -> steps.incrementAndGet() > 0);
      trainer.onEpoch(report -> {
        Report validation = report.get("validation");
        double apart =
            Support.number(validation, "share") - Support.number(validation, "accuracy");
        Support.check(Math.abs(apart) < 1e-6, report);
        return epochs.incrementAndGet() > 0;
      });
      trainer.addMetric("share", new Share());
      Support.same(trainer.fit(Support.dataset(60)).get("reason").text(), "completed");
      Support.number(trainer.evaluate(Support.dataset(30)), "metrics", "loss");
    }
    Support.same(steps.get() + " " + epochs.get(), "24 8");
  }

  static void rowsOfAReaderTrainAsTheSameRowsInTensors() {
    AtomicInteger read = new AtomicInteger();
    float[] images = Support.images(60);
    List<Column> columns =
        List.of(new Column("x", DType.FLOAT32, 4), new Column("label", DType.INT64));
    Dataset given = Dataset.of(columns, 60, (index, row) -> {
      read.incrementAndGet();
      int at = (int) index;
      row.set(0, Arrays.copyOfRange(images, 4 * at, 4 * at + 4));
      row.set(1, at % 3L);
    }, Options.none());
    Support.same(trained(given), trained(Support.dataset(60)));
    Support.check(read.get() >= 120, read);
  }

  private static double trained(Dataset data) {
    try (Model model = Support.model();
         Trainer trainer = new Trainer(model, Options.of("epochs", 2))) {
      return Support.number(trainer.fit(data), "last", "training", "loss");
    }
  }

  static void batchesAreFeedsAndComeInTheOrderOfSeedAndEpoch() {
    Model model = Support.model();
    Dataset data = Support.dataset(60);
    List<Long> first = labels(data, Batches.Order.of(4, 0).forModel(model, 0), model);
    Support.same(labels(data, Batches.Order.of(4, 0), model), first);
    Support.check(!labels(data, Batches.Order.of(4, 1), model).equals(first), first);
    Support.same(data.batches(20, Batches.Order.ofData()).count(), 3L);
  }

  private static List<Long> labels(Dataset data, Batches.Order order, Model model) {
    List<Long> made = new ArrayList<>();
    try (Batches batches = data.batches(20, order)) {
      for (Values batch : batches) {
        model.trainStep(batch);
        for (long one : batch.get("label").longs()) made.add(one);
      }
    }
    Support.same(made.size(), 60);
    return made;
  }

  static void aCheckpointWeightsAndBytesBringTheStateBack() throws Exception {
    Model model = Support.model();
    Path checkpoint = Support.path("run.ckpt"), weights = Support.path("net.safetensors");
    model.trainStep(Support.feeds(30));
    float[] state = model.parameters();
    model.files().saveCheckpoint(checkpoint);
    model.files().saveWeights(weights, false);
    Model copy = model.copy();
    model.trainStep(Support.feeds(30));
    Support.check(!Arrays.equals(model.parameters(), state), "the same weights");
    Support.check(Ondine.hasCheckpoint(checkpoint), checkpoint);
    model.files().restoreCheckpoint(checkpoint);
    Support.check(Arrays.equals(model.parameters(), state), "other weights");
    Support.check(Arrays.equals(copy.parameters(), state), "other weights");
    model.setParameters(new float[state.length]);
    model.files().loadWeights(weights, false);
    Support.check(Arrays.equals(model.parameters(), state), "other weights");
    Model again = Model.load(model.files().trainingBytes(), Options.none());
    Support.check(Arrays.equals(again.parameters(), state), "other weights");
    Support.same(again.fingerprint(), model.fingerprint());
    Support.check(model.files().inferenceBytes().length > 0, "no bytes");
    model.files().exportTraining(Support.path("train.onnx"), Options.none());
    Support.same(Ondine.check(Support.path("train.onnx"), Options.none()), List.of());
  }

  static void dataThatAModelKeepsOutsideComesFromACallback() throws Exception {
    Model model = Support.model();
    Path file = Support.path("outside.onnx");
    model.files().exportTraining(file, Options.of("external-data-from", 64));
    byte[] bytes = Files.readAllBytes(file);
    Model loaded = Model.load(bytes, (location, offset, length) -> {
      byte[] all = Files.readAllBytes(file.resolveSibling(location));
      return Arrays.copyOfRange(all, (int) offset, (int) offset + length);
    }, Options.none());
    Support.check(Arrays.equals(loaded.parameters(), model.parameters()), "other weights");
    OndineException error = Support.thrown(OndineException.class, () ->
        Model.load(bytes, (location, offset, length) -> {
          throw new java.io.IOException("the disk is gone");
        }, Options.none()));
    Support.check(error.getMessage().contains("the disk is gone"), error);
    Support.refused(Code.MISMATCH, "bytes are given where", () ->
        Model.load(bytes, (location, offset, length) -> new byte[1], Options.none()));
  }

  static void valuesOfAllKindsComeBackAsTheyWereGiven() {
    Value vector = Value.of(new double[] {1, 2, 3, 4}, 2, 2);
    Value texts = Value.of(new String[] {"a\0b", "\u00e4"});
    Support.same(List.of(texts.texts()), List.of("a\0b", "\u00e4"));
    byte[] bits = {0, 0x3f, 1, 0x40, 2, (byte) 0xc0};
    Value halves = Value.of(DType.BFLOAT16, bits, 3);
    Support.check(Arrays.equals(halves.bytes(), bits), Arrays.toString(halves.bytes()));
    Support.same(halves.shorts()[0], (short) 0x3f00);
    Value flags = Value.of(new boolean[] {true, false, true});
    Support.same(Arrays.toString(flags.booleans()), "[true, false, true]");
    Value sequence = Value.sequence(vector, texts);
    vector.close();
    Support.same(Arrays.toString(sequence.elements().get(0).doubles()), "[1.0, 2.0, 3.0, 4.0]");
    Value map = Value.map(Value.of(new long[] {7, 9}), flags, halves);
    Support.same(Arrays.toString(map.keys().longs()), "[7, 9]");
    Support.same(Value.optional(null).kind(), Kind.OPTIONAL);
    Value sparse = Value.sparse(Value.of(new float[] {2.5F}), Value.of(new long[] {3}), 2, 2);
    Support.same(sparse.kind(), Kind.SPARSE_TENSOR);
    Support.same(new Values().set("one", Value.scalar(2.5F)).scalar("one"), 2.5);
    Support.same(Value.scalar(true).booleans()[0], true);
    Support.same(Value.zeros(DType.INT32, 0, 3).ints().length, 0);
    Support.same(Arrays.toString(Value.of(new int[] {1, -2}).ints()), "[1, -2]");
    Support.same(Arrays.toString(Value.of(new byte[] {1, -2}, 2, 1).bytes()), "[1, -2]");
  }

  static void aDirectBufferIsReadWhereItIs() {
    ByteBuffer buffer = ByteBuffer.allocateDirect(40).order(ByteOrder.nativeOrder());
    for (int i = 0; i < 10; ++i) buffer.putFloat(4 * i, i);
    Value value = Value.wrap(DType.FLOAT32, buffer.position(8), 8);
    Support.same(Arrays.toString(value.floats()), "[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]");
    buffer.putFloat(8, 20);
    Support.same(value.floats()[0], 20F);
    value.close();
  }

  static void modelsSayWhatTheyAreAndWhatCallsTake() {
    Model model = Support.model();
    Support.same(model.describe().get("inputs").list().get(0).get("name").text(), "x");
    Support.same(model.prepareReport().get("trained").list().size(), 4);
    Support.check(model.inspect("model", 0).contains("Gemm"), "no Gemm");
    Support.check(Support.number(model.plan(Support.feeds(8), 0), "arena_bytes") > 0, "no memory");
    model.setLearningRate(0, 0.5F);
    Support.same(model.learningRate(0), 0.5F);
    model.setThreads(1);
    model.setProfiling(true);
    Support.check(!model.gradients(0, Support.feeds(8)).names().isEmpty(), "no gradients");
    Support.check(!model.profile().list().isEmpty(), "no profile");
    Support.check(Ondine.options().get("prepare").toString().contains("learning-rate"), "no table");
    Support.same(Ondine.version().split("\\.").length, 3);
  }

  static void aWorkerOfAFederationAnswersWithTrainedArrays() {
    Model model = Support.model();
    try (FederatedWorker worker = new FederatedWorker(
             model, Support.dataset(60), Options.of("epochs", 1), Options.none())) {
      Values arrays = new Values();
      for (Report one : model.describe().get("state").list()) {
        String name = one.get("name").text();
        if ("weight".equals(one.get("role").text())) arrays.set(name, model.state(name));
      }
      worker.onWait(() -> true);
      FederatedWorker.Answer answer = worker.answer("train", arrays, null, null);
      Support.same(Support.number(answer.report(), "metrics", "num-examples"), 60.0);
      Support.same(answer.trained().names(), arrays.names());
      Support.refused(
          Code.UNSUPPORTED, "dance", () -> worker.answer("dance", null, null, null));
    }
  }

  static void whatNothingRefersToIsFreed() throws Exception {
    System.gc();
    long before = Ondine.liveHandles();
    for (int i = 0; i < 50; ++i) Value.of(new float[] {1, 2, 3});
    for (int i = 0; i < 200 && Ondine.liveHandles() > before; ++i) {
      System.gc();
      Thread.sleep(20);
    }
    Support.check(Ondine.liveHandles() <= before, Ondine.liveHandles() + " after " + before);
  }
}

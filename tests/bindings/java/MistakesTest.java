import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.ondine.*;

/** Bad input is an exception with the message of the library, and what callbacks throw comes out. */
final class MistakesTest {
  private MistakesTest() {}

  static void aWrongElementTypeNameSizeOrNumberNamesTheInput() {
    Model model = Support.model();
    float[] images = Support.images(4);
    Value good = Value.of(images, 4, 4);
    step(model, Code.MISMATCH, "x", "x", Value.of(new double[16], 4, 4));
    step(model, Code.MISMATCH, "x", "x", Value.of(images, 2, 8));
    step(model, Code.NOT_FOUND, "picture", "picture", good);
    Support.refused(
        Code.MISMATCH, "15 elements; the array has 16", () -> Value.of(images, 3, 5));
    Support.refused(Code.MISMATCH, "from 0 on", () -> Value.of(images, -1, -16));
    Support.refused(Code.MISMATCH, "too large", () -> Value.of(images, 1L << 40, 1L << 40));
    Support.refused(Code.MISMATCH, "bool", () -> Value.of(DType.BOOL, new byte[] {7}, 1));
    Support.refused(Code.MISMATCH, "4 bytes", () -> Value.of(DType.FLOAT32, new byte[] {7}, 1));
    Support.refused(Code.LIMIT, "", () -> Value.zeros(DType.FLOAT64, 1L << 40, 1L << 20));
    Support.refused(Code.MISMATCH, "string", () -> Value.zeros(DType.STRING, 1));
    Support.refused(Code.MISMATCH, "FLOAT32, not INT32", good::ints);
    Support.refused(Code.MISMATCH, "string", () -> Value.of(new String[] {"a"}).bytes());
    Support.refused(Code.MISMATCH, "text 0 is null", () -> Value.of(new String[] {null}));
    Support.refused(Code.MISMATCH, "", () -> Value.optional(null).dims());
    Support.refused(Code.MISMATCH, "", () -> Value.sequence(good, null));
    Support.refused(Code.MISMATCH, "not direct",
        () -> Value.wrap(DType.FLOAT32, ByteBuffer.allocate(4), 1));
    Support.refused(Code.MISMATCH, "aligned", () ->
        Value.wrap(DType.FLOAT32, ByteBuffer.allocateDirect(8).position(1).limit(5), 1));
    Support.refused(Code.NOT_FOUND, "nobody", () -> model.state("nobody"));
    Support.refused(Code.MISMATCH, "NUL", () -> model.state("no\0body"));
    Support.refused(Code.MISMATCH, "", () -> model.state(null));
    Support.refused(Code.NOT_FOUND, "algorithm", () -> model.trainStep(9, Support.feeds(4)));
    Support.refused(Code.NOT_FOUND, "none", () -> model.trainStep(Support.feeds(4), "none"));
    Support.refused(Code.MISMATCH, "name is null",
        () -> model.trainStep(Support.feeds(4), (String) null));
    Support.refused(Code.MISMATCH, "", () -> model.trainStep(null));
    Support.refused(Code.MISMATCH, "", () -> model.setParameters(1));
    Support.refused(Code.MISMATCH, "'x'", () -> new Values().set("x", images, 3));
    Support.same(model.steps(), 0L);
  }

  private static void step(Model model, Code code, String message, String name, Value x) {
    Values feeds = new Values().set(name, x).set("label", Support.labels(4));
    Support.refused(code, message, () -> model.trainStep(feeds));
  }

  static void optionsAreCheckedByTheTableOfTheLibrary() {
    byte[] bytes = Support.network();
    for (Options wrong : List.of(Options.of("learning-rat", 1), Options.of("beta1", 0.9),
             Options.of("learning-rate", "fast"))) {
      Options given = wrong.with("loss", "mse");
      Support.refused(Code.INVALID_OPTION, "", () -> Model.prepare(bytes, given, Options.none()));
    }
    Support.refused(Code.INVALID_OPTION, "'epochs' is a null", () -> Options.of("epochs", null));
    Support.refused(Code.INVALID_OPTION, "in turns", () -> Options.of("epochs"));
  }

  static void filesThatAreMissingOrDamagedAreRefused() {
    Support.refused(Code.NOT_FOUND, "none.onnx", () -> Model.load(Path.of("none.onnx")));
    Support.refused(
        Code.INVALID_MODEL, "", () -> Model.load(new byte[] {1, 2, 3}, Options.none()));
    Support.refused(Code.NOT_FOUND, "none.csv",
        () -> Dataset.open(List.of(Path.of("none.csv")), Options.none()));
    Support.refused(
        Code.MISMATCH, "no place", () -> Dataset.open(List.of(), Options.none()));
    Support.refused(Code.MISMATCH, "there are no data", () -> new Finetune().run());
    Support.refused(Code.MISMATCH, "exclude each other",
        () -> new Finetune().data(Support.dataset(6)).data(Path.of("x")).run());
    Support.refused(Code.MISMATCH, "mlp, cnn",
        () -> Ondine.newNetwork("gan", Support.dataset(6), Options.none()));
    Support.refused(Code.MISMATCH, "at least one row",
        () -> Support.dataset(6).batches(0, Batches.Order.ofData()));
  }

  static void whatWasClosedIsRefused() {
    Model model = Support.model();
    Dataset data = Support.dataset(6);
    Values feeds = Support.feeds(6);
    Value value = feeds.get("x");
    Trainer trainer = new Trainer(model, Options.none());
    for (int i = 0; i < 2; ++i) {
      for (Handle one : List.of(trainer, model, data, feeds, value)) one.close();
    }
    Support.refused(
        Code.MISMATCH, "model was freed", () -> model.trainStep(Support.feeds(6)));
    Support.refused(
        Code.MISMATCH, "model was freed", () -> new Trainer(model, Options.none()));
    Support.refused(Code.MISMATCH, "data set was freed", data::rows);
    Support.refused(Code.MISMATCH, "freed", feeds::names);
    Support.refused(Code.MISMATCH, "freed", value::bytes);
    Support.refused(Code.MISMATCH, "freed", value::floats);
    Support.refused(
        Code.MISMATCH, "trainer was freed", () -> trainer.fit(Support.dataset(6)));
    Support.refused(Code.MISMATCH, "", () -> Ondine.evaluate(null, null, Options.none()));
  }

  static void aSecondRunOfATrainerIsRefusedAndAnotherThreadStopsTheFirst() throws Exception {
    Trainer trainer = new Trainer(Support.model(), Options.of("epochs", 1_000_000));
    CountDownLatch started = new CountDownLatch(1);
    trainer.onStep(report -> {
      started.countDown();
      return true;
    });
    String[] reason = new String[1];
    Thread run =
        new Thread(() -> reason[0] = trainer.fit(Support.dataset(60)).get("reason").text());
    run.start();
    started.await();
    Support.refused(Code.MISMATCH, "trainer", () -> trainer.fit(Support.dataset(60)));
    trainer.requestStop();
    run.join();
    Support.same(reason[0], "requested");
  }

  static void valuesAreReadAndClosedByManyThreads() throws Exception {
    for (int i = 0; i < 50; ++i) {
      Value value = Value.of(new float[10_000]);
      Thread[] threads = new Thread[4];
      Throwable[] wrong = new Throwable[4];
      for (int j = 0; j < 4; ++j) {
        int number = j;
        threads[j] = new Thread(() -> {
          try {
            if (number == 3) {
              value.close();
            } else {
              value.floats();
            }
          } catch (OndineException freed) {
            if (freed.code() != Code.MISMATCH) wrong[number] = freed;
          }
        });
        threads[j].start();
      }
      for (int j = 0; j < 4; ++j) {
        threads[j].join();
        Support.check(wrong[j] == null, wrong[j]);
      }
    }
  }

  static void aFlagAndADeadlineEndCalls() {
    Model model = Support.model();
    Values feeds = Support.feeds(30);
    Cancel cancel = new Cancel();
    model.setCancel(cancel);
    cancel.request();
    Support.refused(Code.CANCELLED, "", () -> model.trainStep(feeds));
    cancel.reset();
    model.trainStep(feeds);
    model.setDeadline(Duration.ZERO);
    Support.refused(Code.LIMIT, "", () -> model.trainStep(feeds));
    model.setDeadline(null);
    model.trainStep(feeds);
  }

  private static final class Own extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  private static boolean broken() {
    throw new Own();
  }

  static void whatACallbackThrowsComesOutOfTheCall() {
    Dataset data = Support.dataset(60);
    Support.thrown(Own.class, () -> new Finetune().data(data).onStep(one -> broken()).run());
    Support.thrown(Own.class, () -> new Finetune().data(data).onEpoch(one -> broken()).run());
    Support.thrown(Own.class, () -> new Finetune().data(data).onAssumed(one -> broken()).run());
    Trainer trainer = new Trainer(Support.model(), Options.none());
    trainer.onEpoch(one -> broken());
    Support.thrown(Own.class, () -> trainer.fit(data));
    Own error = Support.thrown(Own.class, () -> first((index, row) -> broken()));
    Support.same(((OndineException) error.getSuppressed()[0]).code(), Code.CANCELLED);
    Support.thrown(StackOverflowError.class, () -> first(MistakesTest::deep));
  }

  private static void deep(long index, Row row) {
    deep(index + 1, row);
  }

  private static Values first(Row.Reader reader) {
    List<Column> columns =
        List.of(new Column("x", DType.FLOAT32, 4), new Column("label", DType.INT64));
    Dataset rows = Dataset.of(columns, 9, reader, Options.none());
    return rows.batches(9, Batches.Order.ofData()).next();
  }

  private static Row kept;

  static void aRowRefusesWhatDoesNotFitAndACheckedExceptionIsTheCause() {
    Support.refused(Code.MISMATCH, "'x' has elements of type FLOAT32, not INT32",
        () -> first((index, row) -> row.set(0, 1, 2, 3, 4)));
    Support.refused(
        Code.MISMATCH, "4 elements, not 1", () -> first((index, row) -> row.set(0, 1F)));
    Support.refused(
        Code.MISMATCH, "no column 7 of 2", () -> first((index, row) -> row.set(7, 1F)));
    first((index, row) -> kept = row);
    Support.refused(Code.MISMATCH, "when its reader returns", () -> kept.set(0, 1F));
    OndineException error = Support.thrown(OndineException.class, () -> first((index, row) -> {
      throw new IOException("the sensor is off");
    }));
    Support.check(error.getMessage().contains("the sensor is off"), error);
    Support.check(error.getCause() instanceof IOException, error);
    Support.refused(Code.MISMATCH, "too large", () -> Dataset.of(
        List.of(new Column("x", DType.FLOAT32, 1L << 40)), 1, (index, row) -> {}, Options.none()));
  }

  static void aMetricThatFailsEndsTheRun() {
    Trainer trainer = new Trainer(Support.model(), Options.of("validation-split", 0.5));
    trainer.addMetric("broken", new Metric() {
      @Override
      public void begin() {}

      @Override
      public void add(Values outputs, Values batch) {
        Support.refused(Code.MISMATCH, "do not change", () -> batch.set("x", new float[] {1}));
        batch.get("nothing");
      }

      @Override
      public double value() {
        return 0;
      }
    });
    Support.refused(Code.NOT_FOUND, "'nothing'", () -> trainer.fit(Support.dataset(20)));
  }

  static void progressEndsACall() {
    Model model = Support.model();
    model.onWarning(warning -> {});
    model.onProgress(fraction -> false);
    Values feeds = new Values().set("x", new float[240_000], 60_000, 4);
    Support.refused(Code.CANCELLED, "", () -> {
      for (int i = 0; i < 50; ++i) model.infer(feeds);
    });
    model.onProgress(null);
    model.infer(feeds);
  }
}

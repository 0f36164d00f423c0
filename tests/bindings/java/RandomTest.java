import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.ondine.*;

/** Calls in an order that a seed decides, with what fits and what does not. */
final class RandomTest {
  private final Random dice = new Random(1);
  private final List<Value> values = new ArrayList<>();
  private final List<Model> models = new ArrayList<>();

  private Value one() {
    return values.isEmpty() ? null : values.get(dice.nextInt(values.size()));
  }

  private Value value() {
    long[] dims = dice.longs(dice.nextInt(4), -1, 5).toArray();
    long count = dice.nextInt(8) == 0 ? 1 : 0;
    long product = 1;
    for (long dim : dims) product *= Math.max(dim, 0);
    int size = (int) (product + count);
    DType dtype = DType.values()[dice.nextInt(DType.values().length)];
    return switch (dice.nextInt(9)) {
      case 0 -> Value.of(new float[size], dims);
      case 1 -> Value.of(new long[size], dims);
      case 2 -> Value.of(java.util.Collections.nCopies(size, "a").toArray(String[]::new), dims);
      case 3 -> Value.of(dtype, new byte[size], dims);
      case 4 -> Value.zeros(dtype, dims);
      case 5 -> Value.sequence(one(), one());
      case 6 -> Value.optional(one());
      case 7 -> Value.map(one(), one());
      default -> Value.sparse(one(), one(), dims);
    };
  }

  private interface Looking {
    Object look(Value value);
  }

  private static final List<Looking> LOOKS = List.of(Value::kind, Value::dims, Value::floats,
      Value::longs, Value::bytes, Value::texts, Value::keys, Value::elements, Value::booleans);

  private void call() {
    Values feeds = Support.feeds(1 + dice.nextInt(20));
    if (dice.nextInt(3) == 0) {
      feeds.set(List.of("x", "label", "w").get(dice.nextInt(3)), one());
    }
    if (models.isEmpty()) models.add(Support.model());
    Model model = models.get(dice.nextInt(models.size()));
    switch (dice.nextInt(14)) {
      case 0 -> model.initialize(dice.nextLong());
      case 1 -> model.infer(feeds);
      case 2 -> model.evalStep(feeds);
      case 3 -> model.setState(feeds);
      case 4 -> model.trainStep(dice.nextInt(3) - 1, feeds, "loss");
      case 5 -> models.add(model.copy());
      case 6 -> model.close();
      case 7 -> new Trainer(model, Options.of("epochs", dice.nextInt(3))).fit(Dataset.of(feeds));
      case 8 -> {
        byte[] bytes = model.files().trainingBytes();
        bytes[dice.nextInt(bytes.length)] ^= (byte) (1 << dice.nextInt(8));
        models.add(Model.load(bytes, Options.none()));
      }
      case 9 -> model.gradients(0, feeds);
      case 10 -> models.remove(model);
      case 11 -> {
        feeds.close();
        model.trainStep(feeds);
      }
      default -> model.trainStep(feeds);
    }
  }

  private boolean tried(Runnable work) {
    try {
      work.run();
      return true;
    } catch (OndineException error) {
      if (error.code() == Code.INTERNAL) throw error;
      return false;
    }
  }

  private void run(long seconds) {
    int calls = 0, errors = 0;
    for (long end = System.nanoTime() + seconds * 1_000_000_000; System.nanoTime() < end; ++calls) {
      tried(() -> {
        Value made = value();
        values.add(made);
        for (Looking one : LOOKS) tried(() -> one.look(made));
      });
      if (!tried(this::call)) ++errors;
      if (values.size() > 20) {
        int at = dice.nextInt(20);
        values.get(at).close();
        values.remove(dice.nextInt(20));
      }
      if (models.size() > 5) models.remove(0);
    }
    System.out.println(calls + " calls, " + errors + " errors");
    Support.check(errors > 0 && errors < calls, errors);
  }

  static void randomCallsGiveResultsOrErrors() {
    new RandomTest().run(Long.getLong("seconds", 2));
  }

  public static void main(String[] arguments) throws Exception {
    Support.runAll(TrainingTest.class, LanguageTest.class, MistakesTest.class, RandomTest.class);
  }
}

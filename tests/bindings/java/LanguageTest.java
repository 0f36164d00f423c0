import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.ondine.*;

/** Texts that a model writes, and adapters. */
final class LanguageTest {
  private LanguageTest() {}

  /**
   * A model of tests/bindings/program/models.cpp. That of bytes.onnx finds the byte that follows the
   * last one most likely.
   */
  private static Path made(String name) {
    return Path.of(System.getProperty("models"), name);
  }

  private static Options greedy(int most) {
    return Options.of("temperature", 0, "max-tokens", most);
  }

  private static Generator generator(Options options, Options text) {
    try (Model model = Model.load(made("bytes.onnx"))) {
      return new Generator(model, options, text);
    }
  }

  private static String text(Report report) {
    return report.get("text").text();
  }

  static void aGeneratorOutlivesItsModelAndThreadsShareIt() throws Exception {
    Generator writer = generator(greedy(5), Options.none());
    String[] there = new String[1];
    Thread thread = new Thread(() -> there[0] = text(writer.generate("k")));
    thread.start();
    Support.same(text(writer.generate("a")), "bcdef");
    thread.join();
    Support.same(there[0], "lmnop");
    Report report = writer.generateAfter(new long[] {97, 98, 99}, null);
    Support.same(text(report), "defgh");
    Support.same(Support.number(report, "prompt_tokens"), 3.0);
    writer.close();
    Support.refused(Code.MISMATCH, "generator", () -> writer.generate("a"));
  }

  static void aTextComesInPartsAndEndsWhereACallbackSays() {
    try (Generator writer = generator(greedy(5), Options.none())) {
      StringBuilder heard = new StringBuilder();
      Report report = writer.generate("a", piece -> heard.append(piece).length() < 3);
      Support.same(heard.toString(), "bcd");
      Support.same(report.get("end").text(), "callback");
      IllegalStateException thrown = Support.thrown(IllegalStateException.class,
          () -> writer.generate("a", piece -> {
            throw new IllegalStateException("enough");
          }));
      Support.same(thrown.getMessage(), "enough");
      Support.same(text(writer.generate("a")), "bcdef");
    }
  }

  static void textsBecomeTokensAndTokensTexts() {
    try (Generator writer = generator(greedy(1), Options.none())) {
      Support.same(Arrays.toString(writer.encode("abc")), "[97, 98, 99]");
      Support.same(writer.decode(new long[] {97, 98, 99}), "abc");
      Support.same(writer.decode(writer.encode("na\u00efve")), "na\u00efve");
      Support.same(writer.encode("").length, 0);
    }
  }

  static void aConversationGoesThroughTheChatTemplate() {
    List<Generator.Message> messages =
        List.of(new Generator.Message("system", "x"), new Generator.Message("user", "a"));
    Generator chat = generator(greedy(2), Options.of("chat-template", "chatml"));
    Report first = chat.answer(messages).get("tokens").list().get(0);
    Support.same(Support.number(first), 11.0); // after the end of a line
    Generator plain = generator(greedy(2), Options.none());
    Support.refused(Code.MISMATCH, "no chat template", () -> plain.answer(messages));
    Support.refused(Code.MISMATCH, "role",
        () -> chat.answer(List.of(new Generator.Message(null, "a"))));
  }

  static void optionsThatGenerateDoesNotTakeAreRefused() {
    Support.refused(Code.INVALID_OPTION, "top-k",
        () -> generator(Options.of("temperature", 0, "top-k", 3), Options.none()));
    Support.refused(Code.INVALID_OPTION, "columns",
        () -> generator(greedy(5), Options.of("columns", "a")));
    Support.refused(Code.NOT_FOUND, "none", () -> Generator.importHuggingFace(
        Support.path("none"), Support.path("none.onnx"), Options.none()));
  }

  private static float[] logits(Model model, Values feeds) {
    return model.infer(feeds, "logits").get("logits").floats();
  }

  private static boolean near(float[] a, float[] b) {
    for (int i = 0; i < a.length; ++i) {
      if (Math.abs(a[i] - b[i]) > 1e-5) return false;
    }
    return true;
  }

  /** Writes the adapters of net.onnx after some steps: the logits that they make. */
  private static float[] writeAdapters(Path folder, Values given) {
    Model model = Model.prepare(made("net.onnx"), Options.of("loss", "softmax-cross-entropy", "lora",
        1, "lora-targets", "w", "learning-rate", 0.5));
    Support.same(model.adapters().list().size(), 1);
    Values batch =
        new Values().set("image", Support.images(12), 12, 4).set("label", Support.labels(12));
    for (int i = 0; i < 5; ++i) model.trainStep(batch).close();
    model.adapters().save(folder);
    float[] tuned = logits(model, given);
    model.initialize(1);
    Support.check(!near(logits(model, given), tuned), "the adapters are still there");
    model.adapters().load(folder);
    Support.check(Arrays.equals(logits(model, given), tuned), "the adapters are others");
    Support.refused(
        Code.NOT_FOUND, "none", () -> model.adapters().load(folder.resolve("none")));
    return tuned;
  }

  static void adaptersAreWrittenReadAndPutBesideTheWeightsOfAModel() throws Exception {
    Path folder = Support.path("adapters");
    Values given = new Values().set("image", Support.images(2), 2, 4);
    float[] tuned = writeAdapters(folder, given);
    Model base = Model.load(made("net.onnx"));
    Support.same(base.adapters().list().size(), 0);
    Support.refused(Code.MISMATCH, "adapters", () -> base.adapters().save(Support.path("none")));
    Model both = base.adapters().beside(List.of(new Adapters.Folder(folder, 1, "tuned"),
        new Adapters.Folder(folder, 0, "other")), Options.none());
    float[] untuned = logits(base, given);
    base.close(); // what both share stays
    Support.check(near(logits(both, given), tuned), "the adapters count once");
    Support.check(!near(untuned, tuned), "the adapters do something");
    given.set("adapter.tuned", Value.scalar(0.0F));
    Support.check(Arrays.equals(logits(both, given), untuned), "the adapters count no more");
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path one : files.sorted(Comparator.reverseOrder()).toList()) Files.delete(one);
    }
  }
}

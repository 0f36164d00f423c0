package org.ondine;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;

/** Writes texts by a language model, which it keeps. Any number of threads may use it at once. */
public final class Generator extends Handle {
  /** A message of a conversation. {@code role}: system, user or assistant. */
  public record Message(String role, String content) {}

  /**
   * {@code options}: group generate. {@code text}: the options tokenizer and chat-template of group
   * data; what they do not say is as the model was trained.
   */
  public Generator(Model model, Options options, Options text) {
    super(make(model, options, text), made -> Library.CALLS.ondine_generator_free(made));
  }

  public Generator(Model model, Options options) {
    this(model, options, Options.none());
  }

  private static long make(Model model, Options options, Options text) {
    try (Scope scope = new Scope()) {
      long list = scope.options(options), others = scope.options(text);
      return Values.made(
          (calls, out) -> calls.ondine_generator_new(addressOf(model), list, others, out), model);
    }
  }

  private interface Writing {
    long run(Calls calls, long function, long user, long out);
  }

  private Report write(Predicate<String> tell, Writing call) {
    if (tell == null) return getReport((calls, out) -> call.run(calls, 0, 0, out));
    long user = Callbacks.keep(tell);
    try {
      long function = Callbacks.function(Callbacks.PIECE);
      return getReport((calls, out) -> call.run(calls, function, user, out));
    } finally {
      Callbacks.forget(user);
    }
  }

  /**
   * The text after a prompt, in the generate report. {@code tell}, which may be null, gets each part
   * of the text; false ends it.
   */
  public Report generate(String prompt, Predicate<String> tell) {
    try (Scope scope = new Scope()) {
      byte[] bytes = prompt.getBytes(StandardCharsets.UTF_8);
      long data = scope.bytes(bytes);
      return write(tell, (calls, function, user, out) ->
          calls.ondine_generator_generate(address, data, bytes.length, function, user, out));
    }
  }

  public Report generate(String prompt) {
    return generate(prompt, null);
  }

  /** The same after token ids. */
  public Report generateAfter(long[] tokens, Predicate<String> tell) {
    try (Scope scope = new Scope()) {
      long ids = scope.words(tokens);
      return write(tell, (calls, function, user, out) ->
          calls.ondine_generator_generate_after(address, ids, tokens.length, function, user, out));
    }
  }

  /** The assistant's next message, by the chat template. */
  public Report answer(List<Message> messages, Predicate<String> tell) {
    try (Scope scope = new Scope()) {
      long[] texts = new long[2 * messages.size()];
      for (int i = 0; i < messages.size(); ++i) {
        texts[2 * i] = scope.text(messages.get(i).role());
        texts[2 * i + 1] = scope.text(messages.get(i).content());
      }
      long list = scope.words(texts);
      return write(tell, (calls, function, user, out) ->
          calls.ondine_generator_answer(address, list, messages.size(), function, user, out));
    }
  }

  public Report answer(List<Message> messages) {
    return answer(messages, null);
  }

  /** The ids of a text's tokens. */
  public long[] encode(String text) {
    try (Scope scope = new Scope()) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      long data = scope.bytes(bytes);
      long made = get((calls, out) ->
          calls.ondine_generator_encode(address, data, bytes.length, out));
      try (Value tokens = new Value(made)) {
        return tokens.longs();
      }
    }
  }

  /** The text of tokens; what is no UTF-8 becomes U+FFFD. */
  public String decode(long[] tokens) {
    try (Scope scope = new Scope()) {
      long ids = scope.words(tokens), out = scope.words(0, 0);
      run(calls -> calls.ondine_generator_decode(address, ids, tokens.length, out, out + 8));
      return new String(ModelFiles.take(out), StandardCharsets.UTF_8);
    }
  }

  /**
   * Writes the model of a folder of Hugging Face as an .onnx file, which is replaced in one step: the
   * import report. {@code options}: group import.
   */
  public static Report importHuggingFace(Path folder, Path output, Options options) {
    try (Scope scope = new Scope()) {
      long from = scope.path(folder), to = scope.path(output), list = scope.options(options);
      return new Report(Library.takeText(Values.made(
          (calls, out) -> calls.ondine_import_hugging_face(from, to, list, out))));
    }
  }
}

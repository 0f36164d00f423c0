package org.ondine;

import java.util.ArrayList;
import java.util.List;

/** An error of the library. Its message is the reason and a line for each enclosing object. */
public final class OndineException extends RuntimeException {
  private static final long serialVersionUID = 1;
  private final Code code;
  private final String reason;
  private final String[] context;

  OndineException(Code code, String message) {
    this(code, message, message, List.of(), null);
  }

  private OndineException(
      Code code, String message, String reason, List<String> context, Throwable cause) {
    super(message, cause);
    this.code = code;
    this.reason = reason;
    this.context = context.toArray(String[]::new);
  }

  public Code code() {
    return code;
  }

  /** The reason alone. */
  public String reason() {
    return reason;
  }

  /** The enclosing objects, innermost first. */
  public List<String> context() {
    return List.of(context);
  }

  private OndineException because(Throwable cause) {
    return new OndineException(code, getMessage() + "\n" + cause, reason, context(), cause);
  }

  /** With one enclosing object more. */
  OndineException about(String name) {
    String line = "'" + name + "'";
    List<String> more = new ArrayList<>(context());
    more.add(line);
    return new OndineException(code, getMessage() + "\n" + line, reason, more, getCause());
  }

  static OndineException mismatch(String message) {
    return new OndineException(Code.MISMATCH, message);
  }

  private static OndineException take(long error) {
    Calls calls = Library.CALLS;
    try {
      List<String> context = new ArrayList<>();
      for (String line; (line = Library.text(calls.ondine_error_context(error, context.size()))) != null;) {
        context.add(line);
      }
      return new OndineException(Code.of(calls.ondine_error_code(error)),
          Library.text(calls.ondine_error_message(error)),
          Library.text(calls.ondine_error_reason(error)), List.copyOf(context), null);
    } finally {
      calls.ondine_error_free(error);
    }
  }

  /** The end of a call: throws what a callback threw, or the error of the library. */
  static void check(long error) {
    OndineException made = error == 0 ? null : take(error);
    Throwable thrown = Callbacks.takeThrown(made == null ? "" : made.reason);
    if (thrown == null && made == null) return;
    if (thrown == null) throw made;
    boolean unchecked = thrown instanceof RuntimeException || thrown instanceof Error;
    if (unchecked && made != null) thrown.addSuppressed(made);
    if (thrown instanceof RuntimeException own) throw own;
    if (thrown instanceof Error own) throw own;
    throw (made == null ? new OndineException(Code.CANCELLED, "a callback failed") : made)
        .because(thrown);
  }
}

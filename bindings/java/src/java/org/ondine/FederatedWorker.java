package org.ondine;

import java.time.Duration;
import java.util.function.BooleanSupplier;

/** What a node of a federation does with a message, for callers that have a connection. */
public final class FederatedWorker extends Handle {
  private long waiting;

  /**
   * Holds copies of the model and the data. {@code options}: group train; {@code federation}: group
   * federate, without the options of the connection.
   */
  public FederatedWorker(Model model, Dataset dataset, Options options, Options federation) {
    super(make(model, dataset, options, federation),
        made -> Library.CALLS.ondine_federated_worker_free(made));
  }

  private static long make(Model model, Dataset dataset, Options options, Options federation) {
    try (Scope scope = new Scope()) {
      long list = scope.options(options), others = scope.options(federation);
      return Values.made((calls, out) -> calls.ondine_federated_worker_new(
          addressOf(model), addressOf(dataset), list, others, out), model, dataset);
    }
  }

  /** Is asked after every step; false ends what waits. Null for none. */
  public synchronized void onWait(BooleanSupplier ask) {
    long user = ask == null ? 0 : keep(ask);
    long function = ask == null ? 0 : Callbacks.function(Callbacks.WAITING);
    try {
      run(calls -> calls.ondine_federated_worker_on_wait(address, function, user));
    } catch (OndineException refused) {
      forget(user);
      throw refused;
    }
    forget(waiting);
    waiting = user;
  }

  /** The arrays of a training, else null, and the federated answer. */
  public record Answer(Values trained, Report report) {}

  /**
   * {@code type}: "train", "evaluate" or "query"; {@code arrays}: the weights that a training step
   * updates, null for a query; {@code settings}: a JSON object or null; {@code within}: that the
   * answer may take, null for any time.
   */
  public Answer answer(String type, Values arrays, String settings, Duration within) {
    try (Scope scope = new Scope()) {
      long name = scope.text(type), given = scope.text(settings), out = scope.words(0, 0);
      double seconds = within == null ? -1 : within.toNanos() / 1e9;
      run(calls -> calls.ondine_federated_worker_answer(
          address, name, addressOf(arrays), given, seconds, out, out + 8), arrays);
      return new Answer(Values.owned(Scope.at(out)),
          new Report(Library.takeText(Scope.at(out + 8))));
    }
  }
}

package org.ondine;

/** Asks calls to end: those of the models that watch it ({@link Model#setCancel}). */
public final class Cancel extends Handle {
  public Cancel() {
    super(make(), address -> Library.CALLS.ondine_cancel_free(address));
  }

  private static long make() {
    return Values.made((calls, out) -> calls.ondine_cancel_new(out));
  }

  /** Calls that watch the flag end with {@link Code#CANCELLED}, until it is reset. */
  public void request() {
    run(calls -> calls.ondine_cancel_request(address));
  }

  public void reset() {
    run(calls -> calls.ondine_cancel_reset(address));
  }
}

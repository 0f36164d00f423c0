package org.ondine;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.LongConsumer;
import java.util.function.ToLongFunction;

/**
 * An object of the library. {@link #close} frees it, else it is freed some time after nothing refers
 * to it. What was closed is refused by the library, with {@link Code#MISMATCH}.
 */
public abstract class Handle implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  /** Must not refer to the object. */
  private record Freeing(long address, LongConsumer free, List<Long> users) implements Runnable {
    @Override
    public void run() {
      free.accept(address);
      users.forEach(Callbacks::forget);
    }
  }

  final long address;
  private final List<Long> users = new CopyOnWriteArrayList<>();
  private final Cleaner.Cleanable cleanable;

  Handle(long address, LongConsumer free) {
    this.address = address;
    cleanable = free == null ? () -> {} : CLEANER.register(this, new Freeing(address, free, users));
  }

  @Override
  public void close() {
    cleanable.clean();
  }

  /** Keeps a callback as long as this. */
  final long keep(Object callback) {
    long user = Callbacks.keep(callback);
    users.add(user);
    return user;
  }

  /** Keeps a callback that is known already. */
  final void adopt(long user) {
    if (user != 0) users.add(user);
  }

  final void forget(long user) {
    if (users.remove((Long) user)) Callbacks.forget(user);
  }

  static long addressOf(Handle handle) {
    return handle == null ? 0 : handle.address;
  }

  /** A call with this and other objects, which stay until it is done. */
  final void run(ToLongFunction<Calls> call, Object... others) {
    call(call, this, others); // the array keeps them
  }

  static void call(ToLongFunction<Calls> call, Object... kept) {
    try {
      OndineException.check(call.applyAsLong(Library.CALLS));
    } finally {
      Reference.reachabilityFence(kept);
    }
  }

  /** A call that writes 8 bytes to the place that it is given. */
  interface Getting {
    long run(Calls calls, long out);
  }

  final long get(Getting call, Object... others) {
    try (Scope scope = new Scope()) {
      long out = scope.out();
      run(calls -> call.run(calls, out), others);
      return Scope.at(out);
    }
  }

  final String getText(Getting call, Object... others) {
    try (Scope scope = new Scope()) {
      long out = scope.out();
      try {
        run(calls -> call.run(calls, out), others);
        return Library.text(Scope.at(out));
      } finally { // also where a callback threw
        Library.CALLS.ondine_free(Scope.at(out));
      }
    }
  }

  final Report getReport(Getting call, Object... others) {
    return new Report(getText(call, others));
  }
}

package org.ondine;

import java.util.Iterator;
import java.util.NoSuchElementException;

/** Goes once over batches. */
public final class Batches extends Handle implements Iterable<Values> {
  /**
   * The order of rows, which follows from seed and epoch, or is that of the data, and what batches
   * are for: feeds for the training algorithm of a model, with -1 for {@link Model#infer}, or with
   * null the columns as they are stored.
   */
  public record Order(long seed, long epoch, boolean shuffle, Model model, int algorithm) {
    public static Order of(long seed, long epoch) {
      return new Order(seed, epoch, true, null, 0);
    }

    /** Without shuffling. */
    public static Order ofData() {
      return new Order(0, 0, false, null, 0);
    }

    public Order forModel(Model taker, int number) {
      return new Order(seed, epoch, shuffle, taker, number);
    }
  }

  Batches(long address) {
    super(address, made -> Library.CALLS.ondine_batches_free(made));
  }

  /** Batches of a whole epoch. */
  public long count() {
    return get((calls, out) -> calls.ondine_batches_count(address, out));
  }

  /** The next batch, or null after the last one. */
  public Values next() {
    return Values.owned(get((calls, out) -> calls.ondine_batches_next(address, out)));
  }

  @Override
  public Iterator<Values> iterator() {
    return new Iterator<>() {
      private Values following = Batches.this.next();

      @Override
      public boolean hasNext() {
        return following != null;
      }

      @Override
      public Values next() {
        if (following == null) throw new NoSuchElementException();
        Values made = following;
        following = Batches.this.next();
        return made;
      }
    };
  }
}

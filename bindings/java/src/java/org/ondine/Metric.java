package org.ondine;

/**
 * A metric of validation data that the caller computes. Early stopping and schedules know it as
 * "val_NAME". What it throws comes out of the call.
 */
public interface Metric {
  /** Before each evaluation. */
  void begin();

  /** The outputs and the feeds of every batch, which are valid until this returns. */
  void add(Values outputs, Values batch) throws Exception;

  double value() throws Exception;
}

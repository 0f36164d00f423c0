package org.ondine;

import java.nio.ByteBuffer;

/** How Java reaches the library and its memory. Addresses are numbers. */
interface Backend {
  Calls calls();

  /** Memory of zeros, or 0. */
  long allocate(long size);

  void release(long address);

  /** Bytes up to a zero. */
  long length(long text);

  ByteBuffer view(long address, int size);

  /** Of the first byte of a direct buffer. */
  long address(ByteBuffer buffer);

  /** The function of C that calls a method of Callbacks: they are in the order of Callbacks.NAMES. */
  long callback(int index);
}

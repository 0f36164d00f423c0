package org.ondine;

import java.nio.ByteBuffer;
import java.nio.file.Path;

final class JniBackend implements Backend {
  private final Calls calls = new JniCalls();

  JniBackend(Path folder) {
    System.load(folder.resolve(Library.JNI).toString());
    start(Callbacks.class);
  }

  @Override
  public Calls calls() {
    return calls;
  }

  private static native void start(Class<?> callbacks);

  @Override
  public native long allocate(long size);

  @Override
  public native void release(long address);

  @Override
  public native long length(long text);

  @Override
  public native ByteBuffer view(long address, int size);

  @Override
  public native long address(ByteBuffer buffer);

  @Override
  public native long callback(int index);
}

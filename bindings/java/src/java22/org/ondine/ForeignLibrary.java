package org.ondine;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;

/** Functions and memory by java.lang.foreign. The library is loaded before. */
abstract class ForeignLibrary implements Backend {
  private static final Linker LINKER = Linker.nativeLinker();
  private static final SymbolLookup SYMBOLS = SymbolLookup.loaderLookup();

  private final MethodHandle calloc =
      system("calloc", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG));
  private final MethodHandle free = system("free", FunctionDescriptor.ofVoid(JAVA_LONG));
  private final MethodHandle strlen =
      system("strlen", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
  private final long[] stubs = new long[Callbacks.NAMES.size()];

  ForeignLibrary() {
    for (int i = 0; i < stubs.length; ++i) stubs[i] = stub(Callbacks.NAMES.get(i));
  }

  static MethodHandle find(String name, FunctionDescriptor type) {
    return LINKER.downcallHandle(SYMBOLS.find(name).orElseThrow(), type);
  }

  private static MethodHandle system(String name, FunctionDescriptor type) {
    return LINKER.downcallHandle(LINKER.defaultLookup().find(name).orElseThrow(), type);
  }

  private static MemoryLayout layoutOf(Class<?> type) {
    if (type == int.class) return JAVA_INT;
    return type == double.class ? JAVA_DOUBLE : JAVA_LONG;
  }

  private static long stub(String name) {
    try {
      MethodType type = Callbacks.typeOf(name);
      MethodHandle method = MethodHandles.lookup().findStatic(Callbacks.class, name, type);
      MemoryLayout[] given = new MemoryLayout[type.parameterCount()];
      for (int i = 0; i < given.length; ++i) given[i] = layoutOf(type.parameterType(i));
      FunctionDescriptor described = type.returnType() == void.class
          ? FunctionDescriptor.ofVoid(given)
          : FunctionDescriptor.of(layoutOf(type.returnType()), given);
      return LINKER.upcallStub(method, described, Arena.global()).address();
    } catch (ReflectiveOperationException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  static RuntimeException failed(Throwable thrown) {
    if (thrown instanceof Error error) throw error;
    return thrown instanceof RuntimeException own ? own : new IllegalStateException(thrown);
  }

  @Override
  public Calls calls() {
    return (Calls) this;
  }

  @Override
  public long allocate(long size) {
    try {
      return (long) calloc.invokeExact(size, 1L);
    } catch (Throwable thrown) {
      throw failed(thrown);
    }
  }

  @Override
  public void release(long address) {
    try {
      free.invokeExact(address);
    } catch (Throwable thrown) {
      throw failed(thrown);
    }
  }

  @Override
  public long length(long text) {
    try {
      return (long) strlen.invokeExact(text);
    } catch (Throwable thrown) {
      throw failed(thrown);
    }
  }

  @Override
  public ByteBuffer view(long address, int size) {
    return MemorySegment.ofAddress(address).reinterpret(size).asByteBuffer();
  }

  @Override
  public long address(ByteBuffer buffer) {
    return MemorySegment.ofBuffer(buffer).address();
  }

  @Override
  public long callback(int index) {
    return stubs[index];
  }
}

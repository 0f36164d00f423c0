package org.ondine;

import java.nio.ByteBuffer;
import java.nio.file.Path;

/** What a model writes and reads: {@link Model#files}. */
public final class ModelFiles {
  private final Model model;

  ModelFiles(Model model) {
    this.model = model;
  }

  private interface Named {
    long run(Calls calls, long name);
  }

  private void run(Path file, Named call) {
    try (Scope scope = new Scope()) {
      long name = scope.path(file);
      model.run(calls -> call.run(calls, name));
    }
  }

  public void saveCheckpoint(Path file) {
    run(file, (calls, name) -> calls.ondine_model_save_checkpoint(model.address, name));
  }

  /** The restore report. */
  public Report restoreCheckpoint(Path file) {
    try (Scope scope = new Scope()) {
      long name = scope.path(file);
      return model.getReport((calls, out) ->
          calls.ondine_model_restore_checkpoint(model.address, name, out));
    }
  }

  /** Writes the tuned model. {@code options}: group export. */
  public void exportInference(Path file, Options options) {
    try (Scope scope = new Scope()) {
      long list = scope.options(options);
      run(file, (calls, name) ->
          calls.ondine_model_export_inference(model.address, name, list));
    }
  }

  public void exportInference(Path file) {
    exportInference(file, Options.none());
  }

  /** Writes the model with its training information. {@code options}: group export. */
  public void exportTraining(Path file, Options options) {
    try (Scope scope = new Scope()) {
      long list = scope.options(options);
      run(file, (calls, name) -> calls.ondine_model_export_training(model.address, name, list));
    }
  }

  /** The bytes of the tuned model. */
  public byte[] inferenceBytes() {
    return bytes((calls, out) ->
        calls.ondine_model_export_inference_bytes(model.address, out, out + 8));
  }

  /** The bytes of the model with its training information. */
  public byte[] trainingBytes() {
    return bytes((calls, out) ->
        calls.ondine_model_export_training_bytes(model.address, out, out + 8));
  }

  private byte[] bytes(Handle.Getting call) {
    try (Scope scope = new Scope()) {
      long out = scope.words(0, 0);
      model.run(calls -> call.run(calls, out));
      return take(out);
    }
  }

  /** Copies and frees bytes by their address and size. */
  static byte[] take(long out) {
    ByteBuffer both = Library.view(out, 16);
    try {
      byte[] made = new byte[Math.toIntExact(both.getLong(8))];
      if (made.length > 0) Library.view(both.getLong(0), made.length).get(made);
      return made;
    } catch (ArithmeticException large) {
      throw new OndineException(Code.LIMIT, both.getLong(8) + " bytes do not fit into an array");
    } finally {
      Library.CALLS.ondine_free(both.getLong(0));
    }
  }

  /** A .safetensors file. {@code all}: every state variable, not only weights. */
  public void saveWeights(Path file, boolean all) {
    run(file, (calls, name) ->
        calls.ondine_model_save_weights(model.address, name, all ? 1 : 0));
  }

  /** The weight report. */
  public Report loadWeights(Path file, boolean all) {
    try (Scope scope = new Scope()) {
      long name = scope.path(file);
      return model.getReport((calls, out) ->
          calls.ondine_model_load_weights(model.address, name, all ? 1 : 0, out));
    }
  }
}

package org.ondine;

import java.nio.file.Path;
import java.util.List;

/** Adapters of a model: {@link Model#adapters}. Folders are in the layout of PEFT. */
public final class Adapters {
  /**
   * Adapters in a folder. {@code weight}: how often they count, 1 for once. {@code name} null: the
   * last part of the path.
   */
  public record Folder(Path path, double weight, String name) {}

  private final Model model;

  Adapters(Model model) {
    this.model = model;
  }

  /** Those that the options lora, dora, ... of prepare gave the model; none for others. */
  public List<Report> list() {
    return model.getReport((calls, out) -> calls.ondine_model_adapters(model.address, out)).list();
  }

  public void save(Path folder) {
    try (Scope scope = new Scope()) {
      long name = scope.path(folder);
      model.run(calls -> calls.ondine_model_save_adapters(model.address, name));
    }
  }

  /** Assigns adapters: all or, with an error, none. */
  public void load(Path folder) {
    try (Scope scope = new Scope()) {
      long name = scope.path(folder);
      model.run(calls -> calls.ondine_model_load_adapters(model.address, name));
    }
  }

  /**
   * A model for inference with adapters of several folders beside the weights of this one, which
   * both share. The input "adapter.NAME" weighs each from call to call. {@code load}: group load.
   */
  public Model beside(List<Folder> folders, Options load) {
    try (Scope scope = new Scope()) {
      long[] words = new long[3 * folders.size()];
      for (int i = 0; i < folders.size(); ++i) {
        Folder one = folders.get(i);
        words[3 * i] = scope.path(one.path());
        words[3 * i + 1] = Double.doubleToRawLongBits(one.weight());
        words[3 * i + 2] = scope.text(one.name());
      }
      long list = scope.words(words), loading = scope.options(load);
      return new Model(model.get((calls, out) -> calls.ondine_model_with_adapters(
          model.address, list, folders.size(), loading, out)), null);
    }
  }
}

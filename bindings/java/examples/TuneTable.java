import java.nio.file.Path;
import java.util.List;
import org.ondine.DataUse;
import org.ondine.Dataset;
import org.ondine.Finetune;
import org.ondine.Model;
import org.ondine.Ondine;
import org.ondine.OndineException;
import org.ondine.Options;

/**
 * Fine-tunes a network for a table and exports it: TuneTable TABLE OUTPUT [MODEL]. Without a model it
 * makes a new one.
 */
public final class TuneTable {
  private TuneTable() {}

  private static void run(Path table, Path output, Path model) {
    var tuning = new Finetune()
        .model(model)
        .data(table)
        .output(output)
        .options(Options.of("epochs", 20))
        .onAssumed(line -> System.out.println("assumed: " + line))
        .onEpoch(report -> {
          System.out.println(
              "epoch " + report.get("epoch") + ": loss " + report.get("training", "loss"));
          return true;
        });
    try (var tuned = tuning.run()) {
      System.out.println(tuned.report().get("evaluation", "metrics"));
    }
    try (Model exported = Model.load(output);
         Dataset rows =
             Dataset.open(List.of(table), exported, DataUse.EVALUATION, Options.none())) {
      var report = Ondine.evaluate(exported, rows, Options.none());
      System.out.println(output + ": accuracy " + report.get("metrics", "accuracy"));
    }
  }

  public static void main(String[] arguments) {
    if (arguments.length < 2 || arguments.length > 3) {
      System.err.println("TuneTable TABLE OUTPUT [MODEL]");
      System.exit(2);
    }
    try {
      run(Path.of(arguments[0]), Path.of(arguments[1]),
          arguments.length > 2 ? Path.of(arguments[2]) : null);
    } catch (OndineException error) {
      System.err.println(error.getMessage());
      System.exit(1);
    }
  }
}

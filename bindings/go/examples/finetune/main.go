// Fine-tunes a network for a table and exports it: finetune TABLE OUTPUT [MODEL]. Without a model it
// makes a new one.
package main

import (
	"fmt"
	"os"

	"ondine"
)

func run(table, output, model string) error {
	tuning := ondine.Finetune{
		File:      model,
		Places:    []string{table},
		Output:    output,
		Options:   ondine.Options{"epochs": 20},
		OnAssumed: func(line string) { fmt.Println("assumed:", line) },
		OnEpoch: func(report ondine.Report) error {
			fmt.Printf("epoch %v: loss %v\n", report.Get("epoch"), report.Get("training", "loss"))
			return nil
		},
	}
	tuned, report, err := tuning.Run()
	if err != nil {
		return err
	}
	defer tuned.Close()
	fmt.Println(report.Get("evaluation", "metrics"))

	exported, err := ondine.Load(output, nil)
	if err != nil {
		return err
	}
	defer exported.Close()
	rows, err := ondine.OpenFor(exported, ondine.ForEvaluation, nil, table)
	if err != nil {
		return err
	}
	defer rows.Close()
	metrics, err := ondine.Evaluate(exported, rows, nil)
	if err != nil {
		return err
	}
	fmt.Printf("%s: accuracy %v\n", output, metrics.Get("metrics", "accuracy"))
	return nil
}

func main() {
	arguments := append(os.Args[1:], "")
	if len(arguments) < 3 || len(arguments) > 4 {
		fmt.Fprintln(os.Stderr, "finetune TABLE OUTPUT [MODEL]")
		os.Exit(2)
	}
	if err := run(arguments[0], arguments[1], arguments[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

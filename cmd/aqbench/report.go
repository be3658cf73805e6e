package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/aqueduct-go/aqueduct/bench/page"
	"github.com/aqueduct-go/aqueduct/internal/cli"
)

// reportCommand makes the command of the verb report.
func reportCommand(cmd *cobra.Command) {
	var output, title string
	cmd.Use = "report FILE... [option...]"
	cmd.Long = `Makes one HTML file of what other verbs have written with --format json: figures, crossovers
between conduits, tables, and the conditions of measurement. A browser shows it without a network.
- is standard input.`
	cmd.ValidArgsFunction = nil // files
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&output, "output", "o", "report.html", about["output"])
	f.StringVar(&title, "title", "Aqueduct: conduits compared", about["title"])
	cli.Unknown(cmd, "title")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkEmpty(f); err != nil {
			return cli.Misused(err)
		}
		return runReport(args, output, title, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
}

// runReport is the verb report. The file is written when all lines have been read and found good.
func runReport(files []string, output, title string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(files) == 0 {
		return cli.Misused(fmt.Errorf("which files? Give those with the lines of --format json, or - for standard input"))
	}
	if output != standard {
		if err := writable(output); err != nil {
			return cli.Misused(err)
		}
	}
	var lines page.Lines
	for _, name := range files {
		if err := readLines(&lines, name, stdin); err != nil {
			return err
		}
	}
	if lines.Empty() {
		return fmt.Errorf("nothing to report: no line in %v; write them with --format json", files)
	}
	var html bytes.Buffer
	if err := lines.Write(&html, title); err != nil {
		return err
	}
	if output == standard {
		_, err := stdout.Write(html.Bytes())
		return err
	}
	if err := os.WriteFile(output, html.Bytes(), 0o666); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "aqbench report: wrote %s\n", output)
	return nil
}

func readLines(lines *page.Lines, name string, stdin io.Reader) error {
	if name == standard {
		return lines.Read(stdin, "standard input")
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return lines.Read(file, name)
}

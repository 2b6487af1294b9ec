// Command wprof-perfetto makes a trace for ui.perfetto.dev of a capture.
package main

import (
	"wprof/internal/cli"
	"wprof/internal/perfetto"
)

func main() {
	cli.Main(cli.Tool{
		Name:      "wprof-perfetto",
		Summary:   "make a trace for ui.perfetto.dev",
		ArgsUsage: "[FILE...]",
		Description: "Reads a stream and writes a trace in Perfetto's format, with CPU tracks, thread states and wakeup arrows. " +
			"Open it in ui.perfetto.dev: it is read by the browser and not sent anywhere. Several files are taken as one stream.",
		Groups: []cli.Group{
			{Title: "Output", Flags: []cli.Flag{
				{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to FILE instead of standard output."},
			}},
		},
		Examples: []cli.Example{
			{Command: "sudo wprof-record -d5s | wprof-perfetto > trace.pb", Text: "Look at the next five seconds of this machine."},
			{Command: "wprof-perfetto host.wprof -o trace.pb", Text: "Convert a capture."},
			{Command: "wprof-filter -n postgres host.wprof | wprof-perfetto -o trace.pb", Text: "Only the processes of one name."},
			{Command: "wprof-filter --start 2s --end 3s host.wprof | wprof-perfetto -o trace.pb", Text: "A second of a capture that is too large for the browser."},
		},
		Run: perfetto.Run,
	})
}

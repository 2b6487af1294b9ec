// Command wprof runs the tools by short names: "wprof record" is wprof-record.
package main

import "wprof/internal/cli"

func main() {
	cli.Main(cli.Tool{
		Name:     "wprof",
		Summary:  "record what every thread of a Linux machine did, and look at it",
		Commands: cli.Commands(),
		Introduction: `wprof records what every thread of a Linux machine did, and shows it.

First record, as root:
    sudo wprof record -d5s -o host.wprof        # this machine, for five seconds
    sudo wprof record -o make.wprof -- make -j8 # a command and its children
    sudo wprof record -d10s -p 1234 -o app.wprof # a process

Then look at it, as any user, on any machine:
    wprof report host.wprof                     # where the time went, as text
    wprof perfetto --open host.wprof            # a timeline in the browser
    wprof flame --open host.wprof               # a flame graph in the browser

"wprof help" lists the commands, "wprof help record" the flags of one.
`,
		Description: "Runs the tool of the given name, with the arguments after it: wprof record is wprof-record. The tool is the one beside wprof, or else " +
			"the first on PATH. It replaces the process of wprof, so that signals, standard input and output, and the exit status are the tool's own.",
		Examples: []cli.Example{
			{Command: "sudo wprof record -d5s -o host.wprof", Text: "Five seconds of this machine."},
			{Command: "wprof report host.wprof", Text: "Where the time went."},
			{Command: "sudo wprof record -d5s | wprof filter -p 1234 | wprof perfetto > t.pb", Text: "One process as a timeline."},
			{Command: "wprof help flame", Text: "The flags of wprof-flame."},
		},
	})
}

package filter

import (
	"errors"
	"fmt"
	"strings"

	"wprof/internal/cli"
	"wprof/internal/proc"
)

// EventFlags are the flags that select events by other things than their threads. The arguments are those of [RangeFlags].
func EventFlags(start, end string) cli.Group {
	names, schema := KindNames()
	kinds := func(name, short, usage string) cli.Flag {
		return cli.Flag{Name: name, Aliases: []string{short}, Kind: cli.List, Value: "LIST", Usage: usage, Choices: names, Synonyms: schema, CommaList: true, Other: isTypeWord, Hint: typeHint}
	}
	return cli.Group{Title: "Events to keep or to drop", Flags: append(RangeFlags(start, end),
		cli.Flag{Name: "cpu", Kind: cli.List, Value: "LIST", Check: checkCPUs, Usage: "Keep events of these CPUs, such as 0-3,7."},
		kinds("kind", "k", "Keep these kinds of events, and event types: their names or groups, with * and ?, such as softirq, irq or tcp:*. States are kept with switch, losses always."),
		kinds("no-kind", "K", "Drop these kinds of events, and event types."),
		cli.Flag{Name: "no-self", Usage: "Drop the recorder's own threads."},
	)}
}

// Conditions returns all flags that select threads and events.
func Conditions() []cli.Group { return []cli.Group{Flags(), EventFlags("", "")} }

// RangeFlags returns the flags for the ends of a time range. The arguments complete their help for a tool.
func RangeFlags(start, end string) []cli.Flag {
	return []cli.Flag{
		{Name: "start", Kind: cli.String, Value: "TIME", Check: checkBound, Usage: "Start of the time range: an offset from the start of the window, such as 1.5s or 250ms (a number without a unit is milliseconds, from 100 on), or a time of day, such as @2026-11-21T02:00:00.5Z. " + start},
		{Name: "end", Kind: cli.String, Value: "TIME", Check: checkBound, Usage: "End of the time range, exclusive. " + end},
	}
}

// OutputFlags select where the result goes and what the exit status reports.
func OutputFlags() cli.Group {
	return cli.Group{Title: "Output", Flags: []cli.Flag{
		{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to FILE instead of standard output."},
		{Name: "compress", Aliases: []string{"z"}, Kind: cli.String, Value: "LEVEL", Choices: []string{"0", "1", "2", "3"}, Usage: "zstd compression level: 0 none, 3 best. By default 0 to a pipe and 1 to a regular file."},
		cli.FailOnLoss(),
	}}
}

func checkBound(text string) error {
	if text == "" {
		return errors.New("the value is empty; write an offset like 1.5s, or a time of day like @2026-11-21T02:00:00.5Z")
	}
	_, err := ParseBound(text)
	return err
}

func checkCPUs(text string) error {
	_, err := ParseCPUs([]string{text})
	return err
}

// OptionsFrom reads all flags.
func OptionsFrom(inv *cli.Invocation) (Options, error) {
	threads, err := FromInvocation(inv)
	if err != nil {
		return Options{}, err
	}
	threads.NoSelf = inv.Bool("no-self")
	o, err := RangeFrom(inv)
	if err != nil {
		return Options{}, err
	}
	o.Threads, o.Kinds = threads, MakeKindSet(splitAll(inv.Strings("kind")), splitAll(inv.Strings("no-kind")))
	if lists := inv.Strings("cpu"); len(lists) > 0 {
		if o.CPUs, err = ParseCPUs(lists); err != nil {
			return Options{}, cli.Usagef("--cpu: %w", err)
		}
	}
	return o, nil
}

// RangeFrom reads the flags of [RangeFlags]; everything in the range is kept.
func RangeFrom(inv *cli.Invocation) (o Options, err error) {
	o = Options{
		Kinds: MakeKindSet(nil, nil), Version: cli.Version(), Command: proc.CommandLine(append([]string{inv.Tool.Name}, inv.Argv...)),
	}
	if o.Start, err = ParseBound(inv.String("start")); err != nil {
		return Options{}, cli.Usagef("--start: %w", err)
	}
	if o.End, err = ParseBound(inv.String("end")); err != nil {
		return Options{}, cli.Usagef("--end: %w", err)
	}
	return o, nil
}

func splitAll(lists []string) []string {
	var words []string
	for _, l := range lists {
		words = append(words, strings.Split(l, ",")...)
	}
	return words
}

// Run implements wprof-filter.
func Run(inv *cli.Invocation) error {
	o, err := OptionsFrom(inv)
	if err != nil {
		return err
	}
	if err := o.readAround(inv); err != nil {
		return err
	}
	messages := Messages{"--start", "--end", "the output is an empty capture", "the output has all the rest that the filters keep"}
	in, err := inv.OpenCapture("filter", messages.Rest, inv.Args...)
	if err != nil {
		return err
	}
	defer in.Close()
	if len(o.Conditions) > 0 {
		again, plan, err := o.findAround(inv, in)
		if err != nil {
			return err
		}
		defer again.Close()
		defer plan.Close()
	}
	out, err := inv.CreateOutput(inv.String("output"), true)
	if err != nil {
		return err
	}
	defer out.Abort()
	o.Level = inv.CompressionLevel(out)
	f, err := New(in.In, out, !in.IsRegular(), o)
	if err != nil {
		return in.Error(err)
	}
	result, err := f.Run()
	if err := in.Commit(err, out); err != nil {
		return err
	}
	return outcome(inv, in.Name, messages, result, err)
}

// outcome converts the result to messages and an exit status.
func outcome(inv *cli.Invocation, name string, messages Messages, result Result, err error) error {
	inv.WarnDroppedThreads(name, result.DroppedThreads)
	if result.Unrelated > 0 {
		inv.Warnf("%s: there are too many processes for --children: the parents of %s were dropped, and descendants may be missing", name, cli.Grouped(result.Unrelated))
	}
	rest := messages.Rest
	if result.Kept == 0 {
		isNarrowed := inv.String(messages.Start[2:]) != "" || inv.String(messages.End[2:]) != ""
		why := result.whyEmpty(isNarrowed, messages)
		if result.NotFound && result.Damage == nil {
			why = "nothing meets a condition of --around"
		}
		rest = fmt.Sprintf("nothing of %s is kept: %s; %s", name, why, messages.Empty)
		if messages.Empty != "" && (err != nil || result.Damage == nil) {
			inv.Warnf("%s", rest)
		}
	}
	switch {
	case err != nil:
		return cli.InputError("filter", name, err)
	case result.Damage != nil:
		d := result.Damage
		return cli.Damaged(name, d, rest)
	}
	return inv.Lost(name, result.Lost)
}

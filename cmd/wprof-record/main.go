//go:build linux

// Command wprof-record records what every thread of this machine does: where it runs, who wakes it, and how long
// it waits. It is the only tool of the pipeline that needs Linux and privilege.
package main

import (
	"os"

	"wprof/internal/capture"
	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/symbol"
)

func main() {
	capture.RunWaitingCommand()
	status := capture.Main(tool(), os.Args[1:], cli.Std{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	// A thread that waits for a file system which does not respond keeps the process, and would keep its pipes.
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		_ = f.Close()
	}
	os.Exit(status)
}

func tool() cli.Tool {
	return cli.Tool{
		Name:    "wprof-record",
		Summary: "record context switches, wakeups, thread lifetimes and stacks",
		Description: "Records every context switch and wakeup of this machine, the fork, exec, rename and exit of its threads, and samples with " +
			"stacks, by eBPF programs, and writes them as an event stream to standard output or a file. While it records, raw " +
			"records go to a spool file; afterwards they are sorted and functions are named.\n\n" +
			"Needs CAP_BPF and CAP_PERFMON (root has them), Linux 6.1 or later, and a kernel with BTF.",
		Groups: []cli.Group{
			{Title: "What to record", Flags: []cli.Flag{
				{Name: "dur", Aliases: []string{"d"}, Kind: cli.Duration, Value: "DURATION", Default: "1s", Usage: "Recording time; 0: until Ctrl-C. A number without a unit is milliseconds, from 100 on. A command is by default recorded to its end. With --pid the recording ends early when these processes have ended."},
				{Name: "flight-recorder", Aliases: []string{"F"}, Kind: cli.Optional, Value: "TIME][,SIZE", Default: "1s,1gb", Check: capture.CheckFlight, Usage: "Keep only the last TIME of the recording, and SIZE of the spool at most (from 64mb on); 0: no limit. It records until Ctrl-C unless -d is given, for days if need be, and then writes what it has kept."},
				{Name: "all", Aliases: []string{"a"}, Usage: "With a command: record the whole machine, not only the command and its children."},
				capture.FeatureFlag(),
				capture.ProbeFlag(),
				capture.WatchFlag(),
				capture.PMUFlag(),
				{Name: "no-self", Usage: "Leave out the recorder's own threads."},
			}},
			{Title: "When to start", Flags: capture.ScheduleFlags()},
			capture.ListFlags(),
			{Title: "Samples and stacks", Flags: []cli.Flag{
				{Name: "stacks", Aliases: []string{"S"}, Kind: cli.Optional, Value: "KIND[=RATE]", Default: "timer=100hz and offcpu", Choices: capture.StackKinds(), Check: capture.CheckStacks, Usage: "Stacks to take. timer: samples every CPU that is not idle, at a RATE (99hz, 1khz) or period (5ms). offcpu: where a thread was blocked or preempted, with the switch back to it. waker: the waker's stack, with each wakeup. fault: of all page faults, with -f fault, which has those of major ones. lock: of waits for kernel locks, by default with -f lock. pmu: samples an event of performance counters, written as for perf, as pmu=EVENT@1000hz (so many a second on each CPU, the default), pmu=EVENT@100 (every 100th), or with @freq= and @period=; of a tracepoint GROUP:NAME each hit by default. It may be repeated. -SKIND replaces the defaults, -S+KIND adds to them."},
				{Name: "freq", Kind: cli.String, Value: "HZ", Check: capture.CheckFrequency, Usage: "Sampling frequency: --freq=99 is -S+timer=99hz."},
				{Name: "offcpu-min", Kind: cli.Duration, Value: "DURATION", Default: "1ms", Usage: "Minimum off-CPU time for which a stack is taken; 0: always. A stack costs 0.2 to 3us of CPU time."},
				{Name: "unwind", Kind: cli.String, Value: "auto|fp|tables", Default: "auto", Choices: []string{"auto", "fp", "tables"}, Usage: "How user stacks are walked. fp: by frame pointers, which many programs and most distributions' libraries lack. tables: by the call frame information of files, and by frame pointers where a file has none. auto: tables on x86-64, fp elsewhere."},
				{Name: "unwind-memory", Kind: cli.Size, Value: "SIZE", Default: "256mb", Usage: "Maximum kernel memory for tables, 2mb to 4gb. It is allocated as tables are made: 130 kB for libc, 1 to 7% of the size of a file."},
				{Name: "unwind-cache", Kind: cli.String, Value: "DIR", Files: true, Default: "/var/cache/wprof/unwind", Usage: "Folder that keeps tables for later recordings, up to 256 MiB; no other user may be able to write to it. no: none."},
				{Name: "stack-depth", Kind: cli.Int, Value: "N", Usage: "Maximum frames of a stack in user code, and in the kernel, innermost first: 1 to 511. By default 511 by tables, and 127 by frame pointers and in the kernel. Deeper stacks are marked as cut."},
				{Name: "no-stacks", Kind: cli.Optional, Value: "KIND", Choices: capture.StackKinds(), Check: capture.CheckNoStacks, Usage: "Take no stacks and no samples, or none of a KIND."},
				{Name: "no-kernel-stacks", Usage: "Take no kernel frames."},
				{Name: "no-user-stacks", Usage: "Take no user frames."},
				{Name: "symbolize", Kind: cli.String, Value: "yes|no", Default: "yes", Choices: []string{"yes", "no"}, Usage: "no: leave naming functions to wprof-symbolize, except in files that have no build-id or no longer exist."},
				{Name: "lines", Usage: "After the recording, also look up source lines and inlined functions, in the DWARF of programs and in the tables of Go programs. wprof-symbolize can do it later."},
				{Name: "demangle", Kind: cli.String, Value: "full|short|none", Choices: symbol.Forms(), Usage: symbol.FormsHelp},
				{Name: "debug-dir", Kind: cli.List, Value: "DIR", Files: true, Check: cli.CheckFolder, Usage: "Look for debug files here before /usr/lib/debug: DIR/.build-id/ab/cdef.debug, DIR/PATH and DIR/NAME."},
			}},
			{Title: "Output", Flags: []cli.Flag{
				{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write to FILE instead of standard output. FILE appears when complete; the spool is FILE.part."},
				{Name: "compress", Aliases: []string{"z"}, Kind: cli.Int, Value: "LEVEL", Choices: []string{"0", "1", "2", "3"}, Usage: "zstd compression level: 0 none, 1 fastest, 2 zstd's default, 3 better. By default 0 to a pipe and 1 to a regular file."},
				{Name: "live", Usage: "Write events within 100 ms, instead of after the recording."},
				{Name: "metadata", Aliases: []string{"M"}, Kind: cli.List, Value: "KEY=VALUE", Usage: "Store a note in the capture."},
			}},
			{Title: "Snapshots of a flight recorder", Flags: []cli.Flag{
				{Name: "snapshot-on", Kind: cli.List, Value: "CONDITION", Check: capture.CheckCondition, Usage: "Also take a snapshot when a condition holds. ID: an event of the probe with this id (-U). slow:ID>50ms: a span of it that was longer. slow:SOURCE[:NAME]>50ms: a span of a source of -f, as in slow:block>100ms and slow:syscall:fsync>50ms. offcpu:GLOB>100ms: a thread, by its name or its process's, that comes back after it was blocked for longer. runq:GLOB>20ms: one that waited longer for a CPU. crash: a process that is ended by a signal other than SIGHUP, SIGINT, SIGPIPE and SIGTERM. loss: events are lost. counter:NAME@GLOB>100k/s: more events of --pmu in any second (or /100ms) by the threads that GLOB matches, together; without @GLOB by all. counter:NAME<0.5: a derived metric below a limit for 0.1 s. counter:ID>1000/s: more events of a probe with count. Needs -o or --keep."},
				{Name: "keep", Kind: cli.String, Value: "FOLDER[,N[,SIZE]]", Files: true, Check: capture.CheckKeep, Usage: "Write snapshots to FOLDER, with the host and the time in their names, and keep the newest N, and SIZE in all; 0: no limit. Without -o, the window at the end goes to FOLDER/HOST.wprof."},
				{Name: "exec", Kind: cli.String, Value: "COMMAND", Usage: "Run a shell command with the name of each snapshot as its argument when that is complete."},
				{Name: "after", Kind: cli.Duration, Value: "DURATION", Default: "0s", Usage: "Time from the trigger to the end of the snapshot's window."},
				{Name: "snapshot-every", Kind: cli.Duration, Value: "DURATION", Default: "0s", Usage: "Pause after a snapshot in which conditions are ignored."},
				{Name: "snapshot-count", Kind: cli.Int, Value: "N", Usage: "End the recording after N snapshots; the last window is then written too."},
			}},
			filter.Flags(),
			{Title: "Loss and cost", Flags: []cli.Flag{
				{Name: "ringbuf-size", Kind: cli.Size, Value: "SIZE", Default: "8mb", Usage: "Size of each ring buffer, 8kb to 1gb, rounded up to a power of two."},
				capture.LimitFlag(),
				{Name: "ringbuf-cnt", Kind: cli.Int, Value: "N", Usage: "Number of ring buffers. By default one per CPU, but at most 1 GiB in all: beyond that, several CPUs share one."},
				{Name: "fail-on-loss", Usage: "Exit with status 5 if events were lost (125 with a command)."},
				{Name: "stats", Usage: "At the end, print the cost of each kernel program (from the kernel's BPF statistics, which are on while it records), the traffic of each ring buffer, and the recorder's CPU time and memory."},
				{Name: "verbose", Aliases: []string{"v"}, Usage: "Print more messages."},
			}},
		},
		Examples: []cli.Example{
			{Command: "wprof-record -d5s -o host.wprof", Text: "Five seconds of this machine."},
			{Command: "wprof-record -d5s | wprof-perfetto > t.pb", Text: "Five seconds as a timeline."},
			{Command: "wprof-record -o make.wprof -- make -j8", Text: "A command and its children, from the command's exec to its end."},
			{Command: "wprof-record -d10s -p 1234 --children -o app.wprof", Text: "One process and its descendants."},
			{Command: "wprof-record --activate @14:30 -d1m -o lunch.wprof", Text: "One minute from half past two on."},
			{Command: "wprof-record --activate /1m -d10s -o host.wprof", Text: "Ten seconds from the next full minute on: on several hosts from the same one."},
			{Command: "wprof-record -F10s -o host.wprof", Text: "The last 10 seconds before Ctrl-C, however long it runs."},
			{Command: "wprof-record --live -d0 | wprof-info --dump | grep '^ *+[^\"]* lost '", Text: "Watch losses as they happen."},
		},
		Sections: []cli.Section{
			{Title: "Recording a command", Text: "With -- CMD, the exit status is the command's own, or 128 plus the number of the signal that killed it. 125: " +
				"wprof-record itself failed; 126: the command could not be executed; 127: it does not exist. What the " +
				"command prints goes to standard error if the stream goes to standard output. If -d ends first, the " +
				"recording stops and the command goes on. Ctrl-C reaches the command, whose end ends the recording. SIGTERM " +
				"and SIGHUP are passed on to it, and SIGINT if the recorder is not in the foreground of a terminal."},
			{Title: "The spool", Text: "With -o FILE the spool is FILE.part; an older one is moved to FILE.part.1 and so on. If the recorder is " +
				"killed, wprof-symbolize FILE.part -o FILE recovers the recording. For a pipe the spool is an unnamed file " +
				"in $TMPDIR or /var/tmp. The disk needs room for spool and output together."},
			{Title: "Snapshots", Text: "A flight recorder (-F) writes a snapshot of its window at each SIGUSR1, and goes on recording: with -o host.wprof to " +
				"host.1.wprof, host.2.wprof and so on. A snapshot that fails, because the disk is full, is reported, and the recording goes on."},
			{Title: "Signals", Text: "The first SIGINT, SIGTERM or SIGHUP ends the recording early; everything recorded is written. The second " +
				"one, or a SIGQUIT, ends the recorder at once and leaves the spool. Before --activate each of them ends the recorder and leaves nothing."},
		},
		Hints:        perfHints,
		AllowCommand: true,
		OwnSpace:     true,
	}
}

const stacksHint = "stacks are taken by default, of samples and of threads that were off the CPU; --stacks says of what, --unwind how"

// perfHints are for flags that perf and bcc's tools have.
var perfHints = map[string]string{
	"g": stacksHint, "call-graph": stacksHint,
	"off-cpu": "off-CPU stacks are taken by default, of times from --offcpu-min on",
}

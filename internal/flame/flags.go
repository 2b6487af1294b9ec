package flame

import (
	"errors"
	"strconv"
	"strings"

	"wprof/internal/browser"
	"wprof/internal/cli"
	"wprof/internal/stacks"
)

// maxChain is the maximum length of a wakeup chain.
const maxChain = 16

// TimeFlags choose what is counted.
func TimeFlags() cli.Group {
	return cli.Group{Title: "Which time", Flags: []cli.Flag{
		{Name: "wall", Usage: "All time, on the CPU and off it; the default. The innermost frame has the suffix _[c] for on-CPU time and _[o] for off-CPU time."},
		{Name: "on-cpu", Usage: "Time on a CPU, divided among the samples taken in it; see --spread."},
		{Name: "off-cpu", Usage: "Time off the CPU, with the stack in which the thread was blocked. While it waited for a CPU, the innermost frame is [runnable]."},
		{Name: "waker", Usage: "Time off the CPU, with the waker's stack, reversed, above each stack. Needs wprof-record -S+waker."},
		{Name: "wakeup-chain", Kind: cli.Int, Value: "N", Check: checkChain, Usage: "As --waker, followed by the waker's own waker and so on: up to N wakers, 1 to " + strconv.Itoa(maxChain) + ". The chain ends at a wakeup from before the thread left its CPU. Flags that choose threads choose whose waits are shown; their wakers may be any."},
		{Name: "event", Kind: cli.List, Value: "NAME", Usage: "Instead of time, events of this event type by their stack. Spans count with their duration. Instants count one each; with spans among the chosen events, they count only with --unit samples. For --folded, --svg and --diff."},
		{Name: "probe", Kind: cli.List, Value: "ID", Usage: "As --event, the events of the user-defined probe with this id, or of this function: see wprof-record -U. Spans count once, not also with their entry."},
		{Name: "inside", Kind: cli.String, Value: "ID", Usage: "Only the time in which each thread was inside a span of this user-defined probe, by its id or its function: on the CPU, off it, or both. The input is read twice. For --folded, --svg and --pprof."},
		{Name: "weight", Kind: cli.String, Value: "WEIGHT", Check: checkWeight, Usage: "What an event of --event or --probe counts. count: one, or as many as it stands for. duration: the time of a span; the default. arg:NAME: the number in its field NAME, which folded stacks have as weight."},
		{Name: "spread", Kind: cli.String, Value: "SCOPE", Default: "thread", Choices: []string{"thread", "span"}, Usage: "How on-CPU time is divided among samples. thread: all of a thread's on-CPU time in proportion to its samples; threads with few samples share theirs with threads of the same name, unless --by keeps them apart. This is right on average, and only threads without any such sample are [not sampled]. span: each on-CPU interval among its own samples; one without a sample is [not sampled]. Where intervals are shorter than the sampling period, span overestimates the long ones."},
		{Name: "min-block", Kind: cli.Duration, Value: "DURATION", Usage: "Leave out shorter off-CPU intervals. A number without a unit is milliseconds, from 100 on."},
		{Name: "no-idle-waits", Usage: "Leave out waits for work, which otherwise have the frame [idle]: see below."},
		{Name: "unfold-idle", Usage: "Draw waits for work like other time. By default pictures and pages have them in one grey frame at the root, [idle], which is drawn narrower than its time; a click on it shows them."},
		{Name: "idle-threads", Usage: "Include the idle threads of CPUs. (--idle leaves out all others.)"},
		{Name: "unit", Kind: cli.String, Value: "UNIT", Default: "us", Choices: []string{"ns", "us", "ms", "samples"}, Usage: "Unit of the weights in folded stacks. samples: the number of timer samples on the CPU and of waits off it (for an event or for a CPU); with --event, of events."},
	}}
}

// FrameFlags choose the frames of stacks.
func FrameFlags() cli.Group {
	return cli.Group{Title: "Frames", Flags: []cli.Flag{
		{Name: "by", Kind: cli.String, Value: "ROOT", Default: "process", Choices: []string{"process", "thread", "comm", "cpu", "wait", "container", "cgroup", "none"}, Usage: "The root frame: process is LABEL-PID, with a short label of the command line such as python3 server.py; thread is NAME-PID/TID, with that label for threads without a name of their own; comm the thread's name (default with --diff), cpu the CPU on which the thread ran last; wait what threads waited for, a colour for each kind: the kind, the peer, file or lock, and the process; container (docker:0123456789ab) and cgroup (its path) have the processes in it above them."},
		{Name: "state", Usage: "Add a frame for what a thread waited for: [lock], [receive], [disk read], [preempted] and so on; where that is not known, also the state in which it left: [unknown (interruptible)], [unknown (uninterruptible)]."},
		{Name: "reverse", Usage: "Innermost frame first: an inverted graph, which shows the callers of each function."},
		{Name: "inline", Usage: "Show inlined functions as frames of their own, where wprof-record --lines or wprof-symbolize has found them."},
		{Name: "lines", Usage: "Add file and line to the names of functions, where wprof-record --lines or wprof-symbolize has found them. Each line is a frame of its own."},
		{Name: "emit", Aliases: []string{"e"}, Kind: cli.List, Value: "LIST", Choices: stacks.PythonWords(), CommaList: true, Usage: "Choose the frames of stacks. " + stacks.PythonUsage},
		{Name: stacks.NoPython, Usage: stacks.NoPythonUsage},
		{Name: "kernel-frames", Usage: "Show all functions of the kernel. By default those that lead to a system call or to a handler are left out: entry_SYSCALL_64_after_hwframe, do_syscall_64 and __x64_sys_recvfrom are one frame, recvfrom()."},
		{Name: "kernel-suffix", Aliases: []string{"a"}, Usage: "Add the suffix _[k] to kernel frames."},
	}}
}

// OutputFlags choose what is written, and where.
func OutputFlags() cli.Group {
	form := func(name, usage string) cli.Flag {
		return cli.Flag{Name: name, Kind: cli.Optional, Value: "FILE", Files: true, Usage: usage}
	}
	return cli.Group{Title: "What to write (several may be given; at most one of them without a FILE)", Flags: []cli.Flag{
		form("folded", "Folded stacks, for flamegraph.pl, inferno and speedscope. This is the default."),
		form("svg", "An interactive flame graph in one SVG file."),
		form("html", "An HTML page on which you select the time range, the threads and the kind of time."),
		form("pprof", "A profile for go tool pprof."),
		form("speedscope", "Each thread in order of time, for speedscope."),
		form("analysis", "A text summary: the report of wprof-info, sampling, and the longest blocking stacks."),
		{Name: "report", Kind: cli.String, Value: "PREFIX", Files: true, Usage: "Write a full report: PREFIX.svg, PREFIX.folded and PREFIX_single_thread_analysis.txt. For several threads also the folder multithread_PREFIX with these files of each thread and a table of all; thread files of an earlier report are deleted there. A summary with the file names goes to standard output, or to -o FILE."},
		{Name: "per-thread", Kind: cli.String, Value: "FOLDER", Files: true, Usage: "Write a flame graph, folded stacks and an analysis of each thread into this folder, and a table of all threads."},
		{Name: "buckets", Kind: cli.Duration, Value: "DURATION", Usage: "Write one file of folded stacks per interval of this length: with -o out.folded, out.0000.folded and so on. A number without a unit is milliseconds, from 100 on."},
		{Name: "diff", Kind: cli.String, Value: "OTHER", Files: true, Usage: "Compare with capture OTHER, scaled to the same recording time. Red frames are larger here, blue ones larger in OTHER. Folded stacks have OTHER's weight before their own."},
		{Name: "diff-start", Kind: cli.String, Value: "TIME", Usage: "Start of the time range to compare with, in OTHER, or without --diff in the same capture."},
		{Name: "diff-end", Kind: cli.String, Value: "TIME", Usage: "End of that range."},
		{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write the output that has no FILE of its own to FILE instead of standard output."},
		browser.Flag("Open the page of --html, or the picture of --svg, in the browser, and print the link. Without these flags a page is made."),
		{Name: "dry-run", Usage: "Only check that the files can be written: read and write nothing."},
		cli.FailOnLoss(),
	}}
}

// Values of --weight.
const (
	weightCount    = "count"
	weightDuration = "duration"
	weightArg      = "arg:" // and the name of a field
)

func checkWeight(text string) error {
	if text == weightCount || text == weightDuration || strings.HasPrefix(text, weightArg) && len(text) > len(weightArg) {
		return nil
	}
	return errors.New("the weight must be count, duration or arg:NAME")
}

func checkChain(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 1 || n > maxChain {
		return errors.New("the length of a wakeup chain must be from 1 to " + strconv.Itoa(maxChain))
	}
	return nil
}

// Manual returns the sections of the manual page after the flags.
func Manual() []cli.Section {
	return []cli.Section{
		{Title: "How time is counted", Text: "Times come from context switches; samples only show where in the code a thread ran: its on-CPU time is divided in proportion to its samples, see --spread. " +
			"The times of a thread add up to its lifetime in the window, to the nanosecond with --unit ns, unless --min-block or --no-idle-waits leave some out. A thread that is blocked during the whole window counts with all of it, and with the stack that the recorder took at the end. " +
			"Frames in brackets are not functions: [not sampled] is on-CPU time of threads without a sample, [no stack] an off-CPU interval without a stack (see wprof-record --offcpu-min), [runnable] a wait for a CPU, [new] a thread before its first wakeup, [unknown] time in which events were lost or a filter hid the thread. The idle threads of CPUs are left out without --idle-threads or --idle."},
		{Title: "Waiting for work", Text: "A thread that waits for requests is not slow. Blocked time is [idle] if it is a wait for work: in accept or at a terminal always; in a poll, a receive, a condition, a pipe or a timer if that is the thread's usual place, the stack in which it was blocked longest in such a way. A timer counts only in a thread that waits for work in no other way, and holds no lock meanwhile for which others wait. A wait for a child process is for work where the child is selected too. A wait for a lock is never for work, nor for the answer on a connection that the thread's process has opened (by its port), nor for room in a queue or a pipe (by the name of the function)."},
	}
}

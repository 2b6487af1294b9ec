package filter

import "wprof/internal/cli"

// Flags are the flags that choose threads, the same in the recorder and in the filter.
func Flags() cli.Group {
	list := func(name, short, value, usage string, check func(string) error) cli.Flag {
		f := cli.Flag{Name: name, Kind: cli.List, Value: value, Usage: usage, Check: check, ListFile: true}
		if short != "" {
			f.Aliases = []string{short}
		}
		return f
	}
	is := func(name, usage string) cli.Flag { return cli.Flag{Name: name, Usage: usage} }
	return cli.Group{Title: "Threads to keep or to drop (lists; @FILE reads one entry per line)", Flags: []cli.Flag{
		list("pid", "p", "PID", "Keep this process.", checkIDs),
		list("no-pid", "P", "PID", "Drop this process.", checkIDs),
		list("tid", "", "TID", "Keep this thread.", checkIDs),
		list("no-tid", "", "TID", "Drop this thread.", checkIDs),
		list("name", "n", "GLOB", "Keep processes with this name; * matches any text, ? one byte.", checkGlob),
		list("no-name", "N", "GLOB", "Drop processes with this name.", checkGlob),
		list("thread-name", "", "GLOB", "Keep threads with this name.", checkGlob),
		list("no-thread-name", "", "GLOB", "Drop threads with this name.", checkGlob),
		list("cgroup", "", "PATH", "Keep threads in this cgroup, or below it; * matches any text, ? one byte that is no slash. If it does not begin with / it may begin at any name of the path.", checkCgroup),
		list("no-cgroup", "", "PATH", "Drop threads in this cgroup, or below it.", checkCgroup),
		list("container", "", "ID", "Keep threads in this container: its id, the beginning of that, or its name where the path of its cgroup has one.", checkContainer),
		list("no-container", "", "ID", "Drop threads in this container.", checkContainer),
		is("idle", "Keep the idle threads, in addition to those of --pid and --kthread."),
		is("no-idle", "Drop the idle threads."),
		is("kthread", "Keep kernel threads, in addition to those of --pid and --idle."),
		is("no-kthread", "Drop kernel threads."),
		is("children", "With --pid: keep the descendants of these processes as well."),
	}}
}

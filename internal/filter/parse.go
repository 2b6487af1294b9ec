package filter

import (
	"fmt"
	"strconv"
	"strings"

	"wprof/internal/cli"
	"wprof/internal/container"
)

// FromInvocation reads the flags of [Flags]. Errors are of usage.
func FromInvocation(inv *cli.Invocation) (Spec, error) {
	s := Spec{
		Idle: inv.Bool("idle"), NoIdle: inv.Bool("no-idle"),
		Kthread: inv.Bool("kthread"), NoKthread: inv.Bool("no-kthread"),
		Children: inv.Bool("children"),
	}
	for _, l := range []struct {
		flag string
		to   *[]int32
	}{{"pid", &s.PIDs}, {"no-pid", &s.NoPIDs}, {"tid", &s.TIDs}, {"no-tid", &s.NoTIDs}} {
		entries, err := entries(inv, l.flag)
		if err == nil {
			*l.to, err = parseIDs(entries)
		}
		if err != nil {
			return Spec{}, cli.Usagef("--%s: %w", l.flag, err)
		}
	}
	for _, l := range []struct {
		flag string
		to   *[]string
	}{{"name", &s.Names}, {"no-name", &s.NoNames}, {"thread-name", &s.ThreadNames}, {"no-thread-name", &s.NoThreadNames}} {
		entries, err := entries(inv, l.flag)
		if err != nil {
			return Spec{}, cli.Usagef("--%s: %w", l.flag, err)
		}
		*l.to = entries
	}
	for _, l := range []struct {
		flag  string
		to    *[]string
		globs func(string) ([]string, error)
	}{{"cgroup", &s.Cgroups, pathGlobs}, {"no-cgroup", &s.NoCgroups, pathGlobs}, {"container", &s.Containers, container.Globs}, {"no-container", &s.NoContainers, container.Globs}} {
		entries, err := entries(inv, l.flag)
		for _, entry := range entries {
			var globs []string
			if globs, err = l.globs(entry); err != nil {
				break
			}
			*l.to = append(*l.to, globs...)
		}
		if err != nil {
			return Spec{}, cli.Usagef("--%s: %w", l.flag, err)
		}
	}
	if s.Children && len(s.PIDs) == 0 {
		return Spec{}, cli.Usagef("--children needs --pid: it keeps the descendants of these processes")
	}
	return s, nil
}

// entries are the values of a list flag, files read. A flag that was given must name something: an empty file would
// otherwise mean "no condition" and keep everything.
func entries(inv *cli.Invocation, flag string) ([]string, error) {
	values := inv.Strings(flag)
	all, err := cli.ExpandLists(values)
	if err != nil {
		return nil, err
	}
	if len(values) > 0 && len(all) == 0 {
		return nil, fmt.Errorf("%s names nothing", strings.Join(values, " "))
	}
	for _, v := range all {
		if v == "" {
			return nil, fmt.Errorf("an entry is empty")
		}
	}
	return all, nil
}

// checkIDs checks a value given as a flag; the contents of a file are checked when it is read.
func checkIDs(value string) error {
	if strings.HasPrefix(value, "@") {
		return nil
	}
	_, err := parseIDs([]string{value})
	return err
}

func pathGlobs(text string) ([]string, error) {
	glob, err := container.PathGlob(text)
	return []string{glob}, err
}

func checkCgroup(value string) error {
	if strings.HasPrefix(value, "@") {
		return nil
	}
	_, err := container.PathGlob(value)
	return err
}

func checkContainer(value string) error {
	if strings.HasPrefix(value, "@") {
		return nil
	}
	_, err := container.Globs(value)
	return err
}

func checkGlob(value string) error {
	if value == "" {
		return fmt.Errorf("the name is empty")
	}
	return nil
}

func parseIDs(entries []string) ([]int32, error) {
	var ids []int32
	for _, entry := range entries {
		for word := range strings.SplitSeq(entry, ",") {
			id, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
			switch {
			case strings.TrimSpace(word) == "":
				return nil, cli.EmptyEntry(entry, "write one id, or several with a comma between two")
			case err != nil || id < 0:
				return nil, fmt.Errorf("%q is not a process or thread id", word)
			case id == 0:
				return nil, fmt.Errorf("0 is the id of the idle threads; use --idle or --no-idle")
			}
			ids = append(ids, int32(id))
		}
	}
	return ids, nil
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"wprof/format"
	"wprof/internal/stacks"
)

// frame is one of a user stack.
type frame struct {
	function string // "": not known
	placed   bool   // it is in a module
}

// beginsThread matches functions with which threads and coroutines begin: in_coroutine's caller has no name, because its return
// address is the beginning of __start_context.
var beginsThread = regexp.MustCompile(`^(_start|_dl_start|_dl_start_user|__libc_start_main.*|__libc_start_call_main|start_thread|clone3?|__clone.*|__GI___clone.*|__start_context|in_coroutine|` +
	`runtime\.(goexit|mstart|mcall|morestack|systemstack|rt0_go).*|_rt0_.*)$`)

// count is what one recording has of a target.
type count struct {
	stacks        int // user stacks
	whole, wrong  int // of stacks; wrong: of whole, those that no calls of the program can have
	frames, named int
	ends          map[string]int // outermost functions of stacks that are not whole
	wrongs        map[string]int
}

func newCount() *count { return &count{ends: map[string]int{}, wrongs: map[string]int{}} }

// add takes a user stack, outermost frame first. isCut says that the recorder itself has marked it.
func (c *count) add(user []frame, isCut bool, right *regexp.Regexp) {
	if len(user) == 0 {
		return
	}
	for _, f := range user {
		c.frames++
		if f.function != "" {
			c.named++
		}
	}
	c.stacks++
	if isCut || !reachesRoot(user) {
		c.ends[user[0].text()]++
		return
	}
	c.whole++
	if all := joined(user); right != nil && !right.MatchString(all) {
		c.wrong++
		c.wrongs[all]++
	}
}

// reachesRoot reports whether a thread begins in one of the two outermost functions: in a stripped program the outermost one,
// _start, has no name. Values in no module are none.
func reachesRoot(user []frame) bool {
	for len(user) > 0 && !user[0].placed {
		user = user[1:]
	}
	for _, f := range user[:min(2, len(user))] {
		if beginsThread.MatchString(f.function) {
			return true
		}
	}
	return false
}

func (f frame) text() string {
	switch {
	case f.function != "":
		return f.function
	case f.placed:
		return "[unnamed]"
	}
	return "?"
}

func joined(user []frame) string {
	names := make([]string, len(user))
	for i, f := range user {
		names[i], _, _ = strings.Cut(f.text(), "@")
	}
	return strings.Join(names, ";")
}

// readCapture counts the stacks of a capture's samples.
func readCapture(path string, right *regexp.Regexp) (*count, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := format.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer r.Close()
	c := newCount()
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if e.Kind != format.KindSample {
			continue
		}
		if s := r.Stack(e.Sample().Stack()); s != nil {
			kernel := int(s.KernelFrames)
			n := len(s.Frames) - kernel
			user := make([]frame, n)
			for i, id := range s.Frames[:n] {
				f := r.Frame(id)
				user[i].placed = f.GetModule() != 0
				if lines := f.GetLines(); len(lines) > 0 {
					user[i].function = string(lines[len(lines)-1].Function)
				}
			}
			c.add(user, stacks.EndsEarly(stacks.End(s), s.Cut, max(n, kernel), false), right)
		}
	}
}

// readScript counts the stacks of one process in what perf script prints with -F pid,ip,sym,dso: a line with the process, then a line
// for each frame, the innermost first, then an empty one.
func readScript(r io.Reader, pid string, right *regexp.Regexp) (*count, error) {
	c := newCount()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	var user []frame
	isTarget := false
	for lines.Scan() {
		line := lines.Text()
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			c.add(user, false, right)
			user = nil
		case len(fields) == 1:
			isTarget = fields[0] == pid
		case !isTarget:
		case len(fields[0]) == 16 && strings.HasPrefix(fields[0], "ffff"):
			// of the kernel
		default:
			user = append([]frame{scriptFrame(line, fields[0])}, user...)
		}
	}
	return c, lines.Err()
}

// scriptFrame reads "ADDRESS FUNCTION (FILE)".
func scriptFrame(line, address string) frame {
	_, rest, _ := strings.Cut(line, address+" ")
	at := strings.LastIndex(rest, " (")
	if at < 0 {
		return frame{}
	}
	f := frame{function: rest[:at], placed: rest[at:] != " ([unknown])"}
	if f.function == "[unknown]" {
		f.function = ""
	}
	return f
}

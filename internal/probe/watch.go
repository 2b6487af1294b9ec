package probe

import (
	"slices"
	"strconv"
	"strings"
)

// WatchAccess is what a breakpoint is hit by, as bits of perf_event_open(2).
type WatchAccess uint32

const (
	WatchRead    WatchAccess = 1
	WatchWrite   WatchAccess = 2
	WatchExecute WatchAccess = 4
)

// String returns the letters of an access.
func (a WatchAccess) String() (letters string) {
	for i, letter := range accessLetters {
		if a&(1<<i) != 0 {
			letters += string(letter)
		}
	}
	return letters
}

const accessLetters = "rwx"

// Watching is what a breakpoint watches.
type Watching struct {
	Access WatchAccess // 0: it is no breakpoint
	Length int         // bytes; of code 0
	Kernel bool        // memory or code of the kernel
}

// WatchTarget is what a target of watch: says.
type WatchTarget struct {
	Watching        // Length 0: it is not given
	Name     string // of a symbol; "": Address
	Address  uint64
	Offset   uint64 // from the symbol
}

// KernelPrefix stands before targets in the kernel.
const KernelPrefix = "kernel:"

// watchProblem is what is wrong at a place of a target.
type watchProblem struct {
	at, length int
	near       []string
	reason     string
}

// Watched reads the target of a breakpoint, which the parser has checked.
func (l *Leg) Watched() WatchTarget {
	t, _ := watchTarget(l.Target.Text)
	return t
}

// watchTarget reads [kernel:]SYMBOL[+OFFSET][:LEN][:ACCESS]. Names of C++ and Rust have :: in them.
func watchTarget(text string) (t WatchTarget, problem *watchProblem) {
	rest, begin := text, 0
	if after, ok := strings.CutPrefix(text, KernelPrefix); ok && !strings.HasPrefix(after, ":") {
		t.Kernel, rest, begin = true, after, len(KernelPrefix)
	}
	for {
		colon := strings.LastIndexByte(rest, ':')
		if colon < 0 || colon > 0 && rest[colon-1] == ':' {
			break
		}
		if problem := t.suffix(rest[colon+1:]); problem != nil {
			problem.at, problem.length = begin+colon+1, len(rest)-colon-1
			return t, problem
		}
		rest = rest[:colon]
	}
	if t.Access == 0 {
		t.Access = WatchWrite
	}
	if t.Access&WatchExecute != 0 && t.Length != 0 {
		return t, &watchProblem{reason: "an instruction is executed or not: x has no length", length: len(text)}
	}
	return t, t.place(rest, begin)
}

// suffix reads a length or an access.
func (t *WatchTarget) suffix(word string) *watchProblem {
	if n, err := strconv.Atoi(word); err == nil {
		switch {
		case t.Length != 0:
			return &watchProblem{reason: "there are two lengths"}
		case !slices.Contains([]int{1, 2, 4, 8}, n):
			return &watchProblem{reason: "a breakpoint watches 1, 2, 4 or 8 bytes, not " + word, near: []string{"8"}}
		}
		t.Length = n
		return nil
	}
	if word == "" || strings.Trim(word, accessLetters) != "" {
		return &watchProblem{reason: "'" + word + "' is neither a number of bytes (1, 2, 4 or 8) nor an access (w, rw or x)"}
	}
	if t.Access != 0 {
		return &watchProblem{reason: "there are two accesses"}
	}
	for i, letter := range accessLetters {
		switch strings.Count(word, string(letter)) {
		case 0:
		case 1:
			t.Access |= 1 << i
		default:
			return &watchProblem{reason: "'" + string(letter) + "' is given twice"}
		}
	}
	if t.Access&WatchExecute != 0 && t.Access != WatchExecute {
		return &watchProblem{reason: "one breakpoint is for data or for code: make a probe with x, and another with w or rw"}
	}
	return nil
}

// place reads a symbol, with an offset, or an address.
func (t *WatchTarget) place(text string, at int) *watchProblem {
	if isDigit((text + " ")[0]) {
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil || n == 0 {
			return &watchProblem{at: at, length: len(text), reason: "'" + text + "' is neither a symbol nor an address like 0x7f3c10"}
		}
		t.Address = n
		return nil
	}
	t.Name = text
	if plus := strings.LastIndexByte(text, '+'); plus >= 0 && isNumber(text[plus+1:]) {
		n, _, _ := number(text[plus+1:])
		t.Name, t.Offset = text[:plus], uint64(n)
	}
	if t.Name == "" {
		return &watchProblem{at: at, reason: "the name of a symbol, or an address, is expected"}
	}
	return nil
}

// checkWatch checks the target of a breakpoint.
func (p *parser) checkWatch(w Word) {
	if _, problem := watchTarget(w.Text); problem != nil {
		p.failAt(w.At+problem.at, problem.length, problem.near, "%s", problem.reason)
	}
}

// watched checks the parameters of a breakpoint, and sets what is recorded if they do not say it.
func (p *parser) watched(leg *Leg) {
	if leg.Probe != Breakpoint || p.err != nil {
		return
	}
	t := leg.Watched()
	switch {
	case t.Kernel && (len(leg.PIDs) > 0 || leg.GPU || leg.Path.Text != ""):
		p.fail(leg.Target, nil, "memory and code of the kernel are in no process and no file: leave pid: and path: out; comm: works, and -p of the recorder")
	case len(leg.Args) > 0 || leg.All || leg.Stack:
		return
	}
	leg.Implied, leg.Stack, leg.All = true, true, true
	if t.Access == WatchExecute {
		return
	}
	for _, name := range []string{"before", "value", "ip"} {
		leg.Args = append(leg.Args, Arg{At: leg.Target.At, Base: BaseName, Name: name, Leg: len(p.def.Legs)})
	}
}

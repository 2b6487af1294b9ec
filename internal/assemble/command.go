package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
)

// command is the command line of processes.
type command struct {
	args    string // the words, each ended by a 0
	cut     bool
	section uint32 // number of the section in which id is valid
	id      uint32
}

// commands keeps each command line once.
type commands struct {
	byArgs  map[commandKey]*command
	bytes   int
	last    uint32              // id that was given last in this section
	defined int64               // bytes of command lines in this section
	called  map[uint32]*command // by pid: of an exec whose record is still to come
	d       format.Command
}

type commandKey struct {
	args string
	cut  bool
}

const (
	// maxArgs is ARGS_LONG in bpf/records.h.
	maxArgs = 4096
	// shortArgs is the length to which command lines are cut once they take a quarter of a section's definitions: those of all
	// live processes may be more than a section has room for.
	shortArgs = 128
	// maxCommandBytes bounds what is kept to find equal command lines. Beyond it, equal ones are defined again.
	maxCommandBytes = 8 << 20
	// maxCalled bounds the execs that are under way; more than a few are there only if records of exec were lost.
	maxCalled = 1 << 10
)

// intern returns the command line of some words; nil: there are none.
func (c *commands) intern(args []byte, cut bool) *command {
	if len(args) > maxArgs {
		args, cut = args[:maxArgs], true
	}
	if len(args) == 0 {
		return nil
	}
	if found := c.byArgs[commandKey{string(args), cut}]; found != nil {
		return found
	}
	if c.byArgs == nil || c.bytes > maxCommandBytes {
		c.byArgs, c.bytes = make(map[commandKey]*command), 0
	}
	made := &command{args: string(args), cut: cut}
	c.byArgs[commandKey{made.args, cut}] = made
	c.bytes += len(args) + 128
	return made
}

// call keeps the words of an exec whose record is still to come.
func (c *commands) call(pid uint32, args []byte, cut bool) {
	if c.called == nil || len(c.called) >= maxCalled {
		c.called = make(map[uint32]*command)
	}
	c.called[pid] = c.intern(args, cut)
}

// taken returns the command line of an exec; nil: it is not known.
func (c *commands) taken(pid uint32) *command {
	found := c.called[pid]
	delete(c.called, pid)
	return found
}

// begin begins a section.
func (c *commands) begin() { c.last, c.defined = 0, 0 }

// define returns the id of a command line, which it defines if the section does not have it yet.
func (c *commands) define(s *stream, cmd *command) uint32 {
	if cmd == nil {
		return 0
	}
	if cmd.section != s.section {
		c.last++
		cmd.id, cmd.section = c.last, s.section
		c.d.Id, c.d.Args, c.d.Cut = cmd.id, []byte(cmd.args), cmd.cut
		if c.defined > s.full/4 && len(c.d.Args) > shortArgs {
			c.d.Args, c.d.Cut = c.d.Args[:shortArgs], true
		}
		c.defined += int64(len(c.d.Args))
		_ = s.w.DefineCommand(&c.d)
	}
	return cmd.id
}

// applyArgs takes the words of an exec whose record of the same process follows.
func (a *applier) applyArgs(b []byte) {
	le := binary.LittleEndian
	length := min(int(le.Uint32(b[ringdata.ArgsLen:])), len(b)-ringdata.ArgsArgs)
	a.out.commands.call(le.Uint32(b[ringdata.ArgsPID:]), b[ringdata.ArgsArgs:][:length], b[ringdata.HdrFlags]&ringdata.FlagCut != 0)
}

// commandAtStart takes the command line of a process that was alive when the recording began. What an exec has set is
// newer.
func (a *applier) commandAtStart(pid uint32, args []byte, cut bool) {
	if pid == 0 || pid >= maxTID {
		return
	}
	cmd := a.out.commands.intern(args, cut)
	g := a.processes[pid]
	if g == nil {
		g = &process{pid: pid, made: a.list}
		a.processes[pid] = g
	}
	if g.command == nil && cmd != nil {
		g.setCommand(cmd)
	}
}

// setCommand gives a process its command line: its threads are defined anew when they are used next.
func (p *process) setCommand(cmd *command) {
	p.command = cmd
	for _, t := range p.threads {
		if d := t.def; d != nil && d.section == 0 {
			d.command = cmd // it was not used yet
		} else if d != nil {
			t.was, t.def = d, nil
		}
	}
}

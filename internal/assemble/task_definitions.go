package assemble

import (
	"google.golang.org/protobuf/proto"

	"wprof/format"
)

// name returns the id for a thread in an event. It writes the definition first if the section does not have it yet.
func (s *stream) name(t *thread) format.TaskID {
	if d := t.def; d != nil && d.section == s.section {
		return d.id
	}
	return s.define(s.current(t))
}

// current is the definition of a thread as it is known now.
func (s *stream) current(t *thread) *definition {
	if t.def != nil {
		return t.def
	}
	d := &definition{
		identity: t.identity, unknown: !t.identified, idle: t.isIdle, before: t.was.link(s.section),
		self: t.identified && t.pid == s.sched.recorder && t.pid != 0,
	}
	d.cgroup = t.cgroup
	if t.process != nil {
		d.command = t.process.command
	}
	t.def, t.was = d, nil
	return d
}

// define gives a definition an id of this section and writes it.
func (s *stream) define(d *definition) format.TaskID {
	if d.section == s.section {
		return d.id
	}
	s.id++
	t := &s.scratch
	proto.Reset(t)
	t.Id, t.Tid, t.Pid, t.Ppid = uint32(s.id), int32(d.tid), int32(d.pid), int32(d.ppid)
	t.Comm, t.ProcessComm, t.Start = d.comm.bytes(), d.processComm.bytes(), d.start
	t.NsTid, t.NsPid = int32(d.nsTID), int32(d.nsPID)
	if b := d.before; b != nil && b.section == s.section {
		t.Continues = uint32(b.id)
	}
	for _, f := range [...]struct {
		set bool
		bit format.TaskFlag
	}{
		{d.flags&kernelThread != 0, format.TaskFlag_TASK_FLAG_KTHREAD},
		{d.idle, format.TaskFlag_TASK_FLAG_IDLE},
		{d.self, format.TaskFlag_TASK_FLAG_SELF},
		{d.unknown, format.TaskFlag_TASK_FLAG_UNKNOWN},
	} {
		if f.set {
			t.Flags |= uint32(f.bit)
		}
	}
	if d.section == 0 && d.before == nil && !d.idle {
		s.summary.Threads++
	}
	d.id, d.section, d.before = s.id, s.section, nil
	t.Command, t.Cgroup = s.commands.define(s, d.command), s.types.defineText(s, d.cgroup)
	_ = s.w.DefineTask(t) // an error stays with the Writer, and the event's Write returns it
	s.defined()
	return d.id
}

// defined begins an epoch when definitions have become many.
func (s *stream) defined() {
	if s.w.DefinitionBytes() > s.full {
		s.requestEpoch()
	}
}

// requestEpoch begins an epoch before the next event.
func (s *stream) requestEpoch() {
	if s.nextEpoch > s.last {
		s.nextEpoch, s.due = s.last, s.last
	}
}

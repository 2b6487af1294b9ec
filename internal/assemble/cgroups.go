package assemble

import (
	"encoding/binary"

	"wprof/internal/ringdata"
)

// cgroupTable keeps the paths of cgroups of two generations, as a [waitTable] does waits. A thread keeps that of its own.
type cgroupTable struct {
	current, previous map[uint64]*textDef
	bytes             int // of the paths in current
}

const (
	// maxCgroups and maxCgroupBytes bound the cgroups of a generation.
	maxCgroups     = 1 << 15
	maxCgroupBytes = 8 << 20
)

func (c *cgroupTable) rotate() { c.previous, c.current, c.bytes = c.current, nil, 0 }

// keep keeps the content of a rec_cgroup.
func (c *cgroupTable) keep(b []byte) {
	id, path := binary.LittleEndian.Uint64(b[ringdata.CgroupID:]), b[ringdata.CgroupPath:]
	if d := c.current[id]; d != nil && d.text == string(path) {
		return
	}
	d := c.previous[id]
	if d == nil || d.text != string(path) { // one of v1 may have been renamed
		d = &textDef{text: string(path)}
	}
	c.put(id, d)
}

func (c *cgroupTable) put(id uint64, d *textDef) {
	if len(c.current) >= maxCgroups || c.bytes+len(d.text) > maxCgroupBytes {
		return
	}
	if c.current == nil {
		c.current = make(map[uint64]*textDef)
	}
	c.current[id] = d
	c.bytes += len(d.text)
}

// find returns the path of a cgroup; nil: its definition was lost, or id is 0.
func (c *cgroupTable) find(id uint64) *textDef {
	if d := c.current[id]; d != nil {
		return d
	}
	d := c.previous[id]
	if d != nil {
		c.put(id, d)
	}
	return d
}

// setCgroup notes that a thread is in a cgroup; nil: it is not known in which. The thread has another definition from then on.
func (t *thread) setCgroup(d *textDef) {
	if t.cgroup == d || t.isIdle {
		return
	}
	t.cgroup = d
	if def := t.def; def != nil && def.section == 0 {
		def.cgroup = d // it was not used yet
	} else if def != nil {
		t.was, t.def = def, nil
	}
}

// setCgroupOf notes the cgroup in a record of a thread. Records of older recorders have none.
func (a *applier) setCgroupOf(t *thread, b []byte, at int) {
	if len(b) < at+8 {
		return
	}
	if d := a.out.cgroups.find(binary.LittleEndian.Uint64(b[at:])); d != nil {
		t.setCgroup(d)
	}
}

// applyMove moves a thread to another cgroup, or all threads of a process.
func (a *applier) applyMove(b []byte, at int64) {
	le := binary.LittleEndian
	t := a.threads.get(le.Uint32(b[ringdata.HdrTID:]))
	if t == nil || t.identified && t.start != int64(le.Uint64(b[ringdata.MoveStartNS:])) {
		return
	}
	t.movedFrom = t.cgroup
	a.setCgroupOf(t, b, ringdata.MoveCgroup)
	t.moved = at
	if b[ringdata.HdrFlags]&ringdata.FlagLast == 0 || t.process == nil {
		return
	}
	for _, other := range t.process.threads {
		if other.isLive() {
			a.setCgroupOf(other, b, ringdata.MoveCgroup)
			other.moved = at
		}
	}
}

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/byid"
	"wprof/internal/stacks"
)

// sources is what event types besides the scheduler's show: packets, requests of block devices, page faults.
type sources struct {
	types          byid.Table[*sourceType] // of the current section
	values         []format.Value
	received, sent uint64 // packets
	drops          table[dropKey]
	dropped        uint64
	disks          map[uint32]*disk // by name
	faults         table[faultKey]  // major ones
	faulted        map[int32]uint64 // processes, with the number of their major faults
	kills          []kill           // for lack of memory, the first ones
	killed         uint64
}

// sourceType is an event type that reports are about, with the positions of its fields; -1: it has none such.
type sourceType struct {
	add    func(c *Collector, e *format.Event, t *sourceType)
	def    *format.EventType
	fields [maxSourceFields]int
}

const (
	maxSourceFields = 4
	maxDisks        = 1 << 10
	maxFaulting     = 1 << 13 // processes
)

// Fields of the types, as positions in sourceType.fields.
const (
	dropReason, dropFunction, dropTo, dropTransport = 0, 1, 2, 3

	blockDevice, blockQueued = 0, 1

	faultFile = 0

	oomVictim = 0
)

// typeOf finds out what a type is.
func (s *sources) typeOf(r *format.Reader, id uint32) *sourceType {
	if t := s.types.Get(id); t != nil {
		return t
	}
	t := &sourceType{def: r.EventType(id)}
	var fields []string
	switch string(t.def.GetName()) {
	case "packet_received":
		t.add = func(c *Collector, _ *format.Event, _ *sourceType) { c.sources.received++ }
	case "packet_sent":
		t.add = func(c *Collector, _ *format.Event, _ *sourceType) { c.sources.sent++ }
	case "packet_dropped":
		t.add, fields = (*Collector).addDrop, []string{dropReason: "reason", dropFunction: "function", dropTo: "destination", dropTransport: "transport"}
	case "block":
		t.add, fields = (*Collector).addRequest, []string{blockDevice: "device", blockQueued: "queued"}
	case "major_fault":
		t.add, fields = (*Collector).addMajorFault, []string{faultFile: "file"}
	case "oom_kill":
		t.add, fields = (*Collector).addKill, []string{oomVictim: "victim"}
	}
	for i, name := range fields {
		t.fields[i] = slices.IndexFunc(t.def.Fields, func(f *format.TypeField) bool { return string(f.Name) == name })
	}
	s.types.Put(id, t)
	return t
}

// addTyped adds an event of a source.
func (c *Collector) addTyped(e *format.Event) {
	s := &c.sources
	t := s.typeOf(c.r, e.TypeID())
	if t.add == nil {
		return
	}
	var ok bool
	if s.values, ok = t.def.AppendValues(s.values[:0], e); ok {
		t.add(c, e, t)
	}
}

// value returns a field's value; nil: the type has no such field.
func (c *Collector) value(t *sourceType, field int) *format.Value {
	if at := t.fields[field]; at >= 0 && at < len(c.sources.values) {
		return &c.sources.values[at]
	}
	return nil
}

// textOf returns a field's text, or the name of its number; 0: it has none.
func (c *Collector) textOf(t *sourceType, field int) uint32 {
	v := c.value(t, field)
	if v == nil {
		return 0
	}
	text := v.Bytes
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_TEXT:
		text = c.r.Text(v.ID()).GetText()
	case format.ValueType_VALUE_ENUM:
		for _, n := range v.Field.Names {
			if n.Number == v.Int() {
				text = n.Name
			}
		}
	}
	return c.names.id(string(stacks.Printable(text, stacks.Unnamed)))
}

// dropKey is why, where and on the way to which address packets were dropped, and which process ran then.
type dropKey struct{ reason, function, to, transport, process uint32 }

func compareDrops(a, b dropKey) int {
	return cmp.Or(cmp.Compare(a.reason, b.reason), cmp.Compare(a.function, b.function), cmp.Compare(a.to, b.to), cmp.Compare(a.transport, b.transport),
		cmp.Compare(a.process, b.process))
}

func (c *Collector) addDrop(e *format.Event, t *sourceType) {
	who := c.whoIs(e.Task)
	process := uint32(0)
	if who.pid != 0 && !who.idle {
		process = c.names.id(c.nameOf(who.pid, who.process))
	}
	reason, function := c.textOf(t, dropReason), c.textOf(t, dropFunction)
	if isUnread(c.names.text[reason], c.names.text[function]) {
		return
	}
	c.sources.dropped++
	key := dropKey{reason, function, c.textOf(t, dropTo), c.textOf(t, dropTransport), process}
	c.sources.drops.at(key).add(1, 1, 1)
}

// isUnread reports whether a packet had arrived, but its socket was closed before it was read: that is no loss on the way. The kernel has a
// reason for that only where sockets are of Unix; of others the function that frees what a socket has left shows it.
func isUnread(reason, function string) bool {
	function, _, _ = strings.Cut(function, ".") // what the compiler made of it: udp_destruct_common.isra.0
	switch function {
	case "udp_destruct_common", "udp_destruct_sock", "udpv6_destruct_sock", "inet_sock_destruct", "sk_stream_kill_queues":
		return true
	}
	return strings.HasSuffix(reason, "SOCKET_CLOSE")
}

func (c *Collector) addMajorFault(e *format.Event, t *sourceType) {
	pid := c.whoIs(e.Task).pid
	s := &c.sources
	if _, known := s.faulted[pid]; !known && len(s.faulted) >= maxFaulting {
		return
	}
	if s.faulted == nil {
		s.faulted = make(map[int32]uint64)
	}
	s.faulted[pid]++
	s.faults.at(faultKey{pid, c.textOf(t, faultFile)}).add(1, 1, 1)
}

// faultKey is the file for whose pages a process had page faults; 0: none.
type faultKey struct {
	pid  int32
	file uint32
}

func compareFaults(a, b faultKey) int {
	return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.file, b.file))
}

// files returns the files of the major page faults of a process.
func (s *sources) files(pid int32, names *names) (all parts) {
	of := table[faultKey]{all: make(map[faultKey]*sum)} // sorting those of all processes for each one would take too long
	for key, faults := range s.faults.all {
		if key.pid == pid {
			of.all[key] = faults
		}
	}
	for _, key := range of.sorted(compareFaults) {
		all.add(cmp.Or(names.text[key.file], "memory without a file"), of.all[key].Ns, 1)
	}
	return all
}

// Least of what makes a finding.
const (
	leastDrops     = 50   // packets a second
	leastOfPackets = 0.01 // of all
)

// drops adds packets that were dropped, of the whole machine: most are dropped in interrupts of whatever thread runs there.
func (f *finder) drops() {
	s := &f.c.sources
	all := max(s.received, s.sent, s.dropped) // nearly all that are dropped were received or sent before
	if f.c.o.Selector != nil || f.of != f.c.all || perSecond(s.dropped, f.report.WindowNs) < leastDrops || Share(s.dropped, all) < leastOfPackets {
		return
	}
	var why, where, to, by parts
	for _, key := range s.drops.sorted(compareDrops) {
		name, one := f.c.names.text, s.drops.all[key]
		why.add(name[key.reason], one.Ns, one.Count)
		where.add(name[key.function], one.Ns, one.Count)
		to.add(strings.TrimSpace(name[key.transport]+" "+name[key.to]), one.Ns, one.Count)
		by.add(name[key.process], one.Ns, one.Count)
	}
	n := int64(s.dropped)
	text := fmt.Sprintf("%.0f packets a second were dropped, %d of %d: %s", perSecond(s.dropped, f.report.WindowNs), n, all, listed(why.sorted(maxListed), n))
	for _, one := range []struct {
		before string
		parts  parts
	}{{"in ", where}, {"to ", to}, {"while these ran: ", by}} {
		if found := listed(one.parts.sorted(maxListed), n); found != "" {
			text += "; " + one.before + found
		}
	}
	f.addOf(ofPackets, packetDrops, Share(s.dropped, all), 0, 0, "wprof-filter -k packet_dropped", "%s", text)
	f.found[len(f.found)-1].Command += " | wprof-json"
}

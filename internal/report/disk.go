package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"wprof/format"
	"wprof/internal/waits"
)

// disk is what a block device did.
type disk struct {
	device sum // of its requests, from the issue to the completion
	queued int64
	busy   union // times in which it had any
}

// took is the time of its requests, in the queue and in the device.
func (d *disk) took() int64 { return format.Sum(d.device.Ns, d.queued) }

// union is the length of the union of times that are added in the order of their ends.
type union struct {
	ns    int64      // of those that nothing can overlap any more
	spans [][2]int64 // apart, and in order
}

// maxSpans bounds the gaps between requests that a later one may still fill.
const maxSpans = 256

func (u *union) add(from, to int64) {
	for n := len(u.spans); n > 0 && u.spans[n-1][1] >= from; n = len(u.spans) {
		from, to = min(from, u.spans[n-1][0]), max(to, u.spans[n-1][1])
		u.spans = u.spans[:n-1]
	}
	if len(u.spans) == maxSpans {
		u.ns += u.spans[0][1] - u.spans[0][0]
		u.spans = append(u.spans[:0], u.spans[1:]...)
	}
	u.spans = append(u.spans, [2]int64{from, to})
}

func (u *union) total() int64 {
	ns := u.ns
	for _, one := range u.spans {
		ns = format.Sum(ns, one[1]-one[0])
	}
	return ns
}

// addRequest adds a request that has ended, or that is open at the close of the window.
func (c *Collector) addRequest(e *format.Event, t *sourceType) {
	start, isSpan := e.Start()
	name := c.textOf(t, blockDevice)
	if !isSpan || name == 0 || start > e.Happened() {
		return
	}
	s := &c.sources
	d := s.disks[name]
	if d == nil {
		if len(s.disks) >= maxDisks {
			return
		}
		if s.disks == nil {
			s.disks = make(map[uint32]*disk)
		}
		d = new(disk)
		s.disks[name] = d
	}
	queued := int64(0)
	if v := c.value(t, blockQueued); v != nil {
		queued = min(max(0, v.Int()), e.Happened()-start)
	}
	issued := start + queued
	d.queued = format.Sum(d.queued, queued)
	d.device.add(e.Happened()-issued, 1, e.Happened()-issued)
	d.busy.add(max(c.opened, issued), e.Happened())
}

// Least of what makes a finding.
const (
	leastLatency  = int64(5e6) // of a device's requests on average: more than flash takes
	leastOfDisks  = 0.3        // of the time of all devices
	deepQueue     = 3.0        // requests at the same time, of a device that may be fast enough
	leastRequests = 10
)

// waitedForDisks is the time that a process waited for file systems, disks, and pages.
func (p *process) waitedForDisks() (ns int64) {
	for _, class := range append(waits.DiskClasses(), waits.PageFault) {
		ns += p.time[class].ns
	}
	return ns
}

// disks adds devices whose requests take long, if processes wait for disks.
func (f *finder) disks() {
	waited, by := int64(0), parts{}
	for _, p := range f.of.sortedProcesses() {
		if ns := p.waitedForDisks(); f.matters(ns, p.work()) {
			waited = format.Sum(waited, ns)
			by.add(f.nameOf(p.pid, p.name), ns, 1)
		}
	}
	all := int64(0)
	for _, d := range f.c.sources.disks {
		all = format.Sum(all, d.took())
	}
	if waited == 0 || f.of != f.c.all {
		return
	}
	names := slices.SortedFunc(maps.Keys(f.c.sources.disks), func(a, b uint32) int { return cmp.Compare(f.c.names.text[a], f.c.names.text[b]) })
	for _, name := range names {
		d := f.c.sources.disks[name]
		took, n := d.took(), int64(d.device.Count)
		if n < leastRequests || took/n < leastLatency || Share(took, all) < leastOfDisks {
			continue
		}
		f.device(f.c.names.text[name], d, took, all, waited, by.top().Name)
	}
}

// device adds one device.
func (f *finder) device(name string, d *disk, took, all, waited int64, by string) {
	n, busy := int64(d.device.Count), max(1, d.busy.total())
	atOnce := float64(d.device.Ns) / float64(busy)
	text := fmt.Sprintf("%d requests of %s took %s on average, longest %s: %s in the device, %s in the queue before it; it was busy for %s of the window, with %.1f requests at a time", n, name, short(took/n),
		short(d.device.longest), short(d.device.Ns/n), short(d.queued/n), percent(min(busy, f.report.WindowNs), f.report.WindowNs), atOnce)
	if atOnce >= deepQueue {
		text += fmt.Sprintf(": it completes one in %s, and the others wait for it", short(busy/n))
	} else {
		text += ": the device itself is slow"
	}
	part := int64(Share(took, all) * float64(waited))
	text += fmt.Sprintf("; threads waited %s for disks, most of all %s; %s of the time of all requests is of this device", short(waited), by, percent(took, all))
	f.add(slowDisk, f.weight(part), 0, 0, "wprof-perfetto", "%s", text)
}

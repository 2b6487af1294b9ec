package report

import (
	"cmp"
	"maps"
	"slices"

	"wprof/internal/container"
	"wprof/internal/waits"
)

// quota is what the threads of a cgroup did that could run.
type quota struct {
	could     int64 // ns for which they ran or could have run
	throttled sum   // the CPU quota was used up; the parts are processes
	of        *process
	several   bool // processes were throttled; else only of
}

// maxCgroups bounds the cgroups that are kept apart.
const maxCgroups = 1 << 13

// addQuota adds a thread to its cgroup.
func (o *totals) addQuota(t *thread, p *process) {
	q := o.quotas[t.who.cgroup]
	if q == nil {
		if len(o.quotas) >= maxCgroups {
			return
		}
		if o.quotas == nil {
			o.quotas = make(map[uint32]*quota)
		}
		q = new(quota)
		o.quotas[t.who.cgroup] = q
	}
	for _, class := range []int{classOnCPU, classInterrupt, int(waits.Runnable), int(waits.Preempted), int(waits.Throttled)} {
		q.could += t.in(class).ns
	}
	if throttled := t.in(int(waits.Throttled)); throttled.ns > 0 {
		q.throttled.add(throttled.ns, throttled.count, t.longestThrottled)
		q.throttled.by.add(o.c.nameOf(p.pid, p.name), throttled.ns, throttled.count)
		q.several = q.several || q.of != nil && q.of != p
		q.of = p
	}
}

// throttled adds the cgroups that had no CPU quota left for much of the time in which their threads could run.
func (f *finder) throttled() {
	cgroups := slices.SortedFunc(maps.Keys(f.of.quotas), func(a, b uint32) int {
		return cmp.Compare(f.c.names.text[a], f.c.names.text[b])
	})
	for _, cgroup := range cgroups {
		q := f.of.quotas[cgroup]
		ns := q.throttled.Ns
		if !f.matters(ns, q.could) {
			continue
		}
		where := "a cgroup that was not recorded"
		if path := f.c.names.text[cgroup]; path != "" {
			where = "cgroup " + path
			if place := container.Of(path); place.ID != "" {
				where = "container " + place.Label()
			}
		}
		who, pid, name, command := q.throttled.by.top().Name, int32(0), uint32(0), "wprof-flame --state --by cgroup"
		if !q.several {
			pid, name, command = q.of.pid, q.of.name, f.flame(q.of.pid, "--state")
		} else {
			who = "most of all " + who
		}
		f.add(noQuota, f.weight(ns), pid, name, command, "threads of %s were throttled for %s in total, because its CPU quota or a parent's was used up: %s of the time in which they could run, %d times, longest %s; %s",
			where, short(ns), percent(ns, q.could), q.throttled.Count, short(q.throttled.longest), who)
	}
}

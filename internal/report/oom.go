package report

import (
	"fmt"
	"strings"

	"wprof/format"
)

// kill is a process that the kernel killed for lack of memory.
type kill struct {
	at                int64
	victim, requester *who // requester is the thread that needed a page
}

// maxKills bounds the kills that are kept; all are counted.
const maxKills = 1 << 10

func (c *Collector) addKill(e *format.Event, t *sourceType) {
	v := c.value(t, oomVictim)
	if v == nil {
		return
	}
	one := kill{at: e.Happened(), victim: c.whoIs(format.TaskID(v.ID())), requester: c.whoIs(e.Task)}
	if !one.victim.isSelected && !one.requester.isSelected {
		return
	}
	if c.sources.killed++; len(c.sources.kills) < maxKills {
		c.sources.kills = append(c.sources.kills, one)
	}
}

// oomKills adds processes that were killed for lack of memory.
func (f *finder) oomKills() {
	s := &f.c.sources
	if f.of != f.c.all || len(s.kills) == 0 {
		return
	}
	var victims []string
	var cgroups, requesters parts
	for _, one := range s.kills {
		if len(victims) < maxListed {
			victims = append(victims, f.nameOf(one.victim.pid, one.victim.process))
		}
		cgroups.add(f.c.names.text[one.victim.cgroup], 1, 1)
		requesters.add(f.c.names.thread(one.requester), 1, 1)
	}
	first := s.kills[0]
	pid, name, text := first.victim.pid, first.victim.process, victims[0]+" was killed for lack of memory"
	if s.killed > 1 {
		pid, name, text = 0, 0, fmt.Sprintf("%d processes were killed for lack of memory (%s), the first", s.killed, listOf(victims, s.killed))
	}
	text += " " + f.at(first.at)
	for _, one := range []struct {
		before string
		parts  parts
	}{{"in cgroup ", cgroups}, {"the page was for ", requesters}} {
		if len(one.parts) == 1 {
			text += "; " + one.before + one.parts[0].Name
		} else if found := listed(one.parts.sorted(maxListed), int64(len(s.kills))); found != "" {
			text += "; " + one.before + found
		}
	}
	f.addOf(ofNothing, oomKill, 1, pid, name, "wprof-filter -k oom_kill", "%s", text)
	f.found[len(f.found)-1].Command += " | wprof-json"
}

// listOf joins the first of many names.
func listOf(first []string, all uint64) string {
	text := strings.Join(first, ", ")
	if uint64(len(first)) < all {
		text += ", …"
	}
	return text
}

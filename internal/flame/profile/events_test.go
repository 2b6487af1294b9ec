package profile_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/flame/folded"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/test/fromtext"
)

const eventTypes = `
eventtype 1 name="request" shape=span
  field "size" type=uint
  field "where" type=stack
eventtype 2 name="alloc"
  field "where" type=stack
eventtype 3 name="work" shape=begin
  field "where" type=stack
eventtype 4 name="work done" shape=end ends=3
eventtype 5 name="level"
  field "n" type=int hint=counter
  field "where" type=stack
`

// The window is 1 ms. The first request began before it.
const someEvents = window + eventTypes + `
+0 cpu0 state_cpu 2 prio=120
+1000 cpu0 typed 2 type=1 start=-500 .size=1 .where=1
+3000 cpu0 typed 2 type=1 start=+2000 .size=2 .where=1
+3000 cpu0 typed 3 type=1 start=+1000 .size=3 .where=4
+4000 cpu0 typed 2 type=2 .where=1
+5000 cpu0 typed 0 type=2 .where=0
+5000 cpu0 typed 2 type=2 .where=1
+6000 cpu0 typed 2 type=3 .where=5
+7000 cpu0 typed 2 type=3 .where=1
+7500 cpu0 typed 2 type=4
+8000 cpu0 typed 2 type=9
+9000 cpu0 typed 2 type=5 .n=7 .where=1
end close=+1000000
`

func TestEventsAreCountedByStack(t *testing.T) {
	for _, c := range []struct {
		names   string
		by      graph.Root
		unit    folded.Unit
		isCount bool
		notSeen string
		want    string
	}{
		{"request", graph.ByComm, folded.Nanoseconds, false, "", `
			main;main;app::work;inner 2000
			pool;main;do_syscall_64;vfs_read;schedule;__schedule 2000`},
		{"request", graph.ByThread, folded.Samples, false, "", `
			main-100/100;main;app::work;inner 2
			pool-100/101;main;do_syscall_64;vfs_read;schedule;__schedule 1`},
		{"alloc", graph.ByProcess, folded.Samples, true, "", `
			[no thread];[no stack] 1
			app-100;main;app::work;inner 2`},
		{"level", graph.ByProcess, folded.Nanoseconds, true, "", `app-100;main;app::work;inner 1`},
		{"work", graph.ByProcess, folded.Nanoseconds, false, "", `
			app-100;main;a:b 994000
			app-100;main;app::work;inner 500`},
		{"alloc,request,none", graph.ByNone, folded.Nanoseconds, false, "none", `
			main;app::work;inner 2000
			main;do_syscall_64;vfs_read;schedule;__schedule 2000`},
		{"work done", graph.ByNone, folded.Nanoseconds, true, "work done", ""},
	} {
		o := profile.Options{Inline: true, Events: strings.Split(c.names, ","), Threads: c.by == graph.ByThread}
		p := collected(t, fromtext.Stream(t, someEvents), o)
		var out strings.Builder
		if err := folded.Write(&out, p, graph.View{Mode: graph.Events, By: c.by, Inline: true}, folded.Text{Unit: c.unit}); err != nil {
			t.Fatal(err)
		}
		compareLines(t, out.String(), c.want)
		if p.About.IsCount != c.isCount || strings.Join(p.About.NotSeen, ",") != c.notSeen {
			t.Errorf("%s: a count: %v, not seen %q; want %v and %q", c.names, p.About.IsCount, p.About.NotSeen, c.isCount, c.notSeen)
		}
	}
}

// An event that stands for many counts as many, under the name of the thread by which they were counted.
func TestCountedEventsCountAsMany(t *testing.T) {
	stream := window + `
eventtype 1 name="alloc" on=global probe="u:alloc"
  field "where" type=stack
  field "comm" type=string
  field "events" type=uint hint=events
  field "sum" type=int hint=counter
eventtype 2 name="free" probe="u:free"
  field "where" type=stack
+1000 cpu0 typed 0 type=1 .where=1 .comm="one" .events=30 .sum=4000
+1000 cpu0 typed 0 type=1 .where=1 .comm="two" .events=7 .sum=50
+2000 cpu0 typed 0 type=1 .where=1 .comm="one" .events=5 .sum=600
+3000 cpu0 typed 2 type=2 .where=1
end close=+1000000
`
	for _, c := range []struct{ weight, want string }{
		{"", "app-100;main;app::work;inner 1\none;main;app::work;inner 35\ntwo;main;app::work;inner 7"},
		{"sum", "one;main;app::work;inner 4600\ntwo;main;app::work;inner 50"},
	} {
		o := profile.Options{Inline: true, Probes: true, Events: []string{"u:alloc", "free"}, Weight: profile.Weight{Arg: c.weight}}
		p := collected(t, fromtext.Stream(t, stream), o)
		var out strings.Builder
		if err := folded.Write(&out, p, graph.View{Mode: graph.Events, Inline: true}, folded.Text{Unit: folded.Nanoseconds}); err != nil {
			t.Fatal(err)
		}
		compareLines(t, out.String(), c.want)
	}
}

func TestTooManyCountedEventsAreAnError(t *testing.T) {
	stream := fromtext.Stream(t, window+`
eventtype 1 name="alloc" on=global probe="u:alloc"
  field "events" type=uint hint=events
+1000 cpu0 typed 0 type=1 .events=4000000000000000000
+2000 cpu0 typed 0 type=1 .events=4000000000000000000
end close=+1000000
`)
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := profile.Collect(r, profile.Options{Probes: true, Events: []string{"alloc"}}); err == nil || !strings.Contains(err.Error(), "events were counted") {
		t.Error(err)
	}
}

// A span that begins in one section and ends in the next has the stack of its begin, although ids differ there.
func TestEventSpansCrossSections(t *testing.T) {
	next := strings.NewReplacer("section host=box", "section continues host=box", "stack 1 frames=1,2", "stack 1 frames=1,10").Replace(window)
	begun, _, _ := strings.Cut(someEvents, "+7500")
	text := begun + "end\n" + next + eventTypes + "+7500 cpu0 typed 2 type=4\nend close=+1000000\n"
	p := collected(t, fromtext.Stream(t, text), profile.Options{Inline: true, Events: []string{"work"}})
	var out strings.Builder
	if err := folded.Write(&out, p, graph.View{Mode: graph.Events, Inline: true}, folded.Text{Unit: folded.Nanoseconds}); err != nil {
		t.Fatal(err)
	}
	compareLines(t, out.String(), "app-100;main;a:b 994000\napp-100;main;app::work;inner 500")
	if slices.ContainsFunc(p.Threads, func(t *profile.Thread) bool { return len(t.Cells) == 0 }) {
		t.Error("a thread has nothing")
	}
}

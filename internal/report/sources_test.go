package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// sourceEvents is a capture of 1 s of a thread that waits for a disk all the time, with events of sources.
func sourceEvents(events string) string {
	return `section host=box boot_id=b open=1000000000 close=+1s
cpu 0
task 1 tid=0 pid=0 comm=swapper flags=idle
task 2 tid=100 pid=100 comm=app process_comm=app start=5 cgroup=5
task 3 tid=200 pid=200 comm=hog process_comm=hog start=6 cgroup=6
task 4 tid=300 pid=300 comm=small process_comm=small start=6 cgroup=6
text 1 text="sda"
text 2 text="SOCKET_RCVBUFF"
text 3 text="udp_queue_rcv_one_skb"
text 4 text="data.db"
text 5 text="/app"
text 6 text="/batch"
wait 1 number=0 call=read has_fd fd=3 file=1
frame 1
  line function="io_schedule"
stack 1 frames=1 kernel_frames=1
eventtype 1 name="block" shape=span on=global
  field "device" type=text
  field "queued" type=duration
eventtype 2 name="packet_dropped" shape=instant on=global
  field "reason" type=text hint=name
  field "function" type=text
eventtype 3 name="packet_received" shape=instant on=global
  field "bytes" type=uint
eventtype 4 name="major_fault" shape=instant on=thread
  field "file" type=text
eventtype 5 name="oom_kill" shape=instant on=thread
  field "victim" type=task
+0 cpu0 state_cpu 1
+0 cpu0 state_thread 2 state=D since=0
` + events + "+999999999 cpu0 switch 1 next=2 prev_state=R since=0 next_state=D stack=1 wait=1\nend close=+1s\n"
}

func findingsOf(t *testing.T, text, kind string) (all []string) {
	t.Helper()
	for _, f := range reportOf(t, text).Findings {
		if f.Kind == kind {
			all = append(all, f.Summary)
		}
	}
	return all
}

// Requests of 20 ms, one after the other or ten at a time, and of 1 ms.
func TestSlowDisks(t *testing.T) {
	requests := func(each, apart int64) string {
		var text strings.Builder
		for at := each; at < 990e6; at += apart {
			fmt.Fprintf(&text, "+%d cpu0 typed 2 type=1 start=+%d .device=1 .queued=%d\n", at, at-each, each/20)
		}
		return text.String()
	}
	for name, c := range map[string]struct{ events, want string }{
		"one at a time": {requests(20e6, 20e6), "took 20.0 ms on average, longest 19.0 ms: 19.0 ms in the device, 1.0 ms in the queue before it; it was busy for 93% of the window, with 1.0 requests at a time: the device itself is slow"},
		"ten at a time": {requests(20e6, 2e6), "with 9.3 requests at a time: it completes one in 2.0 ms, and the others wait for it"},
		"fast":          {requests(1e6, 2e6), ""},
		"none":          {"", ""},
	} {
		found := strings.Join(findingsOf(t, sourceEvents(c.events), slowDisk), "\n")
		if c.want == "" && found != "" || !strings.Contains(found, c.want) {
			t.Errorf("%s: found %q, want %q", name, found, c.want)
		}
	}
}

func TestDroppedPackets(t *testing.T) {
	packets := func(received, dropped int) string {
		var text strings.Builder
		for i := range max(received, dropped) {
			if i < received {
				fmt.Fprintf(&text, "+%d cpu0 typed 0 type=3 .bytes=1\n", 1000*i)
			}
			if i < dropped {
				fmt.Fprintf(&text, "+%d cpu0 typed 0 type=2 .reason=2 .function=3\n", 1000*i+1)
			}
		}
		return text.String()
	}
	for _, c := range []struct {
		received, dropped int
		want              string
	}{
		{1000, 200, "200 packets a second were dropped, 200 of 1000: SOCKET_RCVBUFF 100%; in udp_queue_rcv_one_skb 100%"},
		{0, 200, "200 of 200"}, {1000, 40, ""}, {30000, 200, ""},
	} {
		found := strings.Join(findingsOf(t, sourceEvents(packets(c.received, c.dropped)), packetDrops), "\n")
		if c.want == "" && found != "" || !strings.Contains(found, c.want) {
			t.Errorf("%d received, %d dropped: found %q, want %q", c.received, c.dropped, found, c.want)
		}
	}
	for _, f := range reportOf(t, sourceEvents(packets(1000, 200))).Findings {
		if f.Kind == packetDrops && f.Command != "wprof-filter -k packet_dropped x.wprof | wprof-json" {
			t.Errorf("the command is %q", f.Command)
		}
	}
}

// Each weight has its unit, and what is no share has no number.
func TestWeightsHaveUnits(t *testing.T) {
	var events strings.Builder
	for i := range 100 {
		fmt.Fprintf(&events, "+%d cpu0 typed 0 type=3 .bytes=1\n+%d cpu0 typed 0 type=2 .reason=2 .function=3\n", 1000*i, 1000*i+1)
	}
	events.WriteString("+500000000 cpu0 typed 2 type=5 .victim=3\n")
	r := reportOf(t, sourceEvents(events.String()))
	var text bytes.Buffer
	r.PrintLists(&text)
	for _, want := range []string{
		"\n          oom-kill: hog (pid 200)",
		"\n          packet-drops, 100.0% of packets: 100 packets a second",
		"Findings (share of the time at work)\n  100.0%  disk-bound: app (pid 100)",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
	of := map[string]string{oomKill: "", packetDrops: "packets", diskBound: "work"}
	for _, f := range r.Findings {
		if want := of[f.Kind]; f.WeightOf != want {
			t.Errorf("the weight of %s is of %q, want %q", f.Kind, f.WeightOf, want)
		}
	}
}

// Packets that a socket had not read when it was closed are not lost on the way.
func TestUnreadPackets(t *testing.T) {
	for function, isUnread := range map[string]bool{
		"udp_destruct_common": true, "udpv6_destruct_sock": true, "inet_sock_destruct.part.0": true, "udp_queue_rcv_one_skb": false, "skb_queue_purge_reason": false,
	} {
		text := strings.Replace(sourceEvents(strings.Repeat("+1000 cpu0 typed 0 type=2 .reason=2 .function=3\n", 200)), "udp_queue_rcv_one_skb", function, 1)
		if found := findingsOf(t, text, packetDrops); (len(found) == 0) != isUnread {
			t.Errorf("packets dropped in %s: found %q", function, found)
		}
	}
}

func TestOomKills(t *testing.T) {
	one, two := "+500000000 cpu0 typed 2 type=5 .victim=3\n", "+600000000 cpu0 typed 2 type=5 .victim=4\n"
	for events, want := range map[string]string{
		"":        "",
		one:       "hog (pid 200) was killed for lack of memory 500.0 ms after the opening of the window; in cgroup /batch; the page was for app (100)",
		one + two: "2 processes were killed for lack of memory (hog (pid 200), small (pid 300)), the first 500.0 ms after the opening of the window; in cgroup /batch; the page was for app (100)",
	} {
		if found := strings.Join(findingsOf(t, sourceEvents(events), oomKill), "\n"); found != want {
			t.Errorf("found %q, want %q", found, want)
		}
	}
}

// The union of times is right whatever overlaps.
func TestUnion(t *testing.T) {
	var u union
	for _, one := range [][2]int64{{0, 10}, {5, 12}, {20, 30}, {25, 31}, {40, 50}, {8, 60}} {
		u.add(one[0], one[1])
	}
	if got := u.total(); got != 60 {
		t.Errorf("got %d, want 60", got)
	}
	var many union
	for i := range int64(10 * maxSpans) {
		many.add(10*i, 10*i+5)
	}
	if got := many.total(); got != 50*maxSpans || len(many.spans) > maxSpans {
		t.Errorf("got %d in %d spans, want %d", got, len(many.spans), 50*maxSpans)
	}
}

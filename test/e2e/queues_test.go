//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wprof/test/engine"
	"wprof/test/packets"
	"wprof/test/tools"
)

// queueSums are what events of a queue add up to.
type queueSums struct {
	events, packets, bytes uint64 // packets and bytes: the highest values of the counters
	allPackets, allBytes   uint64 // sums of all values of the counters
}

// TestQueuesAreTracksWithCounters compares tracks and counters of queues in Perfetto's engine with the JSON lines, and with /proc/net/dev.
func TestQueuesAreTracksWithCounters(t *testing.T) {
	tools.NeedPrivilege(t)
	link, frames := packets.NewLink(t), packets.Frames()
	var before, after map[string][2]uint64
	file := tools.Record(t, filepath.Join(t.TempDir(), "net.wprof"), []string{"-f", "net"}, func() {
		link.Inside(func() { before = deviceCounts(t, link) })
		for range 20 {
			for _, f := range frames {
				link.Send(f.Bytes)
			}
		}
		link.Inside(func() { after = deviceCounts(t, link) })
	})
	sent, received := link.From+" tx-0", link.To+" rx-0"
	lines := map[string]queueSums{}
	for _, l := range sourceLines(t, file, "packet_sent", "packet_received") {
		queue, _ := l.Args["queue"].(string)
		s := lines[queue]
		s.events++
		s.packets, s.bytes = max(s.packets, l.number("packets")), max(s.bytes, l.number("total"))
		s.allPackets += l.number("packets")
		s.allBytes += l.number("total")
		lines[queue] = s
	}
	for _, queue := range []string{sent, received} {
		s := lines[queue]
		for i, got := range []uint64{s.packets, s.bytes} {
			if want := after[queue][i] - before[queue][i]; got != want || s.events != uint64(20*len(frames)) {
				t.Errorf("%s: %d packets were sent, the kernel counts %d, the counters end at %+v", queue, 20*len(frames), want, s)
			}
		}
	}
	trace := convertForEngine(t, file)
	for _, queue := range []string{sent, received} {
		const counters = `(select cast(max(value) as int) || ' ' || cast(sum(value) as int) || ' ' || count(*) from counter c join counter_track t on c.track_id = t.id where t.name = 'Network %s %s')`
		row := engine.Query(t, trace, `select (select count(*) from slice s join track t on s.track_id = t.id where t.name = 'Network `+queue+`') as slices,`+
			fmt.Sprintf(counters, queue, "packets")+` as packets,`+fmt.Sprintf(counters, queue, "total")+` as bytes`)[0][0]
		s := lines[queue]
		got := fmt.Sprint(row["slices"], ", ", row["packets"], ", ", row["bytes"])
		if want := fmt.Sprintf("%d, %d %d %d, %d %d %d", s.events, s.packets, s.allPackets, s.events, s.bytes, s.allBytes, s.events); got != want {
			t.Errorf("%s: the engine has slices, and highest value, sum and number of packets and of bytes %s, the lines %s", queue, got, want)
		}
	}
}

// deviceCounts are packets and bytes of both queues in /proc/net/dev.
func deviceCounts(t *testing.T, link *packets.Link) map[string][2]uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/thread-self/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string][2]uint64{}
	for line := range strings.Lines(string(text)) {
		var v [16]uint64 // of the receiver and the sender: bytes, packets, and six more
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		for i, word := range strings.Fields(rest) {
			_, _ = fmt.Sscan(word, &v[i])
		}
		switch name {
		case link.From:
			counts[name+" tx-0"] = [2]uint64{v[9], v[8]}
		case link.To:
			counts[name+" rx-0"] = [2]uint64{v[1], v[0]}
		}
	}
	return counts
}

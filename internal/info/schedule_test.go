package info

import (
	"bytes"
	"strings"
	"testing"

	"wprof/test/fromtext"
)

func TestRequestedInstantIsShown(t *testing.T) {
	for _, c := range []struct{ section, shown, json string }{
		{`prepare="+5s" activate="/10s" requested=-0.0025`,
			"prepared    --prepare +5s\nactivated   --activate /10s, which was 2023-11-14 22:13:20.499500 UTC; the window opened 2.5ms later\n",
			`"prepare": "+5s", "activate": "/10s", "requested": "2023-11-14T22:13:20.4995Z", "requested_ns": 997500000,`},
		{`activate="@14:30" requested=+0`,
			"\nactivated   --activate @14:30, which was 2023-11-14 22:13:20.502000 UTC\n",
			`"prepare": null, "activate": "@14:30", "requested": "2023-11-14T22:13:20.502Z", "requested_ns": 1000000000,`},
		{`prepare="@14:30"`, "\nprepared    --prepare @14:30\nevents", `"prepare": "@14:30", "activate": null, "requested": null, "requested_ns": null,`},
	} {
		stream := fromtext.Stream(t, "section host=h boot_id=b open=1000000000 "+c.section+"\n clock monotonic=1000000000 realtime=1700000000502000000\nend close=+1s\n")
		if got, _ := printed(t, stream); !strings.Contains(got, c.shown) {
			t.Errorf("%s: got\n%swant\n%s", c.section, got, c.shown)
		}
		if got := strings.Join(strings.Fields(asJSON(t, stream)), " "); !strings.Contains(got, c.json) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.section, got, c.json)
		}
	}
}

// The clocks are compared at several moments, so an instant is a few ns off.
func TestOpeningIsRoundedToMilliseconds(t *testing.T) {
	stream := fromtext.Stream(t, "section host=h boot_id=b open=1000000000\n clock monotonic=1000000000 realtime=1699999999999999998\nend close=+1s\n")
	if got, _ := printed(t, stream); !strings.Contains(got, "\nrecorded    2023-11-14 22:13:20.000 UTC, for 1.000 s\n") {
		t.Errorf("got\n%s", got)
	}
}

// A folder of snapshots is understood without the messages of the recorder.
func TestReasonOfASnapshotIsShown(t *testing.T) {
	stream := fromtext.Stream(t, "section host=h boot_id=b open=1000000000\n config key=\"snapshot\" value=\"slow:req>50ms: thread 7 (worker), 60ms\"\nend close=+1s\n")
	if got, _ := printed(t, stream); !strings.Contains(got, "\nsnapshot    slow:req>50ms: thread 7 (worker), 60ms\n") {
		t.Errorf("got\n%s", got)
	}
}

func asJSON(t *testing.T, stream []byte) string {
	t.Helper()
	summary, err := Summarize(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := summary.WriteJSON(&out, "x"); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

package info

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wprof/internal/cli"
	"wprof/test/fromtext"
)

// summarized returns the summaries of a stream from a file and from another reader.
func summarized(t *testing.T, stream []byte, in io.Reader) (ofFile, ofOther *Summary) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.wprof")
	if err := os.WriteFile(path, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if ofFile, err = Summarize(f); err != nil {
		t.Fatalf("summarize the file: %v", err)
	}
	if ofOther, err = Summarize(in); err != nil {
		t.Fatalf("summarize the other reader: %v", err)
	}
	return ofFile, ofOther
}

// printed returns the summary of a stream from a file and from a pipe, which must be the same.
func printed(t *testing.T, stream []byte) (string, []string) {
	t.Helper()
	fromFile, fromPipe := summarized(t, stream, bytes.NewReader(stream))
	var one, other strings.Builder
	if err := fromFile.Print(&one, "x"); err != nil {
		t.Fatal(err)
	}
	if err := fromPipe.Print(&other, "x"); err != nil {
		t.Fatal(err)
	}
	if one.String() != other.String() {
		t.Errorf("from the file:\n%sfrom the pipe:\n%s", one.String(), other.String())
	}
	return one.String(), fromFile.Damage
}

const recording = `
section host=box boot_id=b kernel_release=6.12.1 machine=x86_64 open=1000000000 close=+5s
  command wprof-record -d5s -n "a b" "it's"
  history "wprof-filter -p 12"
  metadata key=run value="7"
  cpu 0
  cpu 1 node=1 offline
  clock monotonic=1 realtime=5
  clock monotonic=999000000 realtime=1700000000999000000
task 1 tid=1
+1 cpu0 free 1
+2 cpu0 free 1
+3 cpu0 waking 1 wakee=1
+4 cpu3 lost from=+3 count=7 cause=ring what=switch
end close=+5s last=false
  kind free events=1234565 bytes=12345678
  kind waking events=1
  process 12 start=5 comm="ping" ns=1500000000
  process 13 start=5 comm="b" ns=2000000000
`

func TestSummary(t *testing.T) {
	time.Local = time.FixedZone("elsewhere", 7200)
	text := recording + `  loss cpu=cpu3 kind=switch cause=ring count=7
section continues host=box boot_id=b close=6000000000
end close=+5s
  process 12 start=5 comm="ping2" ns=1000000000
  loss cpu=all kind=any cause=recursion count=1
  cost user_ns=1500000000 system_ns=250000 peak_rss=123456789 ring_bytes=8388608
    program sched_switch runs=1000 ns=140000 recursion_misses=2
`
	const want = `
host        box, Linux 6.12.1 x86_64, 2 CPUs in 2 NUMA nodes (1 offline)
recorded    2023-11-14 22:13:21.000 UTC, for 5.000 s
command     wprof-record -d5s -n 'a b' 'it'\''s'
then        wprof-filter -p 12
metadata    run=7
epochs      2
events      1,234,566, 246,913/s
  1,234,565  99.9%  246,913/s  12.3 MB  free
          1   0.0%        0/s      0 B  waking
stored      39 B of 39 B, 0.0 bytes an event
defined     1 definition
CPU time    2 processes on CPU in the window
  2.500 s  50.0%  pid 12  ping2
  2.000 s  40.0%  pid 13  b
lost        8 events
  7      cpu3  switch  ring
  1  all CPUs     any  recursion
recorder    1.500 s of CPU (1.500 s user, 250.0 us system), peak memory 123.5 MB, rings 8.4 MB,
            spool 0 B
  1,000 runs  140 ns each  2 skipped  sched_switch
`
	got, damage := printed(t, fromtext.Stream(t, text))
	// Its end block counts more events than a text can hold.
	isReported := len(damage) == 1 && strings.Contains(damage[0], "counts 1234566 events")
	if _, rest, _ := strings.Cut(got, "\n"); rest != want || !isReported {
		t.Errorf("damage %q, got\n%swant\n%s", damage, rest, want)
	}
}

func TestCoresAndCachesAreSummarized(t *testing.T) {
	const text = `
section open=1000000000 close=+5s
  cpu 0 core=0 package=0
  cpu 1 core=1 package=0
  cpu 2 core=0 package=0
  cpu 3 core=1 package=0
  cpu 4 node=1 core=2 package=1
  cpu 5 node=1 offline
  cache level=1 type=data size=32768 used=1,2,1,2,3
  cache level=3 type=unified size=33554432 used=1,1,1,1,0,0
  cache level=3 size=1572864 used=0,0,0,0,1,0
end close=+5s
`
	const want = "\nhost        6 CPUs in 2 NUMA nodes (1 offline)\n" +
		"CPUs        2 nodes, 3 cores, 5 CPUs, L3 of 1 core (1.5 MiB), L3 of 2 cores (32 MiB)\n"
	got, _ := printed(t, fromtext.Stream(t, text))
	if !strings.Contains(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestRatesAndSharesAreThoseOfTheKeptRange(t *testing.T) {
	const text = "section open=1000000000 close=+5s %s\nend close=+5s\n  kind free events=1000\n  process 12 comm=ping ns=250000000\n"
	for _, c := range []struct{ session, kept, rate, share string }{
		{"", "", "200/s", "5.0%  pid 12"},
		{"range_start=2000000000 range_end=2500000000", "from 1.000 s to 1.500 s after", "2,000/s", "50.0%  pid 12"},
		{"range_start=5000000000", "from 4.000 s to 5.000 s after", "1,000/s", "25.0%  pid 12"},
		{"range_end=2000000000", "from 0.000 s to 1.000 s after", "1,000/s", "25.0%  pid 12"},
		{"range_start=5000000000 range_end=99000000000", "from 4.000 s to 98.000 s after", "1,000/s", "25.0%  pid 12"},
	} {
		stream := fromtext.Stream(t, fmt.Sprintf(text, c.session))
		got, _ := printed(t, stream)
		for _, want := range []string{c.kept, c.rate, c.share} {
			if !strings.Contains(got, want) {
				t.Errorf("%q: %s is missing in\n%s", c.session, want, got)
			}
		}
		s, err := Summarize(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		if perSecond := *s.report("").Recordings[0].Kinds[0].PerSecond; cli.Grouped(int64(perSecond))+"/s" != c.rate {
			t.Errorf("%q: JSON has %v/s, want %s", c.session, perSecond, c.rate)
		}
	}
}

// Stretches that a filter kept are one recording. Its rates are those of the time that they are long.
func TestStretchesAreOneRecording(t *testing.T) {
	const one = "section id=0x7 boot_id=b open=1000000000 close=+10s %s\nend close=+10s %s\n  kind free events=500\n  process 12 comm=ping ns=250000000\n"
	text := fmt.Sprintf(one, "range_start=2000000000 range_end=2500000000", "") +
		fmt.Sprintf(one, "epoch=1 range_start=4000000000 range_end=4100000000", "last=false") +
		fmt.Sprintf(one, "epoch=2 continues range_start=4000000000 range_end=4250000000", "") +
		fmt.Sprintf(one, "epoch=3 range_start=5000000000 range_end=5000000000", "") +
		fmt.Sprintf(one, "epoch=4 range_start=8000000000 range_end=8250000000", "")
	stream := fromtext.Stream(t, text)
	got, _ := printed(t, stream)
	for _, want := range []string{"3 stretches, 1.000 s of 10.000 s, from 1.000 s to 7.250 s after", "2,500/s", "epochs      2\n", "125.0%  pid 12"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	s, err := Summarize(bytes.NewReader(stream))
	if err != nil || len(s.Recordings) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	r := s.report("").Recordings[0]
	if r.Stretches != 3 || *r.KeptNs != 1e9 || *r.KeptFromNs != 1e9 || *r.KeptToNs != 7.25e9 || r.Epochs != 2 || *r.DurationNs != 10e9 {
		t.Errorf("%d stretches of %d, %d epochs", r.Stretches, *r.KeptNs, r.Epochs)
	}
	// Another recording, and another part of the same one without a range, are not.
	other := fromtext.Stream(t, fmt.Sprintf(one, "range_start=2000000000 range_end=2500000000", "")+"section id=0x8 boot_id=b open=20000000000 range_start=20500000000 close=+10s\nend close=+10s\n")
	if s, err := Summarize(bytes.NewReader(other)); err != nil || len(s.Recordings) != 2 {
		t.Errorf("%d recordings, %v", len(s.Recordings), err)
	}
}

func TestOnlyTheWholeIsAHundredPercent(t *testing.T) {
	for _, c := range []struct {
		part, whole float64
		want        string
	}{{9999, 10000, "99.9%"}, {10000, 10000, "100.0%"}, {3, 2, "150.0%"}, {1, 0, "-"}, {1, 3, "33.3%"}} {
		if got := percent(c.part, c.whole); got != c.want {
			t.Errorf("%v of %v: got %s, want %s", c.part, c.whole, got, c.want)
		}
	}
}

func TestSummaryOfHostileNames(t *testing.T) {
	const evil = `\x1b]0;x\x07\n\xff`
	got, _ := printed(t, fromtext.Stream(t, `section host="`+strings.ReplaceAll(evil, `\xff`, "\u202e")+`" kernel_release="\x1b[31m" machine="\n" open=1
  command "a\nb" "\x1b[2J" "c'd\n"
  history "\x1b[2J"
  metadata key="\n" value="\r"
end
  process 1 comm="`+evil+`" ns=1
  cost user_ns=1
    program "\x1b[2J"
`))
	for i, r := range got {
		if r < ' ' && r != '\n' || r == 0x7f || r == 0x202e || r == '\ufffd' {
			t.Errorf("the character %q stands at %d of\n%s", r, i, got)
		}
	}
	for _, want := range []string{`"\x1b]0;x\a\n\xff"`, `$'a\nb' $'\x1b[2J' $'c\'d\n'`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
}

func TestSummaryReportsDamage(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"section\n+1 cpu0 free 1\n", "has no end block"},
		{"section drop\n+1 cpu0 free 1\nend\n", "the header of a section is missing"},
		{"section\n+1 cpu0 free 1\nend\ncut 1\n", "has no end block"},
	} {
		got, damage := printed(t, fromtext.Stream(t, c.text))
		if len(damage) == 0 || !strings.Contains(strings.Join(damage, "\n"), c.want) {
			t.Errorf("%q: got %q, want %s", c.text, damage, c.want)
		}
		if !strings.Contains(got, "events      1\n") && !strings.Contains(got, "events      1,") {
			t.Errorf("%q: the event is not counted:\n%s", c.text, got)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	for got, want := range map[string]string{
		cli.Grouped(0): "0", cli.Grouped(999): "999", cli.Grouped(1000): "1,000", cli.Grouped(1234567): "1,234,567", cli.Grouped(-1234): "-1,234",
		size(int64(999)): "999 B", size(int64(1000)): "1.0 kB", size(int64(12_345_678)): "12.3 MB", size(int64(999_990)): "1.0 MB",
		seconds(5e9): "5.000 s", seconds(1234567e9): "1,234,567.000 s", seconds(1e6): "0.001 s", seconds(999): "1.0 us", seconds(0): "0.000 s",
		seconds(-5e8): "-0.500 s",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

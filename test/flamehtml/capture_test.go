//go:build linux

package flamehtml

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/test/page"
	"wprof/test/tools"
)

// record records this machine while a part of this process spins and another one sleeps.
func record(t *testing.T) string {
	t.Helper()
	tools.NeedPrivilege(t)
	return tools.Record(t, filepath.Join(t.TempDir(), "host.wprof"), []string{"-Stimer=499hz", "-S+offcpu"}, func() {
		for end := time.Now().Add(1200 * time.Millisecond); time.Now().Before(end); {
			for begin := time.Now(); time.Since(begin) < 5*time.Millisecond; {
			}
			time.Sleep(3 * time.Millisecond)
		}
	})
}

// folded are the stacks that wprof-flame writes of a capture, with their ns.
func folded(t *testing.T, args ...string) map[string]int64 {
	t.Helper()
	stacks := make(map[string]int64)
	out := tools.Run(t, "wprof-flame", append([]string{"--folded", "--unit", "ns"}, args...)...)
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		at := strings.LastIndexByte(lines.Text(), ' ')
		ns, err := strconv.ParseInt(lines.Text()[at+1:], 10, 64)
		if err != nil {
			t.Fatalf("wprof-flame wrote %q", lines.Text())
		}
		stacks[lines.Text()[:at]] += ns
	}
	return stacks
}

// shownStacks are the page's graph as folded stacks.
func shownStacks(pg *page.Page) map[string]int64 {
	var stacks map[string]int64
	pg.Eval(`(() => {
		const {graph: g} = wprof.flame, stacks = {};
		for (let i = 1; i < g.length; i++) {
			if (g.self(i) === 0) continue;
			const path = g.path(i).map((n) => wprof.flame.name(n).replaceAll(';', ':')).join(';') + ['', '_[c]', '_[o]'][g.mark[i]];
			stacks[path] = (stacks[path] ?? 0) + g.self(i);
		}
		return stacks;
	})()`, &stacks)
	return stacks
}

// A capture's page and its folded stacks show the same, to the nanosecond.
func TestPageOfACaptureMatchesFoldedStacks(t *testing.T) {
	t.Parallel()
	file := record(t)
	html := filepath.Join(t.TempDir(), "host.html")
	tools.Run(t, "wprof-flame", "--unfold-idle", "--html="+html, file)
	pg := openFile(t, html)
	for _, c := range []struct {
		view string
		args []string
	}{
		{"{fold: false}", []string{"--wall"}},
		{"{mode: 1}", []string{"--on-cpu"}},
		{"{mode: 2, states: true}", []string{"--off-cpu", "--state"}},
		{"{mode: 2, states: false, idle: false}", []string{"--off-cpu", "--no-idle-waits"}},
		{"{mode: 0, idle: true, by: 1}", []string{"--wall", "--by", "thread"}},
		{"{by: 0, reverse: true}", []string{"--wall", "--reverse"}},
		{"{mode: 1, by: 4, reverse: false}", []string{"--on-cpu", "--by", "none"}},
		{"{by: 2}", []string{"--on-cpu", "--by", "comm"}},
	} {
		pg.Eval("wprof.change("+c.view+")", nil)
		got, want := shownStacks(pg), folded(t, append(c.args, file)...)
		if maps.Equal(got, want) && len(want) > 10 {
			continue
		}
		for stack, ns := range want {
			if got[stack] != ns {
				t.Errorf("%v: the page shows %d ns of %s, want %d", c.args, got[stack], stack, ns)
			}
		}
		t.Fatalf("%v: the page has %d stacks, want %d", c.args, len(got), len(want))
	}
}

// A range of a page is what the capture has when it is cut to that range; the stacks' times on the CPU may be rounded differently. Time off the
// CPU is not compared with unknown time: the state at the cut may say more. Other processes may be among those whose switches the kernel
// hides.
func TestPageRangeIsThatOfTheCapture(t *testing.T) {
	t.Parallel()
	file := record(t)
	html := filepath.Join(t.TempDir(), "host.html")
	tools.Run(t, "wprof-flame", "--unfold-idle", "--html="+html, file)
	pg := openFile(t, html)
	var slot int64
	pg.Eval("wprof.profile.slot", &slot)
	own := fmt.Sprintf("flamehtml.test-%d", os.Getpid())
	for _, c := range [][2]int64{{50, 190}, {100, 130}, {200, 203}} {
		pg.Eval(fmt.Sprintf("wprof.change({from: %d, to: %d})", c[0], c[1]), nil)
		cut := []string{"--start", fmt.Sprintf("%dns", c[0]*slot), "--end", fmt.Sprintf("%dns", c[1]*slot), file}
		shown, wanted := shownStacks(pg), folded(t, cut...)
		got, want := byRoot(shown), byRoot(wanted)
		for _, root := range []string{own, own + ", on CPU"} {
			if got[root] != want[root] || want[root] == 0 {
				t.Errorf("slots %d to %d of %v have %d ns of %s, want %d", c[0], c[1], time.Duration(slot), got[root], root, want[root])
			}
		}
		for stack, ns := range wanted {
			if strings.HasPrefix(stack, own+";") && strings.HasSuffix(stack, "_[c]") && max(ns-shown[stack], shown[stack]-ns) > 2 {
				t.Errorf("slots %d to %d have %d ns of %s, want %d", c[0], c[1], shown[stack], stack, ns)
			}
		}
	}
}

// With --spread span, the page shows what the folded stacks show, and the time on the CPU of any range is the same as by default.
func TestPageOfACaptureSpanBySpan(t *testing.T) {
	t.Parallel()
	file := record(t)
	plain, spans := filepath.Join(t.TempDir(), "plain.html"), filepath.Join(t.TempDir(), "spans.html")
	tools.Run(t, "wprof-flame", "--html="+plain, "--on-cpu", file)
	tools.Run(t, "wprof-flame", "--html="+spans, "--on-cpu", "--spread", "span", file)
	of, pg := openFile(t, plain), openFile(t, spans)
	if got, want := shownStacks(pg), folded(t, "--on-cpu", "--spread", "span", file); !maps.Equal(got, want) || len(want) < 10 {
		t.Errorf("the page has %d stacks, want the %d of the folded ones", len(got), len(want))
	}
	for _, c := range []string{"{from: 50, to: 190}", "{from: 3, to: 4}", "{from: 190, to: 250, by: 1}"} {
		of.Eval("wprof.change("+c+")", nil)
		pg.Eval("wprof.change("+c+")", nil)
		if got, want := byRoot(shownStacks(pg)), byRoot(shownStacks(of)); !maps.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s: %v, want %v", c, got, want)
		}
	}
}

// offCPUIntervals counts the off-CPU intervals of a process by the JSON lines: those that a switch ends, those of which only the wakeup
// is known, because the kernel did not report the switch, and those that are open when the window closes. Of the last ones the
// stream has states. Without a wakeup it is not known how long the thread was off-CPU. A thread can also be woken while it runs, when it
// is about to leave its CPU: then it stays.
func offCPUIntervals(t *testing.T, file string, pid int) (n int64) {
	t.Helper()
	type task struct{ TID, PID int }
	isWoken, runs := make(map[int]bool), make(map[int]bool)
	for _, line := range bytes.Split(tools.Run(t, "wprof-json", "-k", "switch,waking", "--no-stacks", file), []byte("\n")) {
		var e struct {
			T                 string
			Prev, Next, Wakee task
			NextState         string `json:"next_state"`
		}
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.T == "waking" && e.Wakee.PID == pid && !runs[e.Wakee.TID] {
			isWoken[e.Wakee.TID] = true
		}
		if e.T != "switch" {
			continue
		}
		runs[e.Prev.TID], runs[e.Next.TID] = false, true
		if e.Next.PID == pid {
			isWoken[e.Next.TID] = false
			if e.NextState != "" {
				n++
			}
		}
		if e.Prev.PID == pid && isWoken[e.Prev.TID] {
			isWoken[e.Prev.TID] = false
			n++
		}
	}
	open := regexp.MustCompile(`(?m)^.* state_thread .* open`)
	return n + int64(len(open.FindAll(tools.Run(t, "wprof-info", "--dump", file), -1)))
}

// A block and the wait for a CPU after it are one off-CPU interval, as in the JSON lines.
func TestPageCountsOffCPUIntervalsOnce(t *testing.T) {
	t.Parallel()
	own := filepath.Join(t.TempDir(), "own.wprof")
	tools.Run(t, "wprof-filter", "-p", fmt.Sprint(os.Getpid()), record(t), "-o", own)
	html := filepath.Join(t.TempDir(), "own.html")
	tools.Run(t, "wprof-flame", "--html="+html, own)
	pg := openFile(t, html)
	var got struct{ Intervals, Waits int64 }
	pg.Eval("({Intervals: wprof.flame.graph.intervals[0], Waits: wprof.flame.graph.waits[0]})", &got)
	if want := offCPUIntervals(t, own, os.Getpid()); got.Intervals != want || want < 100 || got.Waits < 100 {
		t.Errorf("the page counts %d off-CPU intervals and %d waits for a CPU, the JSON lines %d off-CPU intervals", got.Intervals, got.Waits, want)
	}
	if text := pg.Text("wprof.boxText.counts(0)"); !strings.Contains(text, " off-CPU intervals, ") || !strings.Contains(text, " waits for a CPU") {
		t.Errorf("the page shows %q", text)
	}
}

// byRoot adds stacks up by root, those that were on the CPU for themselves.
func byRoot(stacks map[string]int64) map[string]int64 {
	sums := make(map[string]int64)
	for stack, ns := range stacks {
		root, _, _ := strings.Cut(stack, ";")
		root = strings.TrimSuffix(root, "_[o]")
		if stack, on := strings.CutSuffix(stack, "_[c]"); on {
			root, _, _ = strings.Cut(stack, ";")
			root += ", on CPU"
		}
		sums[root] += ns
	}
	return sums
}

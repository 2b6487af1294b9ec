//go:build linux

package probe

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

// within is where spot_inside is in spot: an instruction in a loop.
func within(t *testing.T) uint64 {
	t.Helper()
	f, err := elf.Open(tools.Path("known"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]uint64{}
	for _, s := range symbols {
		at[s.Name] = s.Value
	}
	return at["spot_inside"] - at["spot"]
}

// A probe within an instruction would make it another one.
func TestOffsetsWithinInstructions(t *testing.T) {
	tools.NeedPrivilege(t)
	out, err := exec.Command("objdump", "--disassemble=take_eight", "--no-show-raw-insn", tools.Path("known")).Output()
	if err != nil {
		t.Skip(err)
	}
	begins := make(map[uint64]bool)
	var first, last uint64
	for _, found := range regexp.MustCompile(`(?m)^ +([0-9a-f]+):`).FindAllStringSubmatch(string(out), -1) {
		last, _ = strconv.ParseUint(found[1], 16, 64)
		if first == 0 {
			first = last
		}
		begins[last-first] = true
	}
	if len(begins) < 5 {
		t.Fatalf("%d instructions: %s", len(begins), out)
	}
	var accepted []string
	for at := range last - first + 1 {
		accepted = append(accepted, "-U", fmt.Sprintf("u:take_eight+%#x", at))
		if begins[at] {
			continue
		}
		r := tools.Try(t, time.Minute, nil, "wprof-record", "-o", filepath.Join(t.TempDir(), "a.wprof"), accepted[len(accepted)-2], accepted[len(accepted)-1], "--", tools.Path("known"), "quick", "1")
		if accepted = accepted[:len(accepted)-2]; r.Status == 0 || !strings.Contains(string(r.Stderr), "no instruction begins at") {
			t.Errorf("+%#x: status %d: %s", at, r.Status, r.Stderr)
		}
	}
	tools.Run(t, "wprof-record", append(append(accepted, "-o", filepath.Join(t.TempDir(), "a.wprof")), "--", tools.Path("known"), "all")...)
}

func knownProbes(t *testing.T) []string {
	library := tools.Path("libknown.so")
	return []string{
		`u:take_int (arg:0:s32/name(n)) | id:int |`,
		`u:take_int (arg:0:u32/x) | id:hex |`,
		`u:take_int (arg:0:s32/map(-50=first, 49=last)) | id:mapped, if:arg:0:s32>40 |`,
		`u:take_text (arg:0:str/name(text)) | id:text |`,
		`u:take_eight (arg:0:s32/name(a), arg:5:s32/name(f), arg:6:s32/name(g), arg:7:str/name(h)) | id:eight, name:"{h} of {func}" |`,
		fmt.Sprintf(`u:spot+%#x | id:spot |`, within(t)),
		`uret:give (arg:ret:s32) | id:give |`,
		`uret:give_text (arg:ret:str/name(text)) | id:give_text |`,
		`uspan:nest (arg:0:s32/name(depth), arg:ret:s32) | id:nest |`,
		`uspan:slow (arg:0:s32/name(us), arg:ret:s64/name(inside)) | id:slow |`,
		`uspan:slow | id:long, min:3ms |`,
		`u:glob_* | id:glob, name:"{func}" |`,
		`u:shared (arg:0:s32/name(n), stack) | id:stack |`,
		`uspan:shared (stack) | id:span_stack, entry:no |`,
		`u:named (arg:0:s32/name(n), comm:alpha-*) | id:comm |`,

		`u:take_int (arg:0:s32/name(n)) | id:if_number, if:n>=-3 && n<10 && n!=4 |`,
		`u:take_int (arg:0:s32/name(n)) | id:if_unsigned, if:arg:0:u32>4294967290 |`,
		`u:take_int (arg:0:s32/name(n)) | id:if_bits, if:arg:0:s32&0x20 && n>0 |`,
		`u:take_text (arg:0:str/name(text)) | id:if_equal, if:text=="text 3" |`,
		`u:take_text (arg:0:str/name(text)) | id:if_not_equal, if:text!="text 3" |`,
		`u:take_text (arg:0:str/name(text)) | id:if_glob, if:text~"*e?t *7" |`,
		`u:take_text (arg:0:str/name(text)) | id:if_mark, if:text~"text ?" |`,
		`uret:give (arg:ret:s32) | id:if_return, if:ret<-20 |`,
		`u:take_int (arg:0:s32/name(n)) | id:sampled, sample:10 |`,
		`u:flood | id:limited, limit:100 |`,

		`usdt:known:guarded (arg:0/name(id), arg:1/name(byte), arg:2/name(large), arg:3:str/name(text)) | id:guarded |`,
		`usdt:known:plain (arg:0, arg:1, arg:2:str) | id:plain |`,
		`usdt:known:begin (arg:0/name(id)) ~~ usdt:known:end (arg:1/name(status)) | id:requests |`,
		`usdt:known:sent (arg:0/name(id)) ~~ usdt:known:got (arg:1/name(minus)) | id:crossed, key:arg:0 |`,
		`u:library_call (arg:0:s32/name(n), path:` + library + `) | id:library |`,
		`usdt:library:called (arg:0/name(n), path:` + library + `) | id:library_probe |`,

		`tp:task:task_rename (arg:*) | id:tp, if:newcomm~"renamed-*" |`,
		`raw_tp:task_rename (arg:task.pid/name(pid), arg:task.comm/name(oldcomm), arg:comm::cast<u64>:str/name(newcomm), ` +
			`arg:task.signal.oom_score_adj/name(oom_score_adj)) | id:raw_tp, if:newcomm~"renamed-*" |`,
		`raw_tp:task_rename (arg:task.real_parent.tgid/name(parent), arg:task.real_parent::cast<struct task_struct *>.tgid/name(again)) | id:chain, if:arg:comm:str=="renamed-0" |`,
		`tp:syscalls:sys_enter_clock_nanosleep (arg:flags) ~~ tp:syscalls:sys_exit_clock_nanosleep (arg:ret) | id:calls, if:ret>=0 |`,
		`tp:syscalls:sys_enter_openat (arg:filename:str/name(path)) | id:opened, if:path~"*/libknown.so" |`,

		`u:amount | id:count, count, if:arg:0:s32==3 |`,
		`u:amount (arg:0:s32/name(key)) | id:sum, sum:arg:1:s64, by:key |`,
		`u:amount | id:hist, hist:arg:1:s64, by:arg:2:str/name(text) |`,
		`u:named | id:by_comm, count, by:comm |`,
		`u:shared | id:by_stack, count, by:stack |`,
		`uspan:slow | id:durations, hist:dur |`,
	}
}

func TestKnownCalls(t *testing.T) {
	c := record(t, knownProbes(t), tools.Path("known"), "all")
	expected := map[string][]string{
		"calls":  each(8, func(int) string { return `{"flags":0,"ret":0}` }),
		"opened": {fmt.Sprintf(`{"path":"%s"}`, tools.Path("libknown.so"))},
		"int":    each(100, func(i int) string { return fmt.Sprintf(`{"n":%d}`, i-50) }),
		"hex":    each(100, func(i int) string { return fmt.Sprintf(`{"arg0":"%#x"}`, uint32(i-50)) }),
		"mapped": each(9, func(i int) string {
			return `{"arg0":` + map[bool]string{true: `"last"`, false: strconv.Itoa(i + 41)}[i == 8] + `}`
		}),
		"eight":        each(10, func(i int) string { return fmt.Sprintf(`{"a":%d,"f":5,"g":%d,"h":"eighth %d"}`, i, 7*i-30, i) }),
		"spot":         each(42, func(int) string { return `{}` }),
		"give":         each(10, func(i int) string { return fmt.Sprintf(`{"ret":%d}`, -3*i) }),
		"give_text":    each(10, func(i int) string { return fmt.Sprintf(`{"text":"returned %d"}`, i) }),
		"if_number":    each(100, func(i int) string { return when(i-50 >= -3 && i-50 < 10 && i-50 != 4, `{"n":%d}`, i-50) }),
		"if_unsigned":  each(5, func(i int) string { return fmt.Sprintf(`{"n":%d}`, i-5) }),
		"if_bits":      each(18, func(i int) string { return fmt.Sprintf(`{"n":%d}`, i+32) }),
		"if_equal":     {`{"text":"text 3"}`},
		"if_not_equal": append(each(10, func(i int) string { return when(i != 3, `{"text":"text %d"}`, i) }), `{"text":"`+strings.Repeat("x", 255)+`"}`),
		"if_glob":      {`{"text":"text 7"}`},
		"if_mark":      each(10, func(i int) string { return fmt.Sprintf(`{"text":"text %d"}`, i) }),
		"if_return":    each(10, func(i int) string { return when(-3*i < -20, `{"ret":%d}`, -3*i) }),
		"sampled":      each(10, func(i int) string { return fmt.Sprintf(`{"n":%d}`, 10*i-50) }),
		"comm":         each(12, func(i int) string { return fmt.Sprintf(`{"n":%d}`, i%6) }),
		"guarded": each(15, func(i int) string {
			return fmt.Sprintf(`{"id":%d,"byte":%d,"large":%d,"text":"guarded"}`, -i, uint8(250+i), 1<<40|i)
		}),
		"plain": each(12, func(i int) string {
			return fmt.Sprintf(`{"arg0":%d,"arg1":%d,"arg2":"plain %d"}`, i, -5000000000*i, i%10)
		}),
		"requests":      each(20, func(i int) string { return fmt.Sprintf(`{"id":%d,"status":%d}`, i, 200+i) }),
		"library":       each(25, func(i int) string { return fmt.Sprintf(`{"n":%d}`, i) }),
		"library_probe": each(25, func(i int) string { return fmt.Sprintf(`{"n":%d}`, i) }),
		"text": append(each(10, func(i int) string { return fmt.Sprintf(`{"text":"text %d"}`, i) }),
			`{"text":"`+strings.Repeat("x", 255)+`"}`, `{"text":null}`, `{"text":null}`),
	}
	for id, want := range expected {
		t.Run(id, func(t *testing.T) { check(t, c.args(id), want) })
	}
	t.Run("names", c.checkNames)
	t.Run("nest", c.checkNesting)
	t.Run("durations", c.checkDurations)
	t.Run("stacks", c.checkStacks)
	t.Run("limit", c.checkLimit)
	t.Run("semaphores", c.checkSemaphores)
	t.Run("threads", c.checkThreads)
	t.Run("kernel", c.checkKernel)
	t.Run("counts", c.checkCounts)
}

func when(is bool, layout string, args ...any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(layout, args...)
}

func (c *capture) checkNames(t *testing.T) {
	var names []string
	for _, e := range slices.Concat(c.of("glob"), c.of("eight")[:1]) {
		names = append(names, e.Name)
	}
	var want []string
	for i := range 6 {
		want = append(want, "glob_three")
		if i%2 == 1 {
			want = append(want, "glob_two")
		}
		if i == 0 {
			want = append(want, "glob_one")
		}
	}
	check(t, names, append(want, "eighth 0 of take_eight"))
}

// Calls nest: each begins after the one that it is in, and ends before it.
func (c *capture) checkNesting(t *testing.T) {
	check(t, c.args("nest"), each(50, func(i int) string { return fmt.Sprintf(`{"depth":%d,"ret":%d}`, i%10+1, i%10+1) }))
	var entries []string
	for _, e := range c.entries("nest") {
		entries = append(entries, string(e.Args))
	}
	check(t, entries, each(50, func(i int) string { return fmt.Sprintf(`{"depth":%d}`, 10-i%10) }))
	spans := c.of("nest")
	for i := range spans[1:] {
		inner, outer := spans[i], spans[i+1]
		if i%10 != 9 && (outer.Start >= inner.Start || outer.TS <= inner.TS) || i%10 == 9 && outer.Start <= inner.TS {
			t.Errorf("%+v and %+v", inner, outer)
		}
	}
}

// A span is as long as the function says, and not longer than its caller says.
func (c *capture) checkDurations(t *testing.T) {
	spans := c.of("slow")
	if len(spans) != 8 {
		t.Fatalf("%d spans, want 8", len(spans))
	}
	short, long := 0, 0
	for i, e := range spans {
		outside, _ := strconv.ParseInt(c.said["outside"][i], 10, 64)
		if inside := e.number(t, "inside"); strconv.FormatInt(inside, 10) != c.said["inside"][i] || e.Dur < inside || e.Dur > outside || e.number(t, "us") != 1000<<(i/2) {
			t.Errorf("%d ns of %s, and the function was inside for %s ns, outside for %d ns", e.Dur, e.Args, c.said["inside"][i], outside)
		}
		if e.Dur > 2.5e6 {
			short++
		}
		if e.Dur > 3.5e6 {
			long++
		}
	}
	if n := len(c.of("long")); n < long || n > short || len(c.entries("long")) > 0 {
		t.Errorf("%d spans of 3 ms, and %d were longer than 3.5 ms, %d than 2.5 ms", n, long, short)
	}
}

func (c *capture) checkStacks(t *testing.T) {
	for _, id := range []string{"stack", "span_stack"} {
		events := c.of(id)
		if len(events) != 7 || len(c.entries("span_stack")) > 0 {
			t.Fatalf("%d events of %s, want 7", len(events), id)
		}
		for i, e := range events {
			frames := strings.Join(c.stacks[e.StackID], " ")
			if caller := []string{"caller_b", "caller_a"}[i%2]; !strings.Contains(frames, "main") || !strings.Contains(frames, caller) {
				t.Errorf("%s, call %d by %s has the stack %d: %s", id, i, caller, e.StackID, frames)
			}
		}
	}
}

// What a limit leaves out is counted, and is not lost.
func (c *capture) checkLimit(t *testing.T) {
	recorded := len(c.of("limited"))
	if recorded < 10 || recorded > 100 {
		t.Errorf("%d of 5000 events were recorded, in less than a second", recorded)
	}
	want := fmt.Sprintf("%s events, by limits", grouped(5000-recorded))
	if text := string(tools.Run(t, "wprof-info", c.file)); !strings.Contains(text, want) || !strings.Contains(c.stderr, "nothing lost") {
		t.Errorf("%s is not in\n%s%s", want, text, c.stderr)
	}
}

func grouped(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }

func (c *capture) checkSemaphores(t *testing.T) {
	if guarded, library := c.number(t, "guarded"), c.number(t, "library"); guarded != 15 || library != 25 {
		t.Errorf("the program saw its probes enabled %d and %d times, want 15 and 25", guarded, library)
	}
}

// Spans with a key begin in one thread and end in another.
func (c *capture) checkThreads(t *testing.T) {
	spans := c.of("crossed")
	if len(spans) != 30 {
		t.Fatalf("%d spans, want 30", len(spans))
	}
	for i, e := range spans {
		if e.number(t, "id") != int64(1000+i) || e.number(t, "minus") != int64(-1000-i) || e.Dur <= 0 {
			t.Errorf("span %d: %+v %s", i, e, e.Args)
		}
		began := e.arg(t, "began_by")
		if e.Task.TID == e.Task.PID || !strings.Contains(began, fmt.Sprintf(`"tid":%d`, e.Task.PID)) {
			t.Errorf("span %d began in %s, and ended in thread %d of process %d", i, began, e.Task.TID, e.Task.PID)
		}
	}
}

// The tracepoint and the raw tracepoint of an event have the same values.
func (c *capture) checkKernel(t *testing.T) {
	pid := c.said["pid"][0]
	var want, raw []string
	for i := range 5 {
		old := fmt.Sprintf("renamed-%d", i-1)
		if i == 0 {
			old = "known"
		}
		want = append(want, fmt.Sprintf(`{"pid":%s,"oldcomm":"%s","newcomm":"renamed-%d","oom_score_adj":0}`, pid, old, i))
		raw = append(raw, want[i])
	}
	check(t, c.args("tp"), want)
	check(t, c.args("raw_tp"), raw)
	parent := c.said["parent"][0]
	check(t, c.args("chain"), []string{fmt.Sprintf(`{"parent":%s,"again":%s}`, parent, parent)})
}

//go:build linux

package damage

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wprof/test/tools"
)

// hostileTexts are what wprof-info --undump may be given; true: it describes a stream.
func hostileTexts() map[string]struct {
	text  func() string
	valid bool
} {
	const head = "section host=\"box\" boot_id=\"b\" open=1000000 close=+5000\n"
	type text = struct {
		text  func() string
		valid bool
	}
	is := func(s string) func() string { return func() string { return s } }
	many := func(n int, line string) func() string {
		return func() string { return head + strings.Repeat(line, n) + "end\n" }
	}
	return map[string]text{
		"nothing":                           {is(""), false},
		"zeros":                             {is(string(make([]byte, 30<<20))), false},
		"a line without an end":             {is(head + "task 1 comm=\"" + strings.Repeat("x", 100<<20)), false},
		"a quote without an end":            {is(head + "task 1 comm=\"x\\\n"), false},
		"a number of a hundred digits":      {is(head + "task " + strings.Repeat("9", 100) + " tid=1\n"), false},
		"a tid below all":                   {is(head + "task 1 tid=-99999999999\n"), false},
		"a CPU beyond all":                  {is(head + "+1 cpu99999999999 exit 1\n"), false},
		"a time beyond all":                 {is(head + "+9223372036854775807s cpu0 exit 1\n"), false},
		"a time of no number":               {is(head + "+1e999999999 cpu0 exit 1\n"), false},
		"the last and the first time":       {is(head + "-9223372036854775807 cpu0 exit 1\n+9223372036853775807 cpu0 exit 1\nend\n"), true},
		"a period of 2^64":                  {is(head + "  source 1 period=18446744073709551616\n"), false},
		"a block that counts too many":      {is(head + "block events @events=4294967295\n+1 cpu0 exit 1\nend\n"), true},
		"a block that is said to be longer": {is(head + "block events @stored=4294967295 @raw=4294967295\n+1 cpu0 exit 1\nend\n"), true},
		"an index that leads beyond":        {is(head + "index\n  entry events offset=18446744073709551615\nend\n"), true},
		"counts of 2^64":                    {is(head + "end\n  kind switch events=18446744073709551615 bytes=18446744073709551615\n  loss cpu=0 kind=switch cause=ring count=18446744073709551615\n"), true},
		"a payload beyond the bound":        {is(head + "block 77\n" + strings.Repeat("  payload "+strings.Repeat("00", 1<<19)+"\n", 40)), false},
		"half a byte":                       {is(head + "block 77\n  payload 0\n"), false},
		"cut by more than there is":         {is(head + "end\ncut 9999999999\n"), false},
		"cut by less than nothing":          {is(head + "end\ncut -1\n"), false},
		"a stack of a million frames":       {is(head + "stack 1 frames=1" + strings.Repeat(",1", 1<<20) + "\nend\n"), true},
		"a frame of a million lines":        {is(head + "frame 1 module=1\n" + strings.Repeat("  line function=\"f\"\n", 1<<20) + "end\n"), true},
		"a million tasks":                   {many(1<<20, "task 1 tid=1 pid=1 comm=\"x\"\n"), true},
		"a million sources":                 {is(head + strings.Repeat("  source 1 name=\"x\"\n", 1<<20) + "end\n"), false},
		"a hundred thousand sections":       {is(strings.Repeat("section continues\nend\n", 100_000)), true},
		"a million words":                   {is(head + "task 1 " + strings.Repeat("tid=1 ", 1<<20) + "\nend\n"), false},
		"a kind that is none":               {is(head + "+1 cpu0 kind999999999999 1 more=00\n"), false},
		"more times than there are":         {is(head + "+1 cpu0 kind200 more_times=" + strings.Repeat("+1,", 1000) + "+1\nend\n"), false},
		"bytes that are no text":            {is(head + "task 1 comm=\xff\xfe\x00\n"), false},
	}
}

// Whatever a text claims, it becomes a stream, or the tool says in which line it does not.
func TestHostileTextsDoNoHarm(t *testing.T) {
	sentence := regexp.MustCompile(`^wprof-info: .*(line \d+[,:]|the text has no section).*\n$`)
	for name, c := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := []byte(c.text())
			stream := filepath.Join(t.TempDir(), "out.wprof")
			r := tools.Try(t, hang, text, "wprof-info", "--undump", "-o", stream)
			if wrong := sane(&r, hostilePeak); wrong != "" {
				t.Fatal(wrong)
			}
			if c.valid != (r.Status == 0) {
				t.Fatalf("status %d, want a stream: %v: %.300s", r.Status, c.valid, r.Stderr)
			}
			if c.valid {
				check := tools.Try(t, hang, nil, "wprof-info", "--check", stream)
				if wrong := sane(&check, hostilePeak); wrong != "" {
					t.Errorf("what came of it: %s", wrong)
				}
				return
			}
			if r.Status != 1 || !sentence.Match(r.Stderr) || bytes.Count(r.Stderr, []byte("\n")) != 1 || len(r.Stderr) > 500 {
				t.Errorf("status %d: %.600s", r.Status, r.Stderr)
			}
			if _, err := os.Stat(stream); err == nil {
				t.Error("there is an output")
			}
		})
	}
}

package around

import (
	"errors"
	"strings"
	"testing"
	"time"

	"wprof/internal/probe"
)

func TestParse(t *testing.T) {
	ms := func(n int) Limit { return Limit{Given: true, Duration: time.Duration(n) * time.Millisecond} }
	quantile := func(q Quantile) Limit { return Limit{Given: true, Quantile: q} }
	for text, want := range map[string]Condition{
		"span(req) > 50ms":         {What: WhatSpan, Name: "req", Limit: ms(50)},
		"  span( req )>50ms ":      {What: WhatSpan, Name: "req", Limit: ms(50)},
		"span(f(int, char*)) > 1s": {What: WhatSpan, Name: "f(int, char*)", Limit: ms(1000)},
		"span('a)b') > 1s":         {What: WhatSpan, Name: "a)b", Limit: ms(1000)},
		"offcpu(nginx*) > 1m1s":    {What: WhatOffCPU, Name: "nginx*", Limit: ms(61000)},
		"offcpu > 0":               {What: WhatOffCPU, Name: "*", Limit: ms(0)},
		"runq() > p99.9":           {What: WhatRunq, Name: "*", Limit: quantile(999000)},
		"runq(?) > p5":             {What: WhatRunq, Name: "?", Limit: quantile(50000)},
		"runq(*) > p99.9999":       {What: WhatRunq, Name: "*", Limit: quantile(999999)},
		"syscall(fsync) > median":  {What: WhatSource, Word: "syscall", Name: "fsync", Limit: quantile(500000)},
		"block > 20ms":             {What: WhatSource, Word: "block", Name: "*", Limit: ms(20)},
		"irq(eth*) > 2ms":          {What: WhatSource, Word: "irq", Name: "eth*", Limit: ms(2)},
		"softirq(NET_RX) > 2ms":    {What: WhatSource, Word: "softirq", Name: "NET_RX", Limit: ms(2)},
		"event(oom_kill)":          {What: WhatEvent, Name: "oom_kill"},
		"event(tcp:tcp_*)":         {What: WhatEvent, Name: "tcp:tcp_*"},
		"exit(signal)":             {What: WhatExit, Name: "signal"},
		"span(" + strings.Repeat("é", 300) + ") > 1s": {What: WhatSpan, Name: strings.Repeat("é", 300), Limit: ms(1000)},
	} {
		c, err := Parse(text)
		c.Text = ""
		if err != nil || c != want {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
}

// Each error shows the place.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, at, reason, near string }{
		{"", "", "the condition is empty", ""},
		{"spam(req) > 50ms", "spam", "'spam' is no condition", "span"},
		{"sysscall(read) > 50ms", "sysscall", "'sysscall' is no condition", "syscall"},
		{"slow:syscall:fsync>50ms", "slow:syscall:fsync", "'slow:syscall:fsync' is as wprof-record --snapshot-on takes it", "syscall(fsync)"},
		{"slow:block>50ms", "slow:block", "'slow:block' is as wprof-record --snapshot-on takes it", "block"},
		{"slow:req>50ms", "slow:req", "'slow:req' is as wprof-record --snapshot-on takes it", "span(req)"},
		{"offcpu:nginx*>50ms", "offcpu:nginx*", "'offcpu:nginx*' is as wprof-record --snapshot-on takes it", "offcpu(nginx*)"},
		{"(req) > 50ms", "(", "'' is no condition", ""},
		{"span", "", "parentheses with a name are expected", ""},
		{"span > 50ms", ">", "parentheses with a name are expected", ""},
		{"span() > 50ms", "()", "a name is expected", ""},
		{"span(f(x) > 50ms", "(", "'(' is not closed", ""},
		{"span('x) > 50ms", "(", "'(' is not closed", ""},
		{"span(req)", "", "'>' and a duration are expected", ""},
		{"span(req) < 50ms", "<", "'>' and a duration are expected", ""},
		{"span(req) >= 50ms", "=", "compared by '>' alone", ""},
		{"span(req) > ", "", "a duration is expected", ""},
		{"span(req) > 50", "50", "has no unit", ""},
		{"span(req) > 50mx", "50mx", "the unit is one of", ""},
		{"span(req) > mediam", "mediam", "is not a duration", "median"},
		{"span(req) > p100", "p100", "not a quantile", ""},
		{"span(req) > p0", "p0", "not a quantile", ""},
		{"span(req) > p9.9.9", "p9.9.9", "not a quantile", ""},
		{"span(req) > p99.99999", "p99.99999", "not a quantile", ""},
		{"span(req) > 50ms or block > 1ms", "or block > 1ms", "a second condition is a second --around", ""},
		{"event(x) > 5ms", "> 5ms", "event has no duration", ""},
		{"event(x) < 5ms", "<", "'>' and a duration are expected", ""},
		{"exit(signol)", "signol", "no way to end", "signal"},
		{"span(\x1b[m) > 1s", "\x1b", "cannot be in a condition", ""},
		{"span(" + strings.Repeat("x", 2000) + ") > 1s", "", "1024 are possible", ""},
	} {
		_, err := Parse(c.text)
		var at *probe.Error
		if !errors.As(err, &at) {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if place := at.Text[at.At : at.At+at.Length]; place != c.at || !strings.Contains(at.Reason, c.reason) {
			t.Errorf("%s: at %q, not %q: %s", c.text, place, c.at, at.Reason)
		}
		if c.near != "" && (len(at.Near) == 0 || at.Near[0] != c.near) {
			t.Errorf("%s: near %v, not %s", c.text, at.Near, c.near)
		}
	}
}

// FuzzParse checks that whatever is given is parsed or refused at a place that it has.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"span(req) > 50ms", "runq(*) > p99.9", "event(x)", "exit(signal)", "block > 1s", "span('a)b')>median", "span(f(int)) > 1h", "\xff(", "syscall(\t"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		var at *probe.Error
		switch {
		case err == nil && (c.What == 0 || c.Name == "" || c.Limit.Duration < 0 || c.Limit.Quantile >= whole):
			t.Errorf("%q: %+v", text, c)
		case err != nil && !errors.As(err, &at):
			t.Errorf("%q: %T", text, err)
		case err != nil && err.Error() == "":
			t.Errorf("%q: no message", text)
		}
		if err != nil {
			return
		}
		again, err := Parse(c.Text)
		if err != nil || again != c {
			t.Errorf("%q: %+v, and as %q %+v, %v", text, c, c.Text, again, err)
		}
	})
}

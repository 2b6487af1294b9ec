package perfetto

import (
	"strings"
	"testing"
)

const markSQL = `select t.name as condition, s.name as thread, ts - 15000000000 as ts, dur, category, extract_arg(s.arg_set_id, 'debug.length_ns') as length
	from slice s join track t on t.id = track_id join track g on g.id = t.parent_id where g.name = 'Marks' order by 1, 3, 2`

// Of the five threads of [five], each condition marks the times for which it holds.
func TestMarksAreWhereTheirConditionsHold(t *testing.T) {
	options := DefaultOptions()
	var err error
	if options.Marks, err = ParseMarks([]string{"delay>600ns", "offcpu > 3us & thread=t*", "oncpu>3us&process=none"}); err != nil {
		t.Fatal(err)
	}
	rows := query(t, writtenWith(t, five, options), markSQL)
	compare(t, "marks", rows[2], "condition thread ts dur category length", `
		delay>600ns five 305 4000 700 MARK 700
		delay>600ns two 302 6000 1000 MARK 1000
		offcpu > 3us & thread=t* two 302 2500 4500 MARK 4500
	`)
}

func TestWrongMarksAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "want one of",
		"offcpu":                 "want one of",
		"blocked>1ms":            "want one of",
		"offcpu>1ms & oncpu>1ms": "want one of",
		"thread=x":               "want a time",
		"offcpu>1ms & comm=x":    `"comm" is neither thread nor process`,
		"offcpu>1ms & thread=[":  "is not a pattern",
		"offcpu>1parsec":         "unit",
	} {
		_, err := ParseMarks([]string{text})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

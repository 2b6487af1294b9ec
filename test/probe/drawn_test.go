//go:build linux

package probe

import (
	"fmt"
	"path/filepath"
	"testing"

	"wprof/test/engine"
	"wprof/test/tools"
)

// Perfetto's engine has the spans, their names, arguments and arrows, the callstacks and the counters that the JSON lines have.
func TestPerfettoHasWhatJSONHas(t *testing.T) {
	engine.Need(t)
	c := record(t, []string{
		`uspan:nest (arg:0:s32/name(depth), arg:ret:s32) | id:nest, name:"nest {depth}" |`,
		`u:take_int (arg:0:s32/name(n)/counter, stack) | id:int |`,
		`usdt:known:sent (arg:0/name(id)) ~~ usdt:known:got (arg:1/name(minus)) | id:crossed, key:arg:0 |`,
		`u:amount | id:sum, sum:arg:1:s64, by:arg:2:str/name(text) |`,
	}, tools.Path("known"), "all")
	trace := tools.Convert(t, filepath.Join(t.TempDir(), "trace.pb"), "wprof-perfetto", c.file)
	engine.CheckStats(t, trace)
	answers := engine.Query(t, trace,
		`select s.name, s.dur, t.name as track from slice s join track t on t.id = s.track_id where s.name glob 'nest *' order by s.ts + s.dur, s.depth desc`,
		`select name, count(*) as n from slice where name in ('take_int', 'known:sent ~~ known:got') group by name order by name`,
		`select count(distinct f.id) as n from flow f join slice s on s.id = f.slice_out join slice e on e.id = f.slice_in
		where s.name = 'known:sent ~~ known:got begins' and e.name = 'known:sent ~~ known:got ends'`,
		`select t.name, sum(c.value) as value from counter c join track t on t.id = c.track_id where t.name glob 'text=* events' or t.name glob 'text=* sum' or t.name glob '*int*' group by 1 order by 1`,
		`select count(*) as n from args where flat_key glob '*.minus' and int_value between -1029 and -1000`)
	var drawn, spans []string
	for _, row := range answers[0] {
		drawn = append(drawn, fmt.Sprintf("%v of %v, %v ns", row["name"], row["track"], row["dur"]))
	}
	for _, e := range c.of("nest") {
		spans = append(spans, fmt.Sprintf("%s of nest, %d ns", e.Name, e.Dur))
	}
	check(t, drawn, spans)
	odd, even := int64(0), int64(0)
	for i := int64(0); i < 1000; i += 2 {
		even, odd = even+i*i-20, odd+(i+1)*(i+1)-20
	}
	for i, want := range []string{
		"[map[n:30 name:known:sent ~~ known:got] map[n:100 name:take_int]]", "[map[n:30]]",
		fmt.Sprintf("[map[name:int n value:-50] map[name:text=even events value:500] map[name:text=even sum value:%v]"+
			" map[name:text=odd events value:500] map[name:text=odd sum value:%v]]", float64(even), float64(odd)), "[map[n:30]]",
	} {
		if got := fmt.Sprint(answers[i+1]); got != want {
			t.Errorf("query %d: %s, want %s", i+1, got, want)
		}
	}
}

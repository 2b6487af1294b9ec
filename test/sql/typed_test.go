//go:build linux

package sql

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wprof/test/tools"
)

const typedText = `section id=0x1 boot_id=b open=1000 close=9000
text 1 text="GET"
task 2 tid=20 pid=20 comm="server" process_comm="server" start=5
eventtype 3 name="HTTP request" shape=span
  field "size" type=uint
  field "method" type=text
  field "peer" type=task
  field "ratio" type=float
  field "ok" type=bool
  field "codes" type=int list
  field "queued" type=time
eventtype 4 name="http_request" group="other"
  field "size" type=uint
eventtype 5 name="read" table="calls"
  field "fd" type=int
eventtype 6 name="write" table="calls"
  field "error" type=string
+0.000000200 cpu0 typed 2 type=3 start=+0.000000100 .size=18446744073709551615 .method=1 .peer=2 .ratio=0.5 .ok=1 .codes=-1,2 .queued=+0.000000050
+0.000000300 cpu0 typed 2 type=3 start=+0.000000150 .size=2 .method=0 .peer=0 .ratio=-1 .ok=0 .codes= .queued=+0
+0.000000400 cpu1 typed 0 type=4 .size=7
+0.000000500 cpu1 typed 0 type=9
+0.000000600 cpu1 typed 0 type=5 .fd=3
+0.000000700 cpu1 typed 0 type=6 .error="EPIPE"
end
`

// Each event type has a file, in which its values are columns.
func TestEventTypesHaveColumns(t *testing.T) {
	dir := t.TempDir()
	text, capture := filepath.Join(dir, "typed.txt"), filepath.Join(dir, "typed.wprof")
	if err := os.WriteFile(text, []byte(typedText), 0o600); err != nil {
		t.Fatal(err)
	}
	tools.Run(t, "wprof-info", "--undump", "-o", capture, text)
	tools.Run(t, "wprof-json", "--parquet", filepath.Join(dir, "columns"), capture)
	for _, c := range []struct{ sql, want string }{
		{`SELECT ts, dur, task.comm, args.size, args.method, args.peer.tid, args.ratio, args.ok, args.codes, args.queued FROM 'columns/typed_HTTP_request.parquet' ORDER BY ts`,
			"[[200 100 server 18446744073709551615 GET 20 0.5 true [-1,2] 50] [300 150 server 2  <nil> -1.0 false [] 0]]"},
		{`SELECT cpu, name, args.size FROM 'columns/typed_http_request_2.parquet'`, "[[1 http_request 7]]"},
		{`SELECT name, args FROM 'columns/typed_calls.parquet' ORDER BY ts`, `[[read {"fd":3}] [write {"error":"EPIPE"}]]`},
		{`SELECT ts, name, args FROM 'columns/typed.parquet'`, "[[500 (lost) {}]]"},
	} {
		rows := runSQL(t, "duckdb", dir, []block{{Name: "typed", SQL: c.sql}})[0].Rows
		if got := fmt.Sprint(rows); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.sql, got, c.want)
		}
	}
	result := tools.Try(t, time.Minute, nil, "wprof-json", "--parquet", filepath.Join(dir, "columns"), "-k", "lost", capture)
	if result.Status == 0 {
		t.Error("files of event types of another run may stay")
	}
}

package chrome

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"wprof/test/engine"
	"wprof/test/fromtext"
)

// Perfetto's engine reads traces with backslashes at the end of names and values.
func TestTextsThatEndWithABackslash(t *testing.T) {
	r := fromtext.Reader(t, `section host="h\\" boot_id=b open=0 close=+10
task 1 tid=7 pid=7 comm="x\\" process_comm="p\\\\"
frame 1
  line function="operator\\"
stack 1 frames=1
eventtype 1 name="event\\" shape=span track="t\\"
  field "path" type=string
  field "where" type=stack
  field "list" type=string list
+0 cpu0 state_cpu 1 prio=120
+2 cpu0 typed 1 type=1 start=+1 .path="c:\\" .where=1
end
`)
	var out bytes.Buffer
	if _, err := Write(r, &out, Options{}); err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(trace, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := engine.Load(t, trace); err != nil {
		t.Errorf("%v\n%s", err, out.Bytes())
	}
}

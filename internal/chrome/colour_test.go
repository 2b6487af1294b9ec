package chrome

import (
	"bytes"
	"strings"
	"testing"
)

// Types with the same word have the same colour, others the viewer's own.
func TestColoursFollowTheWord(t *testing.T) {
	_, _, text := written(t, undump(t, `section open=0 close=+10
task 1 tid=7 pid=7 comm=x
eventtype 1 name="first" colour="slow"
eventtype 2 name="second" colour="slow"
eventtype 3 name="third"
+1 cpu0 typed 1 type=1
+2 cpu0 typed 1 type=2
+3 cpu0 typed 1 type=3
end
`), Options{})
	colours := map[string]string{}
	for line := range bytes.Lines(text) {
		for _, name := range []string{"first", "second", "third"} {
			if strings.Contains(string(line), `"name":"`+name+`"`) {
				_, after, _ := strings.Cut(string(line), `"cname":"`)
				colours[name], _, _ = strings.Cut(after, `"`)
			}
		}
	}
	if len(colours) != 3 || colours["first"] == "" || colours["first"] != colours["second"] || colours["third"] != "" {
		t.Errorf("got %v in\n%s", colours, text)
	}
}

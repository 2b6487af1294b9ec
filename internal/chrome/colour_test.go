package chrome

import "testing"

// Types with the same colour group have the same colour, others the viewer's default.
func TestColoursFollowTheWord(t *testing.T) {
	drawn, _, _ := written(t, undump(t, `section open=0 close=+10
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
	for _, e := range drawn.TraceEvents {
		colours[e.Name] = e.Colour
	}
	if colours["first"] == "" || colours["first"] != colours["second"] || colours["third"] != "" {
		t.Errorf("got %v", colours)
	}
}

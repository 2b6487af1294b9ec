package pmu

import (
	"reflect"
	"testing"
	"testing/fstest"
)

// FuzzEvent resolves any text on a machine with any description of a term and an event.
func FuzzEvent(f *testing.F) {
	for _, text := range append(asPerfSeeds(), "derived:ipc=instructions/cycles", "cycles@99hz", "cpu/name='x,y'/@3") {
		f.Add(text, "config:0-7,32-35", "event=0x3c,t=1,?=?")
	}
	f.Fuzz(func(t *testing.T, text, format, description string) {
		pmus := fstest.MapFS{
			"cpu/type": {Data: []byte("4")}, "cpu/format/t": {Data: []byte(format)}, "cpu/events/e": {Data: []byte(description)},
			"cpu/events/e.scale": {Data: []byte(format)}, "cpu/events/e.unit": {Data: []byte(description)},
		}
		if d, err := ParseDerived(text); err == nil && DerivedPrefix+d.Name+"="+d.Over+"/"+d.Under != text {
			t.Errorf("%q is %+v", text, d)
		}
		event, rate, err := CutRate(text)
		if err != nil {
			return
		}
		if rate.check() != nil && event != text {
			t.Errorf("%q has the rate %+v", text, rate)
		}
		s, err := Parse(event)
		if err != nil {
			return
		}
		m := Machine{PMUs: pmus, Tracepoints: fakeTracepoints{"a:b": 1}}
		e, err := m.Resolve(s)
		if err != nil {
			return
		}
		again, err := m.Resolve(s)
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Errorf("%q is %+v, and then %+v, %v", text, e, again, err)
		}
		if len(e.Name) > maxText || len(e.Unit) > maxName {
			t.Errorf("%q has a name of %d bytes", text, len(e.Name))
		}
	})
}

func asPerfSeeds() []string {
	return []string{"cycles:u", "r3c", "4:60", "cpu/t=3,e/pp", "cpu/e,t=?/", "L1-dcache-load-misses", "a:b:u", "sw:faults", "e", "cpu/config3=5,period=3/"}
}

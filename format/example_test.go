package format_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"wprof/format"
)

// Example writes a stream of one switch and reads it again.
func Example() {
	var stream bytes.Buffer
	w := format.NewWriter(&stream, format.WriterOptions{Level: 1})
	must(w.Begin(&format.Session{Host: "box", Open: 1000, Close: 9000}))
	must(w.DefineTask(&format.Task{Id: 1, Tid: 70, Pid: 70, Comm: []byte("cat")}))
	must(w.DefineTask(&format.Task{Id: 2, Tid: 71, Pid: 71, Comm: []byte("sort")}))
	e := format.Event{Time: 2500, Kind: format.KindSwitch, Flags: format.FlagsVisible, CPU: 3, Task: 1}
	e.Switch().SetNext(2)
	e.Switch().SetPrevState(format.StateInterruptible)
	must(w.Write(&e))
	must(w.EndSection(&format.End{Close: 9000, Last: true}))

	r, err := format.NewReader(&stream)
	must(err)
	defer r.Close()
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(err)
		if e.Kind == format.KindSwitch {
			s := e.Switch()
			fmt.Printf("+%d ns, CPU %d: %s (%v) to %s\n", e.Time-r.FirstOpen(), e.CPU,
				r.Task(e.Task).Comm, s.PrevState(), r.Task(s.Next()).Comm)
		}
	}
	// Output: +1500 ns, CPU 3: cat (S) to sort
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

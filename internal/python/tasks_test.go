//go:build linux && amd64

package python

import (
	"errors"
	"fmt"
	"testing"
)

// What a file says of tasks is used only if a walk can read it.
func TestDescribedTasksAreBounded(t *testing.T) {
	valid := [tasksCount]uint64{168, 136, 96, 108, 109, 128, 152, 1000, 500, 2000, 1024, 1032, 1040}
	for name, change := range map[string]func(n []uint64){
		"":                    func([]uint64) {},
		"a large task":        func(n []uint64) { n[0] = 1 << 20 },
		"a far name":          func(n []uint64) { n[1] = 168 },
		"a far coroutine":     func(n []uint64) { n[5] = 1<<64 - 4 },
		"a large thread":      func(n []uint64) { n[9] = 1 << 40 },
		"a far running task":  func(n []uint64) { n[11] = 1<<64 - 4 },
		"an unknown awaiting": func(n []uint64) { n[2] = 1 << 16 },
	} {
		n := valid
		change(n[:])
		numbers := ""
		for _, one := range n {
			numbers += fmt.Sprintf("%dUL, ", one)
		}
		in, err := ReadTasks(compiled(t, `__attribute__((section(".AsyncioDebug"))) unsigned long described[] = {`+numbers+"};"))
		switch {
		case name == "" && (err != nil || *in.Tasks != Tasks{Running: 1032, Coroutine: 128, Name: 136, AwaitedBy: 96, IsTask: 108, IsSet: 109}):
			t.Errorf("got %+v, %v", in, err)
		case name != "" && (in != nil || !errors.Is(err, ErrNone)):
			t.Errorf("%s: got %+v, %v", name, in.Tasks, err)
		}
	}
	if in, err := ReadTasks(compiled(t, `__attribute__((section(".AsyncioDebug"))) unsigned long described[] = {168, 136, 96};`)); in != nil || !errors.Is(err, ErrNone) {
		t.Errorf("a short description: got %+v, %v", in, err)
	}
}

package waits

import (
	"testing"

	"wprof/format"
)

func TestLabels(t *testing.T) {
	futex := &format.Wait{IsFutex: true, Futex: 0x7f10}
	for want, of := range map[string]struct {
		class Class
		wait  *format.Wait
	}{
		"lock 0x7f10": {Lock, futex},
		"wait 0x7f10": {Condition, futex},
		"join 0x7f10": {Child, futex},
		"child":       {Child, nil},
		"sleep":       {Timer, futex},
		"read pipe:[7]": {Pipe, &format.Wait{
			HasFd: true, File: uint32(format.FileKind_FILE_PIPE), Inode: 7, Call: []byte("read"),
		}},
		"write pipe:[7]": {Pipe, &format.Wait{
			HasFd: true, File: uint32(format.FileKind_FILE_PIPE), Inode: 7, Call: []byte("write"),
		}},
	} {
		if got := Label(of.class, of.wait); got != want {
			t.Errorf("%s: the label is %q, want %q", of.class, got, want)
		}
	}
}

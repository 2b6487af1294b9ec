package probe

import "testing"

// ret is a field of tracepoints, and elsewhere the result.
func TestFieldCalledRet(t *testing.T) {
	d, err := Parse("tp:syscalls:sys_enter_read (arg:fd) ~~ tp:syscalls:sys_exit_read (arg:ret) | if:ret>=0 |")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []Arg{d.Legs[1].Args[0], d.Settings.If[0].Arg} {
		if a.Base != BaseName || a.Name != "ret" || a.Leg != 1 {
			t.Errorf("%+v", a)
		}
	}
	if d, err = Parse("uret:read (arg:ret)"); err != nil || d.Legs[0].Args[0].Base != BaseReturn {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err = Parse("u:read (arg:ret)"); err == nil {
		t.Error("u: has no result")
	}
	// Without a parameter with that name, the first leg that may have it is meant.
	if d, err = Parse("tp:a:b ~~ tp:c:d | if:ret>=0 |"); err != nil || d.Settings.If[0].Arg.Leg != 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

package capture

import "testing"

func TestUnknownPythonsAreNamedInOneSentence(t *testing.T) {
	const begin = "functions of Python are missing in stacks of interpreters other than CPython 3.8 to 3.15: "
	one := unknownInterpreter{"/usr/bin/python3.7", pythonFeature, "3.7"}
	for _, c := range []struct {
		met  []unknownInterpreter
		want string
	}{
		{nil, ""},
		{[]unknownInterpreter{one, {"/opt/lib\n", pythonFeature, ""}}, begin + `/usr/bin/python3.7 (3.7), /opt/lib\n (of an unknown version)`},
		{[]unknownInterpreter{one, one, one, one, one}, begin + "/usr/bin/python3.7 (3.7), /usr/bin/python3.7 (3.7), /usr/bin/python3.7 (3.7), 2 more"},
	} {
		if got := unknownText(c.met, pythonFeature, begin); got != c.want {
			t.Errorf("%+v\ngot  %s\nwant %s", c.met, got, c.want)
		}
	}
}

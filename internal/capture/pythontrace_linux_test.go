package capture

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOptionsOfCallsOfPython(t *testing.T) {
	for _, c := range []struct {
		value   string
		rest    string
		min     time.Duration
		modules []string
		wrong   string
	}{
		{value: "4711", rest: "4711"},
		{value: "gunicorn*", rest: "gunicorn*"},
		{value: "min:10us:4711", rest: "4711", min: 10 * time.Microsecond},
		{value: "module:app*:module:!app.log:min:1ms:web", rest: "web", min: time.Millisecond, modules: []string{"app*", "!app.log"}},
		{value: "a:b", rest: "a:b"},
		{value: "min", rest: "min"},
		{value: "", wrong: "has an empty entry"},
		{value: "min:1ms", min: time.Millisecond},
		{value: "min:1ms:", min: time.Millisecond},
		{value: "min:4711:web", rest: "web", min: 4711 * time.Millisecond},
		{value: "min:1x:4711", wrong: "not a duration"},
		{value: "module::4711", wrong: "empty"},
		{value: "module:!:4711", wrong: "empty"},
		{value: "module:" + strings.Repeat("x", 254) + ":4711", wrong: "more than 254 characters"},
	} {
		rest, o, err := pythonOptions(c.value)
		if c.wrong != "" {
			if err := checkPythonCalls(c.value); err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%q: %v, want %s", c.value, err, c.wrong)
			}
		} else if err != nil || rest != c.rest || o.Min != c.min || !slices.Equal(o.Modules, c.modules) {
			t.Errorf("%q: %q, %+v, %v", c.value, rest, o, err)
		}
	}
}

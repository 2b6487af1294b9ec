package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestChoicesMayHaveLists(t *testing.T) {
	f := Flag{
		Name: "feature", Kind: List, Choices: []string{"calls", "sched", "tp"}, CommaList: true, Negate: true, Valued: []string{"tp"},
		Details: map[string]Details{"calls": {
			What: "a call", See: "calls(2)", Words: func() []string { return []string{"read", "write"} },
			Is: func(word string) bool { return word == "read" || word == "write" || word == "*" },
		}},
	}
	for value, want := range map[string]string{
		"calls": "", "no-calls": "", "calls=read": "", "calls=read,write,sched": "", "sched,calls=*,no-sched": "", "calls=read,tp=a:b,c:d": "",
		"calls=raed": "did you mean read?", "calls=qqqqqq": "calls(2) lists them", "calls=read,sced": "is not a call", "calls=": "empty entry",
		"calls=read,,write": "empty entry", "sched=read": "is not one of its values",
	} {
		err := choose(f, value)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", value, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", value, err, want)
		}
	}
	got := f.Split("calls=read,write,no-sched,tp=a:b,c:d,sched")
	if want := []string{"calls=read,write", "no-sched", "tp=a:b,c:d", "sched"}; !slices.Equal(got, want) {
		t.Errorf("the parts are %q, want %q", got, want)
	}
}

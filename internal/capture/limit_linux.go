package capture

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wprof/bpf"
	"wprof/internal/cli"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
)

// LimitFlag is --limit.
func LimitFlag() cli.Flag {
	return cli.Flag{
		Name: "limit", Kind: cli.List, Value: "KIND=RATE", Check: checkLimits,
		Usage: "Record at most RATE events a second (1000, 100k, 1m) of KIND on each CPU, in portions of a tenth of a second. KIND is a word of -f that switches " +
			"on event types; of several types, each has the limit, and tp is all tracepoints together. What is left out is counted, and is not lost.",
	}
}

func checkLimits(value string) error {
	_, _, err := parseLimit(value)
	return err
}

// limitWords are the words that --limit takes.
func limitWords() []string {
	words := slices.DeleteFunc(sources.FeatureWords(), func(word string) bool { return word == sources.PythonCalls || word == sources.Torch }) // the kernel does not write these
	return append(words, sources.Tracepoints)
}

// parseLimit reads KIND=RATE.
func parseLimit(value string) (word string, perSecond uint32, err error) {
	word, rate, given := strings.Cut(value, "=")
	if !slices.Contains(limitWords(), word) {
		hint := "; it takes " + strings.Join(limitWords(), ", ")
		if near := cli.Nearest(word, limitWords()); len(near) > 0 {
			hint = "; did you mean " + strings.Join(near, " or ") + "?"
		}
		return "", 0, fmt.Errorf("%q is no kind of event that a limit is for%s", word, hint)
	}
	if !given {
		return "", 0, fmt.Errorf("%s needs a rate, as in %s=100k", word, word)
	}
	perSecond, ok := parseRate(rate)
	if !ok {
		return "", 0, fmt.Errorf("%q is no number of events a second from 1 to %d, like 1000, 100k or 1m", rate, bpf.MaxLimit)
	}
	return word, perSecond, nil
}

func parseRate(text string) (perSecond uint32, ok bool) {
	number, scale := strings.ToLower(text), 1.0
	if cut, has := strings.CutSuffix(number, "k"); has {
		number, scale = cut, 1e3
	} else if cut, has := strings.CutSuffix(number, "m"); has {
		number, scale = cut, 1e6
	}
	if strings.Trim(number, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(number, 64)
	if n *= scale; err != nil || n < 1 || n > bpf.MaxLimit {
		return 0, false
	}
	return uint32(n), true
}

// setLimits reads --limit, after the features have been read; if a kind is given more than once, the last one wins.
func (cfg *Config) setLimits(values []string) error {
	for _, value := range values {
		word, rate, err := parseLimit(value)
		if err != nil {
			return err
		}
		limited := sources.Of(word) & cfg.Kernel.Sources
		if word == sources.Tracepoints && len(cfg.Tracepoints) == 0 || word != sources.Tracepoints && limited == 0 {
			return fmt.Errorf("%s is not recorded: add -f %s", word, flagOf(word))
		}
		if cfg.Kernel.Limits == nil {
			cfg.Kernel.Limits = make(map[uint32]uint32)
		}
		if word == sources.Tracepoints {
			cfg.Kernel.Limits[ringdata.MissingTypeTracepoint] = rate
		}
		for t := range limited.Types() {
			cfg.Kernel.Limits[t.Number] = rate
		}
	}
	return nil
}

// flagOf is the value of -f that switches on a kind of events.
func flagOf(word string) string {
	if word == sources.Tracepoints {
		return word + "=GROUP:NAME"
	}
	return word
}

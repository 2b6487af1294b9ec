package ndjson

import (
	"errors"
	"io"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/records"
	"wprof/internal/timeline"
)

// survey holds the header's values that are known only at the end of the stream.
type survey struct {
	records.About
	stacks    int64
	lost      uint64
	lostKnown bool // lost is complete
}

// takeSurvey makes a survey of a stream without decoding events, unless it is damaged: then the events decide which of its
// sections count.
func takeSurvey(open func() (*format.Reader, error)) (survey, error) {
	found, isDamaged, err := takeSurveyOnce(open, true)
	if err == nil && isDamaged {
		found, _, err = takeSurveyOnce(open, false)
		found.lostKnown = false
	}
	return found, err
}

func takeSurveyOnce(open func() (*format.Reader, error), skip bool) (found survey, isDamaged bool, err error) {
	r, err := open()
	if err != nil {
		return survey{}, false, err
	}
	defer r.Close()
	if skip {
		r.SkipEvents()
	}
	found.lostKnown = true
	closed, isFirst := int64(0), true
	r.OnSectionEnd(func(end *format.End) {
		for _, l := range end.Losses {
			if !l.IsFault() {
				continue
			}
			found.lost = format.Sum(found.lost, l.Count)
		}
		closed = end.Close
	})
	r.OnSectionDone(func() {
		for range r.StackIDs() {
			found.stacks++
		}
		s := r.Session()
		if isFirst || !timeline.ContinuesWindow(s) {
			found.Open(s, s.WindowStart())
		}
		found.Close(s.WindowEndOr(closed))
		closed, isFirst = 0, false
	})
	err = drain(r)
	return found, r.Damage() != nil, err
}

// drain reads a stream to its end. What stops it early stops the reading of its events as well, and is reported then.
func drain(r *format.Reader) error {
	for {
		_, err := r.Next()
		switch {
		case errors.Is(err, io.EOF), cli.EndsWell(err):
			return nil
		case err != nil:
			return err
		}
	}
}

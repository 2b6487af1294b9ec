package ndjson

import (
	"errors"
	"io"
	"math"

	"wprof/format"
	"wprof/internal/timeline"
)

// survey is what the header tells of a stream that is known at its end only.
type survey struct {
	stacks int64
	lost   uint64
	whole  bool // lost is all
	start  int64
	end    int64 // 0: not known
}

// look reads what a survey needs of a stream, and no events: unless it is damaged, because the events decide then which of
// its sections count.
func look(open func() (*format.Reader, error)) (survey, error) {
	found, isDamaged, err := lookAt(open, true)
	if err == nil && isDamaged {
		found, _, err = lookAt(open, false)
		found.whole = false
	}
	return found, err
}

func lookAt(open func() (*format.Reader, error), skip bool) (found survey, isDamaged bool, err error) {
	r, err := open()
	if err != nil {
		return survey{}, false, err
	}
	defer r.Close()
	if skip {
		r.SkipAfter(math.MinInt64)
	}
	found = survey{start: timeline.WindowStart(r.Session()), whole: true}
	r.OnSectionEnd(func(end *format.End) {
		for _, l := range end.Losses {
			found.lost += l.Count
		}
		found.end = end.Close
	})
	r.OnLeave(func() {
		for range r.Stacks() {
			found.stacks++
		}
		if at := timeline.WindowEnd(r.Session()); at != 0 {
			found.end = at
		}
	})
	err = drain(r)
	return found, r.Damage() != nil, err
}

// drain reads a stream to its end. What stops it early stops whoever reads its events as well, and is told then.
func drain(r *format.Reader) error {
	for {
		_, err := r.Next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, format.ErrNewer), errors.Is(err, format.ErrOverlap):
			return nil
		case err != nil:
			return err
		}
	}
}

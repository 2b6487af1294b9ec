package format

import "errors"

var (
	// ErrNotStream is wrapped by errors about input that is not a wprof stream.
	ErrNotStream = errors.New("not a wprof stream")
	// ErrNewer is wrapped by errors about streams that need a newer version of this package.
	ErrNewer = errors.New("the stream needs a newer version of wprof")
	// ErrOverlap is wrapped by errors about sections that cannot share a timeline: other boots, or windows that
	// overlap.
	ErrOverlap = errors.New("the sections do not share a timeline")
	// ErrFull is returned for a definition beyond what readers accept in a section.
	ErrFull = errors.New("the section has as many definitions as readers accept")

	errMalformed = errors.New("malformed event block")
)

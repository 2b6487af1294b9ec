package perfetto

import (
	"io"

	"wprof/format"
	"wprof/internal/tracks"
)

// Summary is the result of a conversion.
type Summary struct {
	Events         int64
	Opened, Until  int64 // when the first window opened, and the time of the last event that was written, CLOCK_MONOTONIC ns
	Bytes          int64 // of the trace
	SkippedCPUs    int64 // events of CPUs with numbers that Perfetto refuses
	DroppedThreads int64 // threads that end in the trace but not in the stream
	Lost           bool  // events are missing
}

// Convert writes a stream as a trace. Whatever ends the stream, the trace is well-formed; errors of the stream come
// back after all before them has been written.
func Convert(r *format.Reader, w io.Writer, options Options) (Summary, error) {
	e := newEncoder(w, options)
	done, err := tracks.Draw(r, e, options.drawn())
	return Summary{
		Events: done.Events, Opened: r.FirstOpen(), Until: e.now, Bytes: e.written, SkippedCPUs: e.skipped, Lost: done.Lost,
		DroppedThreads: max(done.DroppedThreads, e.threads.droppedThreads),
	}, err
}

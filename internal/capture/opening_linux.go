package capture

import (
	"errors"
	"time"

	"wprof/bpf"
	"wprof/internal/proc"
	"wprof/internal/ringdata"
)

const (
	// samplingTime is how long before the list of threads the samples are started, which takes half of it.
	samplingTime = 20 * time.Millisecond
	// listingBase is the time for reading the programs' counters, with some to spare for a CPU that the hypervisor has descheduled;
	// listingSlice that for a slice of the list of threads, with its pause.
	listingBase  = 10 * time.Millisecond
	listingSlice = 1500 * time.Microsecond
)

var (
	errStopped = errors.New("the recording was stopped before its window opened")
	errLate    = errors.New("the instant at which the window was to open has passed")
)

// listingTime is how long before the opening the programs are armed, so that all threads are listed when it comes: until then the rings
// get what identifies threads.
func (r *recorder) listingTime() time.Duration {
	slices := r.threads*ringdata.TaskSize/bpf.TaskSlice + 1
	return listingBase + time.Duration(slices)*listingSlice
}

// awaitListing starts the samples and returns when the threads are to be listed.
func (r *recorder) awaitListing() error {
	if r.openAt == 0 {
		return nil
	}
	at := r.openAt - r.listingTime().Nanoseconds()
	if err := r.sleepUntil(at-samplingTime.Nanoseconds(), nil); err != nil {
		return err
	}
	if err := r.tracer.StartSampling(); err != nil {
		return err
	}
	return r.sleepUntil(at, nil)
}

// awaitOpening waits until the window is to open, and returns when it does: at the requested instant, even if this thread wakes later, since
// the programs write already. If the list of threads was complete only later, it opens then. ready is when it was.
func (r *recorder) awaitOpening(ready int64) (int64, error) {
	switch {
	case r.openAt == 0:
		return proc.Monotonic(), nil
	case r.openBy != 0 && ready > r.openBy:
		return 0, errLate
	case ready > r.openAt:
		return ready, nil
	}
	return r.openAt, r.sleepUntil(r.openAt, r.drainRings)
}

func (r *recorder) drainRings() error {
	_, _, err := r.drain.Round()
	return err
}

// sleepUntil sleeps until a time, and calls meanwhile, if it is not nil, as often as rounds may come.
func (r *recorder) sleepUntil(at int64, meanwhile func() error) error {
	for {
		left := time.Duration(at - proc.Monotonic())
		if left <= 0 {
			return nil
		}
		wait := left
		if meanwhile != nil {
			wait = min(left, r.pace.shortest)
		}
		switch stopped, err := r.wake.Sleep(wait); {
		case err != nil:
			return err
		case stopped:
			return errStopped
		case meanwhile != nil && wait < left:
			if err := meanwhile(); err != nil {
				return err
			}
		}
	}
}

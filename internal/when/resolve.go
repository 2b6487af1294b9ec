package when

import (
	"fmt"
	"slices"
	"time"

	"wprof/format"
)

// lastYear is the last one of which CLOCK_REALTIME has all times in ns.
const lastYear = 2261

// Resolve returns the instant that is meant, by the clocks at the start of the program, and what its user should know about it; "":
// nothing. A time of day that is past, or that no clock shows, is an error.
func (s Spec) Resolve(start *format.ClockSnapshot, zone *time.Location) (i Instant, note string, err error) {
	switch s.form {
	case at:
		return s.resolveTime(time.Unix(0, start.Realtime).In(zone))
	case after:
		return Instant{ns: start.Boottime + int64(s.length), onBoot: true, set: true}, "", nil
	case every:
		return Instant{every: int64(s.length), set: true}.Next(start, 1), "", nil
	}
	return Instant{}, "", nil
}

func (s Spec) resolveTime(start time.Time) (i Instant, note string, err error) {
	wall := s.wall
	if !s.hasDate {
		year, month, day := start.Date()
		wall = time.Date(year, month, day, wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), time.UTC)
	}
	moments := []time.Time{wall}
	if !s.hasZone {
		if moments = momentsOf(wall, start.Location()); len(moments) == 0 {
			return Instant{}, "", fmt.Errorf("%s: there is no %s on %s, because %s", s.Text, clock(wall), wall.Format(time.DateOnly), gapText(wall, start.Location()))
		}
	}
	ahead := slices.IndexFunc(moments, start.Before)
	switch {
	case ahead < 0:
		return Instant{}, "", s.past(wall, start)
	case moments[ahead].Year() > lastYear:
		return Instant{}, "", fmt.Errorf("%s is too far away", s.Text)
	case len(moments) > 1:
		note = fmt.Sprintf("%s: %s occurs twice on %s, because clocks are set back: the %s one, %s, is taken", s.Text, clock(wall), wall.Format(time.DateOnly),
			[]string{"first", "second"}[min(ahead, 1)], moments[ahead].Format("15:04:05 MST (-07:00)"))
	}
	return Instant{ns: moments[ahead].UnixNano(), set: true}, note, nil
}

func (s Spec) past(wall, start time.Time) error {
	hint := ""
	if !s.hasDate {
		hint = "; with a date it is that day's: @" + wall.AddDate(0, 0, 1).Format("2006-01-02T15:04:05.999999999")
	}
	return fmt.Errorf("%s is past: it is %s%s", s.Text, start.Format("2006-01-02 15:04:05 MST"), hint)
}

func clock(wall time.Time) string { return wall.Format("15:04:05.999999999") }

// reach is further than any clock is from UTC.
const reach = 26 * time.Hour

// momentsOf returns when clocks of a zone show something, in order: none where they are set forward over it, two where they are set
// back to before it.
func momentsOf(wall time.Time, zone *time.Location) (all []time.Time) {
	for _, offset := range offsetsAround(wall, zone) {
		moment := wall.Add(-offset).In(zone)
		_, shown := moment.Zone()
		if time.Duration(shown)*time.Second == offset && !slices.ContainsFunc(all, moment.Equal) {
			all = append(all, moment)
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// offsetsAround returns by how much clocks of a zone are ahead of UTC in the time around wall.
func offsetsAround(wall time.Time, zone *time.Location) (all []time.Duration) {
	for moment := wall.Add(-reach).In(zone); ; {
		_, offset := moment.Zone()
		all = append(all, time.Duration(offset)*time.Second)
		_, end := moment.ZoneBounds()
		if end.IsZero() || end.After(wall.Add(reach)) {
			return all
		}
		moment = end
	}
}

// gapText says how clocks are set over wall.
func gapText(wall time.Time, zone *time.Location) string {
	for moment := wall.Add(-reach).In(zone); ; {
		_, end := moment.ZoneBounds()
		if end.IsZero() || end.After(wall.Add(reach)) {
			return "clocks are set forward over it"
		}
		before := end.Add(-1)
		_, old := before.Zone()
		_, set := end.Zone()
		from := end.UTC().Add(time.Duration(old) * time.Second)
		to := end.UTC().Add(time.Duration(set) * time.Second)
		if !wall.Before(from) && wall.Before(to) {
			return fmt.Sprintf("clocks are set forward then, from %s to %s", from.Format(time.DateTime), to.Format(time.DateTime))
		}
		moment = end
	}
}

// CheckOrder returns why a recording that is prepared at one instant cannot be activated at another one; nil: it can. Multiples of a
// period are taken once the recording is prepared.
func CheckOrder(prepare, activate Spec, prepareAt, activateAt Instant, start *format.ClockSnapshot) error {
	if !prepareAt.IsSet() || !activate.IsGiven() || activateAt.every != 0 {
		return nil
	}
	if !activateAt.IsSet() || activateAt.Left(start) <= prepareAt.Left(start) {
		return fmt.Errorf("--activate %s comes before --prepare %s is done: without --activate the recording begins once it is prepared", activate.Text, prepare.Text)
	}
	return nil
}

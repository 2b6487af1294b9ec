package when

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // machines that build need not have the zones of the tests

	"wprof/format"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// reading is what the clocks of a machine show that has run for an hour and was suspended for a minute.
func reading(now time.Time) *format.ClockSnapshot {
	return &format.ClockSnapshot{Monotonic: int64(time.Hour), Boottime: int64(time.Hour + time.Minute), Realtime: now.UnixNano()}
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	m, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTimesOfDay(t *testing.T) {
	for _, c := range []struct{ zone, now, text, want string }{
		{"Europe/Berlin", "2026-06-10T12:00:00+02:00", "@14:30", "2026-06-10T14:30:00+02:00"},
		{"Europe/Berlin", "2026-06-10T12:00:00+02:00", "@14:30:05", "2026-06-10T14:30:05+02:00"},
		{"Europe/Berlin", "2026-06-10T12:00:00+02:00", "@14:30:05.25", "2026-06-10T14:30:05.25+02:00"},
		{"Europe/Berlin", "2026-06-10T12:00:00+02:00", "@23:59:59.999999999", "2026-06-10T23:59:59.999999999+02:00"},
		{"Europe/Berlin", "2026-06-10T12:00:00.1+02:00", "@12:00:00.2", "2026-06-10T12:00:00.2+02:00"},
		{"Europe/Berlin", "2026-06-10T12:00:00+02:00", "@2026-06-11", "2026-06-11T00:00:00+02:00"},
		{"Europe/Berlin", "2026-06-10T12:00:00+02:00", "@2026-12-24T18:00", "2026-12-24T18:00:00+01:00"},
		{"Europe/Berlin", "2026-06-10T12:00:00+02:00", "@2026-12-24 18:00:30.5", "2026-12-24T18:00:30.5+01:00"},
		{"Europe/Berlin", "2026-06-10T12:00:00+02:00", "@2028-02-29T00:00", "2028-02-29T00:00:00+01:00"},
		{"Europe/Berlin", "2026-06-10T12:00:00+02:00", "@2026-06-10T11:00:00Z", "2026-06-10T13:00:00+02:00"},
		{"Europe/Berlin", "2026-06-10T12:00:00+02:00", "@2026-06-10T12:00-05:30", "2026-06-10T19:30:00+02:00"},
		// Just before and after clocks are set, in both directions.
		{"Europe/Berlin", "2026-03-29T00:00:00+01:00", "@01:59:59.9", "2026-03-29T01:59:59.9+01:00"},
		{"Europe/Berlin", "2026-03-29T00:00:00+01:00", "@03:00", "2026-03-29T03:00:00+02:00"},
		{"Europe/Berlin", "2026-10-25T00:00:00+02:00", "@01:59", "2026-10-25T01:59:00+02:00"},
		{"Europe/Berlin", "2026-10-25T00:00:00+02:00", "@03:00", "2026-10-25T03:00:00+01:00"},
		// A day in local time is not one in UTC.
		{"Pacific/Kiritimati", "2026-06-10T23:00:00+14:00", "@23:30", "2026-06-10T23:30:00+14:00"},
		{"America/Los_Angeles", "2026-06-10T18:00:00-07:00", "@18:30", "2026-06-10T18:30:00-07:00"},
		// Half an hour of summer time.
		{"Australia/Lord_Howe", "2026-10-04T00:00:00+10:30", "@02:30", "2026-10-04T02:30:00+11:00"},
	} {
		i, note := resolved(t, c.zone, c.now, c.text)
		if ns, ok := i.Wall(); !ok || ns != moment(t, c.want).UnixNano() || note != "" {
			t.Errorf("%s in %s at %s is %s with the note %q, want %s", c.text, c.zone, c.now, time.Unix(0, ns).In(zone(t, c.zone)), note, c.want)
		}
	}
}

func resolved(t *testing.T, in, now, text string) (Instant, string) {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	i, note, err := s.Resolve(reading(moment(t, now)), zone(t, in))
	if err != nil {
		t.Fatalf("%s in %s at %s: %v", text, in, now, err)
	}
	return i, note
}

func TestTimesThatOccurTwice(t *testing.T) {
	for _, c := range []struct{ zone, now, text, want, note string }{
		{"Europe/Berlin", "2026-10-25T00:00:00+02:00", "@02:30", "2026-10-25T02:30:00+02:00", "@02:30: 02:30:00 occurs twice on 2026-10-25, because clocks are set back: the first one, 02:30:00 CEST (+02:00), is taken"},
		{"Europe/Berlin", "2026-10-25T02:40:00+02:00", "@02:30", "2026-10-25T02:30:00+01:00", "the second one, 02:30:00 CET (+01:00), is taken"},
		{"Europe/Berlin", "2026-06-10T12:00:00+02:00", "@2026-10-25T02:00", "2026-10-25T02:00:00+02:00", "the first one, 02:00:00 CEST"},
		{"America/New_York", "2026-10-31T12:00:00-04:00", "@2026-11-01T01:30:00.5", "2026-11-01T01:30:00.5-04:00", "01:30:00.5 occurs twice on 2026-11-01"},
		{"Australia/Lord_Howe", "2026-04-05T00:00:00+11:00", "@01:45", "2026-04-05T01:45:00+11:00", "the first one, 01:45:00 +11 (+11:00)"},
	} {
		i, note := resolved(t, c.zone, c.now, c.text)
		if ns, _ := i.Wall(); ns != moment(t, c.want).UnixNano() || !strings.Contains(note, c.note) {
			t.Errorf("%s in %s at %s is %s with the note %q, want %s with %q", c.text, c.zone, c.now, time.Unix(0, ns).In(zone(t, c.zone)), note, c.want, c.note)
		}
	}
}

func TestTimesThatCannotBeAwaited(t *testing.T) {
	for _, c := range []struct{ zone, now, text, want string }{
		{"Europe/Berlin", "2026-06-10T14:30:20+02:00", "@14:30", "@14:30 is past: it is 2026-06-10 14:30:20 CEST; with a date it is that day's: @2026-06-11T14:30:00"},
		{"Europe/Berlin", "2026-06-10T14:30:00+02:00", "@14:30", "is past"}, // it is now
		{"Europe/Berlin", "2026-06-10T14:30:20+02:00", "@2026-06-10", "@2026-06-10 is past: it is 2026-06-10 14:30:20 CEST"},
		{"Europe/Berlin", "2026-06-10T14:30:20+02:00", "@0000-01-01T00:00", "is past"},
		{"Europe/Berlin", "2026-06-10T14:30:20+02:00", "@2026-06-10T12:30:20Z", "is past"},
		{"Europe/Berlin", "2026-10-25T02:40:00+01:00", "@02:30", "is past"}, // both
		{"Europe/Berlin", "2026-06-10T14:30:20+02:00", "@2262-01-01", "too far away"},
		{"Europe/Berlin", "2026-06-10T14:30:20+02:00", "@9999-12-31T23:59:59", "too far away"},
		{"Europe/Berlin", "2026-03-29T00:00:00+01:00", "@02:30", "@02:30: there is no 02:30:00 on 2026-03-29, because clocks are set forward then, from 2026-03-29 02:00:00 to 2026-03-29 03:00:00"},
		{"Europe/Berlin", "2026-03-29T00:00:00+01:00", "@02:00", "there is no 02:00:00"},
		{"Europe/Berlin", "2026-01-01T00:00:00+01:00", "@2026-03-29T02:59:59.999", "there is no 02:59:59.999 on 2026-03-29"},
		// Midnight and a whole day that did not happen.
		{"America/Sao_Paulo", "2018-11-01T12:00:00-03:00", "@2018-11-04", "there is no 00:00:00 on 2018-11-04"},
		{"Pacific/Apia", "2011-12-29T12:00:00-10:00", "@2011-12-30T12:00", "from 2011-12-30 00:00:00 to 2011-12-31 00:00:00"},
	} {
		s, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if i, _, err := s.Resolve(reading(moment(t, c.now)), zone(t, c.zone)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in %s at %s is %v, %v, want the error %q", c.text, c.zone, c.now, i, err, c.want)
		}
	}
}

func TestWhatIsNoInstant(t *testing.T) {
	for text, want := range map[string]string{
		"now":                             "is not @now, a time like @14:30",
		"14:30":                           "is not @now, a time like @14:30",
		"@":                               "is not @now or a time like",
		"@14":                             "is not @now or a time like",
		"@1430":                           "is not @now or a time like",
		"@ 14:30":                         "is not @now or a time like",
		"@14:30 ":                         "is not @now or a time like",
		"@14:3":                           "is not @now or a time like",
		"@2026-6-10":                      "is not @now or a time like",
		"@10.6.2026":                      "is not @now or a time like",
		"@14:30Z":                         "is not @now or a time like",
		"@2026-06-10T14:30 CEST":          "is not @now or a time like",
		"@24:00":                          "no clock and no calendar shows that",
		"@14:60":                          "no clock and no calendar shows that",
		"@2026-06-30T23:59:60":            "no clock and no calendar shows that",
		"@2026-02-29":                     "no clock and no calendar shows that",
		"@2026-13-01":                     "no clock and no calendar shows that",
		"+":                               "is not a duration",
		"+5":                              `"5" has no unit: write 5s or 5ms`,
		"+-5s":                            "is negative",
		"-5s":                             "is not @now",
		"+0s":                             "at once is @now",
		"/0":                              "at once is @now",
		"/1d":                             "the unit is one of",
		"@" + strings.Repeat("1", 1000):   "it has 1001 bytes",
		"+99999999999999999999999999999s": "too long a duration",
	} {
		if s, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %v, %v, want the error %q", text, s, err, want)
		}
	}
}

func TestDurationsCountSuspensions(t *testing.T) {
	now := moment(t, "2026-06-10T12:00:00Z")
	i, _ := resolved(t, "UTC", "2026-06-10T12:00:00Z", "+10s")
	start := reading(now)
	if _, isWall := i.Wall(); isWall || i.Left(start) != 10*time.Second || i.Monotonic(start) != start.Monotonic+10e9 {
		t.Errorf("+10s is in %v, at %d on CLOCK_MONOTONIC %d", i.Left(start), i.Monotonic(start), start.Monotonic)
	}
	later := &format.ClockSnapshot{Monotonic: start.Monotonic + 1e9, Boottime: start.Boottime + 4e9, Realtime: start.Realtime + 3600e9}
	if i.Left(later) != 6*time.Second || i.Monotonic(later) != start.Monotonic+7e9 {
		t.Errorf("after 1 s and a suspension of 3 s, +10s is in %v, at %d", i.Left(later), i.Monotonic(later)-start.Monotonic)
	}
}

func TestTimesOfDayFollowTheClock(t *testing.T) {
	now := moment(t, "2026-06-10T12:00:00Z")
	i, _ := resolved(t, "UTC", "2026-06-10T12:00:00Z", "@12:01")
	start := reading(now)
	set := &format.ClockSnapshot{Monotonic: start.Monotonic + 1e9, Boottime: start.Boottime + 1e9, Realtime: start.Realtime + 50e9}
	if i.Left(start) != time.Minute || i.Left(set) != 10*time.Second || i.Monotonic(set) != start.Monotonic+11e9 || i.Next(set, time.Hour) != i {
		t.Errorf("@12:01 is in %v, and after the clock was set in %v", i.Left(start), i.Left(set))
	}
}

func TestPeriodsCountFromTheEpoch(t *testing.T) {
	for _, c := range []struct {
		text, now string
		least     time.Duration
		want      string
	}{
		{"/1s", "2026-06-10T12:00:00.2Z", 1, "2026-06-10T12:00:01Z"},
		{"/1s", "2026-06-10T12:00:00.2Z", 800 * time.Millisecond, "2026-06-10T12:00:01Z"},
		{"/1s", "2026-06-10T12:00:00.2Z", 801 * time.Millisecond, "2026-06-10T12:00:02Z"},
		{"/1s", "2026-06-10T12:00:00Z", 1, "2026-06-10T12:00:01Z"},
		{"/1s", "2026-06-10T12:00:00Z", 0, "2026-06-10T12:00:00Z"},
		{"/15m", "2026-06-10T12:05:00Z", 1, "2026-06-10T12:15:00Z"},
		{"/24h", "2026-06-10T12:05:00Z", 1, "2026-06-11T00:00:00Z"},
		{"/7s", "1970-01-01T00:00:01Z", 1, "1970-01-01T00:00:07Z"},
		{"/1h30m", "1970-01-01T04:00:00Z", 1, "1970-01-01T04:30:00Z"},
		{"/250ms", "2026-06-10T12:00:00.6Z", 1, "2026-06-10T12:00:00.75Z"},
	} {
		i, _ := resolved(t, "Asia/Kathmandu", c.now, c.text)
		i = i.Next(reading(moment(t, c.now)), c.least)
		if ns, ok := i.Wall(); !ok || ns != moment(t, c.want).UnixNano() {
			t.Errorf("%s, %v from %s on, is %s, want %s", c.text, c.least, c.now, time.Unix(0, ns).UTC(), c.want)
		}
	}
}

func TestActivationComesAfterPreparation(t *testing.T) {
	start := reading(moment(t, "2026-06-10T12:00:00.25Z"))
	for _, c := range []struct {
		prepare, activate string
		ok                bool
	}{
		{"", "", true},
		{"@now", "@now", true},
		{"", "+1s", true},
		{"+10s", "", true},
		{"+10s", "+20s", true},
		{"+10s", "@12:01", true},
		{"@12:00:30", "/1s", true},
		{"/1h", "/1s", true},
		{"/1s", "+1s", true},
		{"+10s", "@now", false},
		{"+10s", "+10s", false},
		{"+10s", "+5s", false},
		{"@12:01", "+10s", false},
		{"/1h", "@12:59:59", false},
	} {
		var specs [2]Spec
		var instants [2]Instant
		for n, text := range []string{c.prepare, c.activate} {
			var err error
			if specs[n], err = Parse(text); err != nil {
				t.Fatal(err)
			}
			if instants[n], _, err = specs[n].Resolve(start, time.UTC); err != nil {
				t.Fatal(err)
			}
		}
		if err := CheckOrder(specs[0], specs[1], instants[0], instants[1], start); (err == nil) != c.ok {
			t.Errorf("--prepare %q --activate %q: %v", c.prepare, c.activate, err)
		}
	}
}

// FuzzParse: whatever is typed is refused or an instant that is ahead, and of a time of day one that clocks show as it was typed.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"@now", "@14:30", "@14:30:05.5", "@2026-03-29T02:30", "@2026-10-25 02:30", "@2026-06-10T14:30:00+02:00", "+10s", "/1h", "@24:00", "+", "/", "@"} {
		f.Add(seed, int64(1_780_000_000_000_000_000))
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, now int64) {
		s, err := Parse(text)
		if err != nil || text == "" {
			return
		}
		start := &format.ClockSnapshot{Monotonic: 1e9, Boottime: 2e9, Realtime: max(now, -now, 0) % 4e18}
		i, _, err := s.Resolve(start, berlin)
		if err != nil || !i.IsSet() {
			return
		}
		if i.Left(start) <= 0 {
			t.Errorf("%q at %d is past: %v", text, start.Realtime, i.Left(start))
		}
		if next := i.Next(start, time.Hour); i.every != 0 && (next.Left(start) < time.Hour || next.ns%i.every != 0) {
			t.Errorf("%q at %d is %d", text, start.Realtime, next.ns)
		}
		if ns, _ := i.Wall(); s.form == at && !s.hasZone {
			if shown := time.Unix(0, ns).In(berlin); shown.Format("15:04:05.999999999") != s.wall.Format("15:04:05.999999999") {
				t.Errorf("%q at %d is %s", text, start.Realtime, shown)
			}
		}
	})
}

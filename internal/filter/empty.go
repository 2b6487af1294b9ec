package filter

// whyEmpty returns why nothing is kept. isNarrowed: a time range was given.
func (r *Result) whyEmpty(isNarrowed bool, messages Messages) string {
	switch {
	case r.Damage != nil && r.Read == 0 && isNarrowed:
		return "nothing that is whole of it lies in the time range"
	case r.Damage != nil && r.Read == 0:
		return "none of its events is whole"
	case r.Damage != nil:
		return "no event that is whole meets the conditions"
	case r.Missed == MissLate:
		return "its window closes before " + messages.Start
	case r.Missed == MissEarly:
		return "its window opens after " + messages.End
	case r.Lost && r.Read == 0:
		return "it has nothing but reports of lost events"
	case r.Lost:
		return "no event meets the conditions, as far as events were not lost"
	case r.Read == 0 && isNarrowed:
		return "it has no events in the time range"
	case r.Read == 0:
		return "it has no events"
	}
	return "no event meets the conditions"
}

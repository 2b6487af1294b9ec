package cli

import "fmt"

// FailOnLoss is the flag by which a tool minds lost events.
func FailOnLoss() Flag {
	return Flag{Name: "fail-on-loss", Usage: "Exit with status 5 if events were lost."}
}

// Lost is the error of an input in which events are missing; nil if there are none or nobody minds.
func (inv *Invocation) Lost(input string, lost bool) error {
	if !lost || !inv.Bool("fail-on-loss") {
		return nil
	}
	return WithCode(ExitLost, fmt.Errorf("events of %s are missing, and --fail-on-loss was given", input))
}

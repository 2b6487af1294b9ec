package cli

import (
	"errors"
	"fmt"

	"wprof/format"
	"wprof/format/textform"
)

// InputError wraps an error about an input with what was being done to it, and the exit status that it has in every tool. One
// that has a status is returned unchanged, and so is an error of the output.
func InputError(doing, source string, err error) error {
	var exit *ExitError
	if errors.As(err, &exit) {
		return err
	}
	if output := WriteError(err); output != nil {
		return WithCode(ExitFailed, output)
	}
	if doing != "" {
		source = doing + " " + source
	}
	err = fmt.Errorf("%s: %w", source, err)
	switch {
	case errors.Is(err, format.ErrNewer):
		return WithCode(ExitNewer, err)
	case errors.Is(err, textform.ErrDamaged):
		return WithCode(ExitDamaged, err)
	}
	return WithCode(ExitFailed, err)
}

// EndsWell reports whether the output is complete up to the error: on a pipe, sections that cannot be read are found late.
func EndsWell(err error) bool {
	return errors.Is(err, format.ErrOverlap) || errors.Is(err, format.ErrNewer)
}

// Damaged is the error of a damaged input; rest describes what was done with its undamaged parts.
func Damaged(source string, d *format.Damage, rest string) error {
	return WithCode(ExitDamaged, fmt.Errorf("%s is damaged (%s): %s missing; %s", source, d.Detail, d.Missing(), rest))
}

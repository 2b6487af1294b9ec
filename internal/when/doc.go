// Package when has the language of --prepare and --activate: an instant that is given by the time of day, by its distance from the
// start of the program, or as the next multiple of a period.
package when

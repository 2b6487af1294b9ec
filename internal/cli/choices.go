package cli

import (
	"fmt"
	"slices"
	"strings"
)

// choose checks a value against a flag's choices.
func choose(f Flag, value string) error {
	if len(f.Choices) == 0 || f.Kind == Optional && (value == "" || value[0] == '+') {
		return nil
	}
	valid := append(f.values(), f.Synonyms...)
	for _, w := range f.words(value) {
		if choice, _, ok := strings.Cut(w, "="); ok && slices.Contains(f.Valued, choice) {
			continue
		}
		if choice, list, ok := strings.Cut(w, "="); ok && f.takesDetails(choice) {
			if err := f.checkDetails(choice, list); err != nil {
				return err
			}
			continue
		}
		if slices.Contains(f.Valued, w) {
			return fmt.Errorf("%q needs a value: %s=VALUE", w, w)
		}
		if w == "" && f.CommaList {
			return EmptyEntry(value, "valid are "+strings.Join(f.Choices, ", "))
		}
		if !slices.Contains(valid, w) && (f.Other == nil || !f.Other(w)) {
			return fmt.Errorf("%q is not one of its values; %s", w, f.advice(w))
		}
	}
	return nil
}

// advice returns how to replace a word that is none of the choices.
func (f Flag) advice(word string) string {
	if f.Hint != nil {
		if hint := f.Hint(word); hint != "" {
			return hint
		}
	}
	return didYouMean(word, f.suggestions(word))
}

// words returns the parts of a value that must be choices.
func (f Flag) words(value string) []string {
	switch {
	case f.Kind == Optional:
		word, _, _ := strings.Cut(value, "=")
		return []string{word}
	case f.CommaList:
		return f.Split(value)
	default:
		return []string{value}
	}
}

// Split returns the parts of a list of choices.
func (f Flag) Split(value string) []string {
	var parts []string
	valued := false
	for word := range strings.SplitSeq(value, ",") {
		choice, _, hasValue := strings.Cut(word, "=")
		isValued := hasValue && (slices.Contains(f.Valued, choice) || f.takesDetails(choice))
		if valued && !isValued && !slices.Contains(f.values(), word) {
			parts[len(parts)-1] += "," + word
			continue
		}
		valued = isValued
		parts = append(parts, word)
	}
	return parts
}

// values returns all words that may be part of a value.
func (f Flag) values() []string {
	words := slices.Clone(f.Choices)
	if f.Negate {
		for _, c := range f.Choices {
			words = append(words, "no-"+c)
		}
	}
	return words
}

// suggestions returns the values that may have been intended, with no- if it was typed: for "no-shed" "no-sched".
func (f Flag) suggestions(typed string) []string {
	if f.Negate && strings.HasPrefix(typed, "no-") {
		return f.values()[len(f.Choices):]
	}
	return f.Choices
}

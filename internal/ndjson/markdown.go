package ndjson

// Markdown is the description of the lines for people.
func Markdown() ([]byte, error) { return nil, nil }

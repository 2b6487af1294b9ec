package usercode

import "fmt"

// NotFound is the error for a name that there is not.
type NotFound struct {
	What string // "function", "member"
	Name string
	In   string   // what has no such name: "struct item"; "": the file
	Near []string // similar names that there are, best first
}

func (e *NotFound) Error() string {
	if e.In != "" {
		return fmt.Sprintf("%s has no %s %s", e.In, e.What, e.Name)
	}
	return fmt.Sprintf("there is no %s %s", e.What, e.Name)
}

// PartError is why a part of an argument cannot be read.
type PartError struct {
	At  int // byte offset of the part in the definition, as probe.Arg and probe.Access have it
	Err error
}

func (e *PartError) Error() string { return e.Err.Error() }

func (e *PartError) Unwrap() error { return e.Err }

// TooMany is the error for a glob that matches more than it may.
type TooMany struct {
	What  string // "functions"
	Name  string
	Count int
	Limit int
}

func (e *TooMany) Error() string {
	return fmt.Sprintf("%s matches %d %s, and the limit is %d", e.Name, e.Count, e.What, e.Limit)
}

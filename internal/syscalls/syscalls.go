// Package syscalls is the table of the system calls of a machine: their names by number, and their arguments.
package syscalls

//go:generate go run ./internal/gen

// Machines returns the machines whose calls are known, as uname -m names them.
func Machines() []string { return []string{"x86_64", "aarch64"} }

// Names returns the names of the system calls of 64-bit programs, by number, on a machine as uname -m names it; "" for numbers that are not
// used, and nil for machines that are not known.
func Names(machine string) []string {
	switch machine {
	case "x86_64":
		return x86()
	case "aarch64":
		return arm()
	}
	return nil
}

// CompatNames returns the names of the system calls of 32-bit programs, as [Names] does.
func CompatNames(machine string) []string {
	switch machine {
	case "x86_64":
		return x86compat()
	case "aarch64":
		return armcompat()
	}
	return nil
}

// The functions without bodies in ppoll_linux.go are the runtime's; the compiler allows them in a package with assembly only.

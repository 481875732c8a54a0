// Package exitcode has the exit codes of the program, and the error that means a wrong configuration.
package main

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2 // or wrong configuration
)

// configError is a configuration that cannot be used. The program exits with [exitUsage].
type configError struct{ err error }

func (e *configError) Error() string { return e.err.Error() }
func (e *configError) Unwrap() error { return e.err }

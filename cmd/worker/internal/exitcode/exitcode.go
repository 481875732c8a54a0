// Package exitcode has the exit codes of the program, and the error of a wrong configuration.
package exitcode

// The exit codes.
const (
	Done   = 0
	Failed = 1
	Usage  = 2 // wrong command line or wrong configuration
)

// ConfigError is a configuration that cannot be used. The program exits with [Usage].
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }
func (e *ConfigError) Unwrap() error { return e.Err }

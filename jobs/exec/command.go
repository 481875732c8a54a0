package exec

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/jobs"
)

// Command is a program with its arguments and its surroundings.
type Command struct {
	// Args is the program and its arguments. A program without a slash is looked up in the PATH of
	// the command's own environment, where only absolute directories count. One with a slash is
	// relative to Dir. No shell reads it.
	Args []string
	// Dir is the working directory, relative to the worker's; empty means the worker's. It need not
	// exist before a run.
	Dir string
	// Env is added to the worker's environment, and wins over it. The variables that describe the
	// run are not allowed here.
	Env map[string]string
	// Unset names variables of the worker's environment that the command does not get, unless Env has
	// them.
	Unset []string
	// KillGrace is the time between SIGTERM and SIGKILL, 0 or more; the end of the lease may cut it
	// short. 0 kills at once.
	KillGrace time.Duration
}

// Validate returns every fault of c, each a [*jobs.Fault], joined; nil when there is none. It does
// not look for the program or the directory: they depend on the machine that runs the command.
func (c Command) Validate() error {
	var faults []error
	fault := func(field, value, rule string) {
		faults = append(faults, &jobs.Fault{Field: field, Value: value, Rule: rule})
	}
	const noNUL = "must not contain a NUL byte"

	switch {
	case len(c.Args) == 0:
		fault("exec.command", "", "must name a program, such as [./report.sh, --full]")
	case c.Args[0] == "":
		fault("exec.command", strings.Join(c.Args, " "), "must begin with the name of a program, not with an empty string")
	}
	for _, arg := range c.Args {
		if strings.ContainsRune(arg, 0) {
			fault("exec.command", arg, noNUL)
		}
	}
	if strings.ContainsRune(c.Dir, 0) {
		fault("exec.dir", c.Dir, noNUL)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			fault("exec.env", name, "must be the name of a variable: not empty, without = and NUL")
		case slices.Contains(runVariables, name):
			fault("exec.env", name, "is set by the run itself; choose another name")
		case strings.ContainsRune(c.Env[name], 0):
			fault("exec.env", name, "must have a value without a NUL byte")
		}
	}
	if c.KillGrace < 0 {
		fault("exec.kill_grace", c.KillGrace.String(), "must be at least 0s")
	}
	return errors.Join(faults...)
}

func (c Command) clone() Command {
	c.Args, c.Env, c.Unset = slices.Clone(c.Args), maps.Clone(c.Env), slices.Clone(c.Unset)
	return c
}

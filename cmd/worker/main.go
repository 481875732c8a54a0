// Command worker runs one replica of a fleet of schedulers from a configuration file, and tells what such a file does.
//
//	worker run --config solotick.yaml        run the jobs until SIGTERM or SIGINT
//	worker validate --config solotick.yaml   say what is wrong with the file
//	worker next --config solotick.yaml       print the coming ticks
//	worker status, describe, history, why    say what the fleet does, and did
//	worker trigger, cancel, pause, resume    control its jobs
//	worker repair                            bring a job back to now that a wrong clock has stopped
//	worker forget                            remove the record of a job that is gone
//	worker doctor                            check its Redis, and the fleet
//
// It exits with 0 when it has done what was asked, with 1 when that failed, and with 2 when the command line or the
// configuration is wrong.
package main

import (
	"context"
	"io"
	"os"
	_ "time/tzdata" // time zones, for machines that have none of their own

	"github.com/solotick/solotick/jobs/exec"
)

// guardCommand makes this program the process that package jobs/exec starts to guard its commands.
const guardCommand = "guard"

func main() {
	if len(os.Args) == 2 && os.Args[1] == guardCommand {
		os.Exit(exec.GuardMain()) // before anything else is set up: runs wait for it to start
	}
	os.Exit(Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr, os.LookupEnv))
}

// Main is the program: it does what args say until that is done or ctx ends, and returns the exit code. env looks up a
// variable of the environment, as [os.LookupEnv] does. What was asked for goes to stdout; logs, warnings and errors to
// stderr.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer, env func(string) (string, bool)) int {
	c := &cli{stdout: stdout, stderr: stderr, env: env}
	root := c.root()
	root.SetArgs(append([]string{}, args...)) // not nil, which would mean those of the process
	root.SetOut(stdout)
	root.SetErr(stderr)
	code := c.report(root.ExecuteContext(ctx))
	if c.log != nil {
		c.log.flush(flushTimeout)
	}
	return code
}

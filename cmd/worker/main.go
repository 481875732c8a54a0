// Command worker runs one replica of a fleet of schedulers from a configuration file, and reports
// what such a file does.
//
//	worker run --config solotick.yaml        run the jobs until SIGTERM or SIGINT
//	worker validate --config solotick.yaml   report the faults of the file
//	worker next --config solotick.yaml       print the coming ticks
//	worker status, describe, history, why    say what the fleet does, and did
//	worker trigger, cancel, pause, resume    control its jobs
//	worker repair                            bring a job back to now that a wrong clock has stopped
//	worker forget                            remove the record of a job that is gone
//	worker doctor                            check its Redis, and the fleet
//
// It exits with 0 when the command succeeded, with 1 when it failed, and with 2 when the command
// line or the configuration is wrong.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // time zones, for machines that have none of their own

	"github.com/solotick/solotick/cmd/worker/internal/cli"
	"github.com/solotick/solotick/cmd/worker/internal/daemon"
	"github.com/solotick/solotick/jobs/exec"
)

// version is set when a release is built: go build -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	if len(os.Args) == 2 && os.Args[1] == daemon.SupervisorCommand {
		os.Exit(exec.SupervisorMain()) // before anything else is set up: runs wait for its start
	}
	os.Exit(cli.Main(context.Background(), version, os.Args[1:], os.Stdout, os.Stderr, os.LookupEnv))
}

package exec_test

import (
	"context"
	"errors"
	"log"
	"os"
	"time"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/jobs/exec"
	"github.com/solotick/solotick/lease/memlease"
)

// The main of a service whose job is a command: the service is started again as the supervisor of
// its commands.
func Example() { //nolint:testableexamples // runs until it is stopped
	if len(os.Args) == 2 && os.Args[1] == "supervise-commands" {
		os.Exit(exec.SupervisorMain())
	}
	supervisor := exec.NewSupervisor([]string{"supervise-commands"})
	command := exec.Command{Args: []string{"./report.sh", "--full"}, KillGrace: 10 * time.Second}
	s := solotick.On(new(memlease.Store))                                   // a service: solotick.New(client, "billing")
	_ = s.Func("report", "0 2 * * *", exec.New(supervisor, command))        // Run returns its error
	log.Print(errors.Join(s.Run(context.Background()), supervisor.Close())) // both have ended
}

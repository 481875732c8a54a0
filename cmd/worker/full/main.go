// Command full is package worker with every store and an OpenTelemetry exporter. The image and the
// packages contain it. It is a module of its own, so that neither package worker nor programs that
// import Solotick depend on the stores' clients.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // time zones, for machines that have none of their own

	"github.com/solotick/solotick/cmd/worker/internal/cli"
	"github.com/solotick/solotick/cmd/worker/internal/daemon"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/cmd/worker/internal/tracing"
	"github.com/solotick/solotick/jobs/exec"
)

// version is set when a release is built: go build -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	if len(os.Args) == 2 && os.Args[1] == daemon.SupervisorCommand {
		os.Exit(exec.SupervisorMain()) // before anything else is set up: runs wait for its start
	}
	register()
	os.Exit(cli.Main(context.Background(), version, os.Args[1:], os.Stdout, os.Stderr, os.LookupEnv))
}

// register adds the stores and the exporter that package worker lacks.
func register() {
	stores.Register(openEtcd, "etcd", "etcds")
	stores.Register(openMySQL, "mysql", "mariadb")
	stores.Register(openNATS, "nats", "tls")
	stores.Register(openPostgreSQL, "postgres", "postgresql")
	stores.Register(openZooKeeper, "zk")
	tracing.Exporter = newExporter
}

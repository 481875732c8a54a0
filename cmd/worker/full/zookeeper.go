package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/lease/zklease"
)

type zooKeeperServer struct{ *zklease.Store }

func openZooKeeper(url, namespace string, timeout time.Duration) (stores.Server, error) {
	s, err := zklease.Open(url, namespace, zklease.WithTimeout(timeout))
	return zooKeeperServer{s}, err
}

// Examine checks what of ZooKeeper's servers a fleet depends on.
func (s zooKeeperServer) Examine(ctx context.Context, _ bool) []doctor.Finding {
	return zooKeeperFindings(s.Servers(ctx))
}

func zooKeeperFindings(list []zklease.Server) []doctor.Finding {
	servers := doctor.Finding{Check: "servers", Result: doctor.OK}
	version := doctor.Finding{Check: "version", Result: doctor.OK, Finding: "no server says its version: srvr is not among its four-letter words"}
	var silent, versions []string
	for _, s := range list {
		if s.Err != nil {
			silent = append(silent, s.Addr)
		}
		if s.Version != "" {
			versions = append(versions, strings.TrimSpace(s.Version+" "+s.Mode))
		}
		if s.TooOld {
			version.Result, version.Change = doctor.Fail, "use ZooKeeper 3.6 or a later one"
		}
	}
	servers.Finding = fmt.Sprintf("%d of %d answer", len(list)-len(silent), len(list))
	if len(silent) > 0 {
		servers.Result, servers.Finding = doctor.Warn, servers.Finding+"; not "+strings.Join(silent, ", ")
		servers.Change = "see why: one more, and ZooKeeper may have no majority"
	} else if len(list) == 1 {
		servers.Change = "name every server in the URL: the store uses those that it knows"
	}
	if len(versions) > 0 {
		version.Finding = strings.Join(versions, ", ")
	}
	return []doctor.Finding{servers, version}
}

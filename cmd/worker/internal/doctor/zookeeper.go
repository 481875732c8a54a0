package doctor

import (
	"fmt"
	"strings"

	"github.com/solotick/solotick/lease/zklease"
)

// zooKeeperFindings checks what of ZooKeeper's servers a fleet depends on.
func zooKeeperFindings(list []zklease.Server) []Finding {
	servers := Finding{Check: "servers", Result: OK}
	version := Finding{Check: "version", Result: OK, Finding: "no server says its version: srvr is not among its four-letter words"}
	var silent, versions []string
	for _, s := range list {
		if s.Err != nil {
			silent = append(silent, s.Addr)
		}
		if s.Version != "" {
			versions = append(versions, strings.TrimSpace(s.Version+" "+s.Mode))
		}
		if s.TooOld {
			version.Result, version.Change = Fail, "use ZooKeeper 3.6 or a later one"
		}
	}
	servers.Finding = fmt.Sprintf("%d of %d answer", len(list)-len(silent), len(list))
	if len(silent) > 0 {
		servers.Result, servers.Finding = Warn, servers.Finding+"; not "+strings.Join(silent, ", ")
		servers.Change = "see why: one more, and ZooKeeper may have no majority"
	} else if len(list) == 1 {
		servers.Change = "name every server in the URL: the store uses those that it knows"
	}
	if len(versions) > 0 {
		version.Finding = strings.Join(versions, ", ")
	}
	return []Finding{servers, version}
}

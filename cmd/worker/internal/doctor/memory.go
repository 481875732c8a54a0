package doctor

import (
	"context"
	"fmt"
	"strings"
)

// eviction checks that Redis does not evict records.
func (srv *server) eviction(_ context.Context, f Finding) Finding {
	policy, known := srv.info["maxmemory_policy"]
	f.Finding = "maxmemory-policy is " + policy
	switch {
	case !known:
		f.Result, f.Finding = Unchecked, "could not be checked: the server does not report its maxmemory-policy"
	case policy == "noeviction":
	case srv.number("maxmemory") == 0:
		f.Result = Warn
		f.Finding += ": it would evict records if maxmemory were set"
		f.Change = "set maxmemory-policy noeviction"
	default:
		f.Result = Fail
		f.Finding += ": Redis evicts records of jobs when memory runs out"
		f.Change = "set maxmemory-policy noeviction, or use a Redis that is not a cache"
	}
	return f
}

// memory checks that there is room for records.
func (srv *server) memory(_ context.Context, f Finding) Finding {
	used, limit := srv.number("used_memory"), srv.number("maxmemory")
	f.Finding = size(used) + " used, no maxmemory"
	if limit == 0 {
		return f
	}
	share := float64(used) / float64(limit)
	f.Finding = fmt.Sprintf("%s of maxmemory %s used, %.0f%%", size(used), size(limit), 100*share)
	switch {
	case share >= 1:
		f.Result, f.Change = Fail, "raise maxmemory: no tick can be claimed until there is room"
	case share >= 0.8:
		f.Result, f.Change = Warn, "raise maxmemory: when it is full, no tick can be claimed"
	}
	return f
}

// size formats a number of bytes.
func size(bytes int64) string {
	const unit = 1024
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	n, i := float64(bytes), 0
	for ; n >= unit && i < len(units)-1; i++ {
		n /= unit
	}
	if i == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", n, units[i])
}

// persistence says what a restart of the server loses.
func (srv *server) persistence(ctx context.Context, f Finding) Finding {
	lost := "No tick runs twice because of that while a replica is alive, but history, pauses and triggers are lost"
	if srv.store.Connection.Quorum != nil {
		lost = "The other nodes have all records, but if most of them restart, history, pauses and triggers are lost"
	}
	save, saveErr := srv.config(ctx, "save")
	switch {
	case srv.info["aof_enabled"] == "1" && srv.info["aof_last_write_status"] == "err":
		f.Result, f.Finding, f.Change = Fail, "the append-only file cannot be written: Redis refuses writes", "see the log of Redis, and whether its disk is full"
	case srv.info["aof_enabled"] == "1":
		f.Finding = "append-only file"
		if sync, err := srv.config(ctx, "appendfsync"); err == nil {
			f.Finding += map[string]string{
				"always": ", each write on disk before its answer", "everysec": ": a crash of the machine loses a second at most",
				"no": ": a crash of the machine loses what the system has not written",
			}[sync]
		}
	case srv.info["rdb_last_bgsave_status"] == "err":
		f.Result, f.Finding, f.Change = Fail, "the last snapshot failed: Redis may refuse writes", "see the log of Redis, and whether its disk is full"
	case saveErr == nil && save == "":
		f.Result, f.Finding = Warn, "no persistence: a restart loses all records. "+lost
		f.Change = "set appendonly yes"
	case saveErr == nil:
		f.Result, f.Finding = Warn, fmt.Sprintf("snapshots only (save %s): a restart goes back to the last one. %s", save, strings.Replace(lost, "triggers are", "triggers since then are", 1))
		f.Change = "set appendonly yes"
	default:
		f.Result, f.Finding = Warn, "no append-only file: a restart goes back to the last snapshot, or loses all records. "+lost
		f.Change = "set appendonly yes"
	}
	return f
}

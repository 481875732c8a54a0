package doctor

import (
	"context"
	"fmt"

	"github.com/solotick/solotick/internal/redisadvice"
)

// eviction checks that Redis does not evict records.
func (srv *server) eviction(_ context.Context, f Finding) Finding {
	return f.as(redisadvice.Eviction(srv.info))
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
	config := func(name string) (string, error) { return srv.config(ctx, name) }
	return f.as(redisadvice.Persistence(srv.info, srv.store.Connection.Quorum != nil, config))
}

// as is the finding with what the advice says.
func (f Finding) as(a redisadvice.Finding) Finding {
	f.Result = map[redisadvice.Severity]Result{
		redisadvice.Fine: OK, redisadvice.Warns: Warn, redisadvice.Fails: Fail, redisadvice.Unknown: Unchecked,
	}[a.Severity]
	f.Finding, f.Change = a.Text, a.Change
	return f
}

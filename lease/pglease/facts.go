package pglease

import (
	"context"
	"fmt"
)

// oldest is the oldest server that works, as server_version_num.
const oldest = 130000

// Facts are what an operator looks at.
type Facts struct {
	Version     string // as the server says it, such as 15.8
	TooOld      bool   // for this package
	Standby     bool   // nothing can be written there
	Synchronous bool   // a commit is on the disk before it is answered
	Behind      int    // standbys that need not have what was answered; 0 also where the user may not know
	Pooled      bool   // connections pass through a pooler, so that nobody is woken: stores look at least every 100 ms
}

// Facts asks the server for them.
func (s *Store) Facts(ctx context.Context) (Facts, error) {
	var f Facts
	var number int
	var commit string
	err := s.db.QueryRowContext(ctx, "SELECT current_setting('server_version'), current_setting('server_version_num')::integer, pg_is_in_recovery(),"+
		" current_setting('synchronous_commit'), (SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'async')::integer").
		Scan(&f.Version, &number, &f.Standby, &commit, &f.Behind)
	if err != nil {
		return Facts{}, fmt.Errorf("pglease: facts: %w", err)
	}
	f.TooOld, f.Synchronous = number < oldest, commit != "off"
	f.Pooled, err = s.pooled(ctx)
	return f, err
}

package mysqllease

import (
	"context"
	"fmt"
	"strings"

	"github.com/solotick/solotick/internal/storekit"
)

// Facts are what an operator looks at.
type Facts struct {
	Version  string // as the server says it, such as 8.4.3 or 10.11.14-MariaDB
	TooOld   bool   // for this package
	ReadOnly bool   // it is a replica, or an operator wants nothing written
	Durable  bool   // a commit is on the disk before it is answered
}

// Facts asks the server for them.
func (s *Store) Facts(ctx context.Context) (Facts, error) {
	var f Facts
	var flush, sync int
	var logged bool
	err := s.db.QueryRowContext(ctx, "SELECT version(), @@global.read_only, @@global.innodb_flush_log_at_trx_commit, @@global.log_bin, @@global.sync_binlog").
		Scan(&f.Version, &f.ReadOnly, &flush, &logged, &sync)
	if err != nil {
		return Facts{}, fmt.Errorf("mysqllease: facts: %w", err)
	}
	// Where there is a binary log, a commit that it does not have is undone when the server starts.
	f.Durable, f.TooOld = flush == 1 && (!logged || sync == 1), tooOld(f.Version)
	return f, nil
}

// tooOld reports whether a server of that version cannot skip locked rows.
func tooOld(version string) bool {
	if strings.Contains(version, "MariaDB") {
		return storekit.Older(version, 10, 6)
	}
	return storekit.Older(version, 8, 0)
}

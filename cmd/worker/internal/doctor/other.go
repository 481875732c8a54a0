package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/lease/etcdlease"
	"github.com/solotick/solotick/lease/mysqllease"
	"github.com/solotick/solotick/lease/natslease"
	"github.com/solotick/solotick/lease/pglease"
	"github.com/solotick/solotick/lease/zklease"
)

// checkOther checks a store on a server other than Redis, and writes nothing there.
func checkOther(ctx context.Context, s *stores.Store) []Finding {
	_, _, err := s.Time(ctx) // makes the connection
	began := time.Now()
	if err == nil {
		_, _, err = s.Time(ctx)
	}
	if err != nil {
		return []Finding{{Check: "reachable", Result: Fail, Finding: err.Error(), Change: s.Advice(err)}}
	}
	found := []Finding{{Check: "reachable", Result: OK, Finding: fmt.Sprintf("%s answers in %s", s.Addr, time.Since(began).Round(10*time.Microsecond))}}
	if store, ok := s.Checker.(*natslease.Store); ok {
		found = append(found, checkNATS(ctx, store)...)
	}
	return append(append(found, checkSettings(ctx, s)...), checkClock(ctx, s, "the store"))
}

// checkSettings checks the servers of a store, whether it has begun or not.
func checkSettings(ctx context.Context, s *stores.Store) []Finding {
	switch store := s.Checker.(type) {
	case *etcdlease.Store:
		return checkEtcd(ctx, store)
	case *mysqllease.Store:
		return checkMySQL(ctx, store)
	case *pglease.Store:
		return checkPostgreSQL(ctx, store)
	case *zklease.Store:
		return zooKeeperFindings(store.Servers(ctx))
	}
	return nil
}

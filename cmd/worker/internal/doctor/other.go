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
	switch store := s.Checker.(type) {
	case *etcdlease.Store:
		found = append(found, checkEtcd(ctx, store)...)
	case *mysqllease.Store:
		found = append(found, checkMySQL(ctx, store)...)
	case *natslease.Store:
		found = append(found, checkNATS(ctx, store)...)
	case *pglease.Store:
		found = append(found, checkPostgreSQL(ctx, store)...)
	case *zklease.Store:
		found = append(found, zooKeeperFindings(store.Servers(ctx))...)
	}
	return append(found, checkClock(ctx, s, "the store"))
}

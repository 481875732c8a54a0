package redislease_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/redistest"
)

func TestZZ(t *testing.T) {
	srv := redistest.Start(t)
	s := open(t, srv.Addr())
	synced(t, s, "job")
	admin := srv.Client(t)
	for _, mode := range []string{"background", "cancellable"} {
		ctx := context.Background()
		if mode == "cancellable" {
			ctx = t.Context()
		}
		for round := range 2 {
			admin.ConfigResetStat(ctx)
			began := time.Now()
			const n = 20000
			for i := range int64(n) {
				c := claimOf("job", time.Now().UnixMicro()+i, "a", "r")
				a, _ := s.Claim(ctx, c)
				s.Settle(ctx, grantOf(c, a), "succeeded")
			}
			took := time.Since(began)
			info, _ := admin.InfoMap(ctx, "commandstats").Result()
			fmt.Println(mode, round, took/n, info["Commandstats"]["cmdstat_evalsha"], info["Commandstats"]["cmdstat_hset"], info["Commandstats"]["cmdstat_hmget"],info["Commandstats"]["cmdstat_pexpire"],info["Commandstats"]["cmdstat_time"])
		}
	}
}

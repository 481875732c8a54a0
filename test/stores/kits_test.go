package stores

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lease/sqlitelease"
)

const (
	noFailover = "nothing fails over"
	noServer   = "there is no server"
	asAlone    = "as the column Redis"
	asDurable  = "as the column Redis, appendonly"
)

var memory = kit{
	name: "memory",
	cannot: func() map[string]string {
		reasons := map[string]string{}
		for _, s := range scenes {
			reasons[s.fault] = "all is in one process, and ends with it"
		}
		return reasons
	}(),
	start: func(testing.TB) *server { return new(server) },
	open:  func(_ []string, namespace string) (lease.Store, error) { return memlease.New(namespace) },
}

var sqliteFile = kit{
	name: "SQLite file", coldRestore: true,
	cannot: map[string]string{
		allServersKilled: noServer, allServersFrozen: noServer, allCutOff: noServer,
		cutOff: noServer, serverFrozen: noServer, serverKilled: noServer, failedOver: noFailover,
		clockStepped: "its clock is the machine's, which a test cannot set",
	},
	start: func(t testing.TB) *server {
		dir := t.TempDir()
		path, backup := filepath.Join(dir, "solotick.db"), filepath.Join(dir, "backup.db")
		remove := func() {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				if err := os.Remove(path + suffix); !os.IsNotExist(err) {
					require.NoError(t, err)
				}
			}
		}
		return &server{
			addrs: []string{path}, empty: remove,
			backup: func() {
				db, err := sql.Open("sqlite", path)
				require.NoError(t, err)
				_, err = db.ExecContext(t.Context(), "VACUUM INTO ?", backup)
				require.NoError(t, err)
				require.NoError(t, db.Close())
			},
			restore: func() {
				remove()
				require.NoError(t, os.Rename(backup, path))
			},
		}
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return sqlitelease.New(addrs[0], namespace)
	},
}

func openRedis(addrs []string, namespace string, options ...redislease.Option) (lease.Store, error) {
	return redislease.New(redis.NewClient(&redis.Options{Addr: addrs[0]}), namespace, options...)
}

func openPlain(addrs []string, namespace string) (lease.Store, error) {
	return openRedis(addrs, namespace)
}

// scripts returns how many servers have run.
func scripts(t testing.TB, servers ...*redistest.Server) (n float64) {
	for _, s := range servers {
		info, err := s.Client(t).InfoMap(context.WithoutCancel(t.Context()), "commandstats").Result()
		require.NoError(t, err)
		for _, command := range []string{"cmdstat_evalsha", "cmdstat_eval", "cmdstat_fcall"} {
			if calls, _, ok := strings.Cut(strings.TrimPrefix(info["Commandstats"][command], "calls="), ","); ok {
				n += last(t, calls)
			}
		}
	}
	return n
}

var redisPlain = kit{
	name: "Redis",
	cannot: map[string]string{
		failedOver: noFailover, allServersKilled: "it has forgotten everything, as after 3 s", allServersFrozen: asDurable, allCutOff: asDurable,
	},
	start: func(t testing.TB) *server {
		s := redistest.Start(t, redistest.WithClock())
		admin := s.Client(t)
		dir := func() string {
			conf, err := admin.ConfigGet(t.Context(), "dir").Result()
			require.NoError(t, err)
			return conf["dir"]
		}()
		dump, backup := filepath.Join(dir, "dump.rdb"), filepath.Join(dir, "backup.rdb")
		return &server{
			addrs: []string{s.Addr()}, freeze: s.Freeze, thaw: s.Thaw, kill: s.Kill, restart: s.Restart, empty: s.Flush,
			stepClock: s.SetClock, requests: func() float64 { return scripts(t, s) },
			backup: func() {
				require.NoError(t, admin.Save(t.Context()).Err())
				require.NoError(t, os.Rename(dump, backup))
			},
			restore: func() {
				s.Kill()
				time.Sleep(outage)
				require.NoError(t, os.Rename(backup, dump))
				s.Restart()
				require.NoError(t, os.Remove(dump))
			},
		}
	},
	open: openPlain,
}

var redisDurable = kit{
	name: "Redis, appendonly", short: true,
	cannot: map[string]string{
		serverFrozen: asAlone, emptied: asAlone, restored: asAlone, clockStepped: asAlone, failedOver: noFailover,
	},
	start: func(t testing.TB) *server {
		s := redistest.Start(t, redistest.WithAOF())
		return &server{addrs: []string{s.Addr()}, all: ofRedis(s), kill: s.Kill, restart: s.Restart, requests: func() float64 { return scripts(t, s) }}
	},
	open: openPlain,
}

var redisQuorum = kit{
	name: "quorum", successor: "one of three servers is killed, and comes back empty; another was frozen before, so that the last moments are with one of the two that count",
	cannot: map[string]string{restored: "three servers have no backup of one moment"}, short: true,
	lasting: func(t testing.TB) *server {
		var list []*redistest.Server
		s := new(server)
		for range 3 {
			list = append(list, redistest.Start(t, redistest.WithAOF()))
			s.addrs = append(s.addrs, list[len(list)-1].Addr())
		}
		s.all = ofRedis(list...)
		return s
	},
	start: func(t testing.TB) *server {
		list := []*redistest.Server{redistest.Start(t, redistest.WithClock()), redistest.Start(t), redistest.Start(t)}
		one := list[0]
		s := &server{freeze: one.Freeze, thaw: one.Thaw, kill: one.Kill, restart: one.Restart, stepClock: one.SetClock}
		s.empty = func() {
			for _, r := range list {
				r.Flush()
			}
		}
		s.failOver = func(before func()) {
			list[2].Freeze()
			before()
			one.Kill()
			list[2].Thaw()
			one.Restart()
		}
		s.requests = func() float64 { return scripts(t, list...) }
		for _, r := range list {
			s.addrs = append(s.addrs, r.Addr())
		}
		return s
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		var nodes []quorum.Node
		for _, addr := range addrs {
			node, err := redislease.NewNode(redis.NewClient(&redis.Options{Addr: addr}), namespace)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, node)
		}
		return quorum.New(nodes, namespace, quorum.WithTTL(longest), quorum.WithTimeout(time.Second))
	},
}

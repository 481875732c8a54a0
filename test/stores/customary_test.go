package stores

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/lock"
)

// BenchmarkCustomary measures what people do on a server without a store, each of many goroutines on
// a key of its own, and by turns with it a tick, claimed and settled, and a mutex of Solotick. None
// of the others remembers ticks or keeps a history. It reports medians of how
// often each did it in a second, and how often a tick was run for once of the others; once, whatever
// -benchtime says.
func BenchmarkCustomary(b *testing.B) {
	for _, c := range customs {
		b.Run(c.kit.name, func(b *testing.B) {
			s := c.kit.start(b)
			for _, goroutines := range []int{1, 16, 256} {
				b.Run(fmt.Sprint(goroutines), func(b *testing.B) {
					benchtest.Once(b, func() map[string]float64 { return besideCustom(b, c, s, goroutines) })
				})
			}
		})
	}
}

// custom is what people do on a server: to take something, and to give it back.
type custom struct {
	kit    kit
	others func(b *testing.B, addr string, goroutines int) []benchtest.Contestant
}

var customs = []custom{
	{redisPlain, setNX}, {postgreSQL, onPostgreSQL}, {mariaDB, onMariaDB}, {etcd, mutexOfEtcd}, {natsJetStream, createAndDelete}, {zooKeeper, recipeOfZooKeeper},
}

func besideCustom(b *testing.B, c custom, s *server, goroutines int) map[string]float64 {
	const turns, turn = 5, 300 * time.Millisecond
	store := opened(b, c.kit, s, 1)[0]
	withRecords(b, store, goroutines)
	locks := lock.New(store)
	b.Cleanup(locks.Close)
	var tick atomic.Int64
	others := c.others(b, s.addrs[0], goroutines)
	list := append([]benchtest.Contestant{
		{Name: "tick", Pair: func(ctx context.Context, w, _ int) error {
			return benchtest.Tick(ctx, store, fmt.Sprint("job", w), tick.Add(1))
		}},
		{Name: "mutex", Pair: func(ctx context.Context, w, _ int) error {
			h, err := locks.Mutex(fmt.Sprint("m", w), lock.WithTTL(longest)).Acquire(ctx)
			if err != nil {
				return err
			}
			return h.Release(ctx)
		}},
	}, others...)
	metrics := map[string]float64{}
	medians := benchtest.InTurn(b, list, goroutines, turns, turn)
	for name, perSecond := range medians {
		metrics[name+"/s"] = perSecond
	}
	for _, other := range others {
		metrics["tick/"+other.Name] = medians["tick"] / medians[other.Name]
	}
	return metrics
}

func setNX(b *testing.B, addr string, _ int) []benchtest.Contestant {
	client := redis.NewClient(&redis.Options{Addr: addr})
	b.Cleanup(func() { _ = client.Close() })
	unlock := redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
	return []benchtest.Contestant{{Name: "SET-NX", Pair: func(ctx context.Context, w, round int) error {
		key := fmt.Sprint("lock", w)
		if err := client.SetArgs(ctx, key, round, redis.SetArgs{Mode: "NX", TTL: time.Minute}).Err(); err != nil {
			return err
		}
		return unlock.Run(ctx, client, []string{key}, round).Err()
	}}}
}

var errNotTaken = errors.New("somebody else has it")

// database has a row for each goroutine, and a connection: locks that belong to a connection need one.
func database(b *testing.B, driver, dsn string, goroutines int) (db *sql.DB, conns []*sql.Conn) {
	db, err := sql.Open(driver, dsn)
	require.NoError(b, err)
	db.SetMaxIdleConns(2 * goroutines)
	b.Cleanup(func() { _ = db.Close() })
	statements(b, driver, dsn, "DROP TABLE IF EXISTS customary", "CREATE TABLE customary (id INT PRIMARY KEY, tick BIGINT NOT NULL)")
	for w := range goroutines {
		statements(b, driver, dsn, fmt.Sprintf("INSERT INTO customary VALUES (%d, 0)", w))
		conn, err := db.Conn(b.Context())
		require.NoError(b, err)
		b.Cleanup(func() { _ = conn.Close() })
		conns = append(conns, conn)
	}
	return db, conns
}

// ofConnection is a lock that belongs to a connection, taken and released by queries that return
// whether they did.
func ofConnection(conns []*sql.Conn, take, release string) func(ctx context.Context, w, round int) error {
	return func(ctx context.Context, w, _ int) error {
		for _, query := range []string{take, release} {
			var did bool
			if err := conns[w].QueryRowContext(ctx, fmt.Sprintf(query, w)).Scan(&did); err != nil {
				return err
			}
			if !did {
				return errNotTaken
			}
		}
		return nil
	}
}

// skipLocked locks a row, and writes to it, in a transaction that would last as long as the work.
func skipLocked(conns []*sql.Conn) benchtest.Contestant {
	return benchtest.Contestant{Name: "SKIP-LOCKED", Pair: func(ctx context.Context, w, round int) error {
		tx, err := conns[w].BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		var tick int
		if err := tx.QueryRowContext(ctx, fmt.Sprintf("SELECT tick FROM customary WHERE id = %d FOR UPDATE SKIP LOCKED", w)).Scan(&tick); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE customary SET tick = %d WHERE id = %d", round, w)); err != nil {
			return err
		}
		return tx.Commit()
	}}
}

func onPostgreSQL(b *testing.B, addr string, goroutines int) []benchtest.Contestant {
	_, conns := database(b, "pgx", postgresURL(addr), goroutines)
	advisory := ofConnection(conns, "SELECT pg_try_advisory_lock(%d)", "SELECT pg_advisory_unlock(%d)")
	return []benchtest.Contestant{{Name: "advisory-lock", Pair: advisory}, skipLocked(conns)}
}

func onMariaDB(b *testing.B, addr string, goroutines int) []benchtest.Contestant {
	_, conns := database(b, "mysql", "root@tcp("+addr+")/fleet", goroutines)
	getLock := ofConnection(conns, "SELECT GET_LOCK('job%d', 0)", "SELECT RELEASE_LOCK('job%d')")
	return []benchtest.Contestant{{Name: "GET_LOCK", Pair: getLock}, skipLocked(conns)}
}

// mutexOfEtcd is that of etcd's own package, with one session for all.
func mutexOfEtcd(b *testing.B, addr string, _ int) []benchtest.Contestant {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}})
	require.NoError(b, err)
	b.Cleanup(func() { _ = client.Close() })
	session, err := concurrency.NewSession(client)
	require.NoError(b, err)
	b.Cleanup(func() { _ = session.Close() })
	return []benchtest.Contestant{{Name: "concurrency.Mutex", Pair: func(ctx context.Context, w, _ int) error {
		m := concurrency.NewMutex(session, fmt.Sprint("locks/", w))
		if err := m.Lock(ctx); err != nil {
			return err
		}
		return m.Unlock(ctx)
	}}}
}

// createAndDelete is a key of a bucket with a TTL.
func createAndDelete(b *testing.B, addr string, _ int) []benchtest.Contestant {
	conn, err := nats.Connect("nats://" + addr)
	require.NoError(b, err)
	b.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(b, err)
	bucket, err := js.CreateOrUpdateKeyValue(b.Context(), jetstream.KeyValueConfig{Bucket: "locks", LimitMarkerTTL: time.Minute})
	require.NoError(b, err)
	return []benchtest.Contestant{{Name: "create+delete", Pair: func(ctx context.Context, w, _ int) error {
		if _, err := bucket.Create(ctx, fmt.Sprint("job", w), []byte("a"), jetstream.KeyTTL(time.Minute)); err != nil {
			return err
		}
		return bucket.Delete(ctx, fmt.Sprint("job", w))
	}}}
}

// recipeOfZooKeeper is that of Curator's InterProcessMutex, ephemeral nodes in a sequence, as the
// library of Go has it.
func recipeOfZooKeeper(b *testing.B, addr string, goroutines int) []benchtest.Contestant {
	conn, events, err := zk.Connect([]string{addr}, 4*time.Second, zk.WithLogInfo(false))
	require.NoError(b, err)
	b.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	locks := make([]*zk.Lock, goroutines)
	for w := range locks {
		locks[w] = zk.NewLock(conn, fmt.Sprint("/locks/job", w), zk.WorldACL(zk.PermAll))
	}
	return []benchtest.Contestant{{Name: "zk.Lock", Pair: func(_ context.Context, w, _ int) error {
		if err := locks[w].Lock(); err != nil {
			return err
		}
		return locks[w].Unlock()
	}}}
}

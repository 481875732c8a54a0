// Package redislock has a gocron.Locker on redsync: what services on gocron import, or have
// written.
package redislock

import (
	"context"

	"github.com/go-co-op/gocron/v2"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type locker struct{ *redsync.Redsync }

// NewRedisLocker makes a Locker that tries once and deletes its lock when the job ends.
func NewRedisLocker(client redis.UniversalClient) (gocron.Locker, error) {
	return locker{redsync.New(goredis.NewPool(client))}, nil
}

func (l locker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	m := l.NewMutex(key, redsync.WithTries(1))
	return lock{m}, m.LockContext(ctx)
}

type lock struct{ *redsync.Mutex }

func (l lock) Unlock(ctx context.Context) error {
	_, err := l.UnlockContext(context.WithoutCancel(ctx))
	return err
}

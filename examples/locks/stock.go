package main

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/fence/redisfence"
)

// stock is guarded by the mutex. It refuses stale tokens by itself: a replica that was frozen while it held the mutex does not know
// that it has lost it.
type stock interface {
	// add returns how many there are then.
	add(ctx context.Context, token int64, n int) (int, error)
}

// memoryStock is a stock in this process.
type memoryStock struct {
	fence fence.Memory
	count int
}

func (s *memoryStock) add(ctx context.Context, token int64, n int) (count int, err error) {
	err = s.fence.Do(ctx, "stock", token, func() error {
		s.count += n
		count = s.count
		return nil
	})
	return count, err
}

// redisStock is a stock in Redis, where the comparison of the token and the write are one script.
type redisStock struct {
	client redis.UniversalClient
	script *redisfence.Script
}

func newRedisStock(client redis.UniversalClient) (*redisStock, error) {
	script, err := redisfence.NewScript(`return redis.call('INCRBY', KEYS[1], ARGV[1])`)
	if err != nil {
		return nil, err
	}
	return &redisStock{client, script}, nil
}

func (s *redisStock) add(ctx context.Context, token int64, n int) (int, error) {
	return s.script.Run(ctx, s.client, token, []string{"shop:stock"}, n).Int()
}

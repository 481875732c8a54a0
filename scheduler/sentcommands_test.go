package scheduler_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// sentCommands counts the scripts that a store calls: those about a record, and those about the
// time.
type sentCommands struct {
	mu             sync.Mutex
	records, times int
}

func (c *sentCommands) note(cmds ...redis.Cmder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cmd := range cmds {
		args := cmd.Args()
		if len(args) < 4 || !strings.HasPrefix(strings.ToLower(args[0].(string)), "eval") {
			continue
		}
		if strings.Contains(fmt.Sprint(args[3]), "{default/") {
			c.records++
		} else {
			c.times++
		}
	}
}

func (c *sentCommands) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *sentCommands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.note(cmd)
		return next(ctx, cmd)
	}
}

func (c *sentCommands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.note(cmds...)
		return next(ctx, cmds)
	}
}

func (c *sentCommands) counts() (records, times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.records, c.times
}

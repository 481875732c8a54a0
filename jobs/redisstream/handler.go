package redisstream

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/jobs"
)

// remembered is how many ticks of a job a stream remembers: the newest ones.
const remembered = 1000

const (
	memory     = 30 * 24 * time.Hour
	tickLayout = "2006-01-02T15:04:05.000Z07:00"
)

//go:embed add.lua
var addSource string

// Without flags it is refused, before it has written anything, by a Redis that is out of memory.
var addScript = redis.NewScript("#!lua\n" + addSource)

// New returns a handler that adds an entry to a stream, once per tick: see the package comment,
// also for what the client must be like. The error joins a [*jobs.Fault] for everything that is
// wrong with stream.
//
// A run fails for good (see [jobs.Permanent]) when one of the keys holds something else. It also
// does when nobody remembers whether its tick, which is old, was added. Any other failure is worth
// another attempt, whether or not the entry was added.
func New(client redis.UniversalClient, stream Stream) (jobs.Handler, error) {
	err := stream.Validate()
	if client == nil {
		err = errors.Join(err, &jobs.Fault{Field: "redis_stream", Value: "nil", Rule: "must have a client of Redis"})
	}
	if err != nil {
		return nil, err
	}
	stream.Fields = maps.Clone(stream.Fields)
	return func(ctx context.Context, run jobs.Run) error {
		if _, err := stream.add(ctx, client, run); err != nil {
			return fmt.Errorf("stream %q: %w", stream.Name, err)
		}
		return nil
	}, nil
}

// add returns the id of the tick's entry, which it adds if there is none.
func (s Stream) add(ctx context.Context, client redis.Scripter, run jobs.Run) (id string, err error) {
	if ctx.Err() != nil {
		return "", fmt.Errorf("not added: %w", context.Cause(ctx))
	}
	keys := []string{s.Name, s.memoryKey(run)}
	args := append([]any{run.Identity().UnixMilli(), remembered, memory.Milliseconds(), s.MaxLen}, s.entry(run)...)
	reply, err := addScript.Run(ctx, client, keys, args...).StringSlice()
	switch {
	case err != nil && ctx.Err() != nil:
		return "", fmt.Errorf("no answer, so it may have been added: %w", context.Cause(ctx))
	case err != nil:
		return "", err
	case len(reply) != 3:
		return "", fmt.Errorf("unexpected reply %q", reply)
	}
	switch reply[0] {
	case "added", "there":
		return reply[1], nil
	case "forgotten":
		return "", jobs.Permanent(fmt.Errorf("not added: it may have been added before, for the tick is older than the %d that "+
			"are remembered, of which the oldest is %s", remembered, reply[1]))
	case "type":
		return "", jobs.Permanent(fmt.Errorf("not added: the key %q holds a %s; remove it, or choose another name for the stream",
			reply[2], reply[1]))
	default:
		return "", fmt.Errorf("unexpected reply %q", reply)
	}
}

// entry is the names and values of a run's entry.
func (s Stream) entry(run jobs.Run) []any {
	entry := []any{
		fieldNamespace, run.Namespace,
		fieldJob, run.Job,
		fieldTick, run.Tick.UTC().Format(tickLayout),
		fieldTickMs, run.Tick.UnixMilli(),
		fieldTickID, run.TickID(),
		fieldToken, run.Token,
		fieldAttempt, run.Attempt,
		fieldReplica, run.Replica,
	}
	if run.Key != "" {
		entry = append(entry, fieldKey, run.Key)
	}
	if run.Payload != "" {
		entry = append(entry, fieldPayload, string(run.Payload))
	}
	if _, own := s.Fields[fieldTrace]; run.Traceparent != "" && !own {
		entry = append(entry, fieldTrace, run.Traceparent)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		if name == fieldPayload && run.Payload != "" || name == fieldKey && run.Key != "" {
			continue
		}
		entry = append(entry, name, s.Fields[name])
	}
	return entry
}

package redisfence

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// mostWords is how many words a command may have: Lua passes no more arguments to a function.
const mostWords = 7000

//go:embed commands.lua
var commandsSource string

// Commands runs commands under the newest token only. It is safe for concurrent use.
type Commands struct{ script *Script }

// NewCommands returns what runs commands, for writes that need no script of their own.
func NewCommands(opts ...Option) (*Commands, error) {
	s, err := NewScript(commandsSource, opts...)
	if err != nil {
		return nil, err
	}
	return &Commands{script: s}, nil
}

// Do runs commands one after another, with nothing in between, and returns their replies as a
// script sees them. A status is a string, and a nil reply is nil. keys are all the keys that they
// have, of which the first is the resource. Where the resource has seen a higher token nothing is
// written, and the error is a [*fence.StaleError]. The first command that fails ends it; those
// before it stay written. A command has at most 7,000 words: with a longer one nothing is sent.
//
//	_, err := commands.Do(ctx, client, run.Token, []string{"account:7"},
//		[]any{"HSET", "account:7", "balance", 100}, []any{"EXPIRE", "account:7", 3600})
func (c *Commands) Do(ctx context.Context, client redis.Scripter, token int64, keys []string, commands ...[]any) ([]any, error) {
	var args []any
	var faults []error
	for i, words := range commands {
		if len(words) == 0 {
			faults = append(faults, fmt.Errorf("redisfence: command %d: must have at least its name", i+1))
		}
		if len(words) > mostWords {
			faults = append(faults, fmt.Errorf("redisfence: command %d: %d words must be at most %d: make several commands of it", i+1, len(words), mostWords))
		}
		args = append(append(args, len(words)), words...)
	}
	if len(commands) == 0 {
		faults = append(faults, errors.New("redisfence: commands: must have one at least"))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return c.script.Run(ctx, client, token, keys, args...).Slice()
}

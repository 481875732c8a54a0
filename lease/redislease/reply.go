package redislease

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

var errReply = errors.New("unexpected answer")

func number(v any) int64 { n, _ := v.(int64); return n }
func text(v any) string  { s, _ := v.(string); return s }

// readNumbers reads the answer of n numbers to a command that ended with err.
func readNumbers(cmd *redis.Cmd, err error, n int) ([]int64, error) {
	if err != nil {
		return nil, err
	}
	r, err := cmd.Int64Slice()
	if err == nil && len(r) != n {
		err = fmt.Errorf("%w: %v", errReply, r)
	}
	return r, err
}

func numbers(fields []string) ([]int64, error) {
	n := make([]int64, len(fields))
	for i, f := range fields {
		var err error
		if n[i], err = strconv.ParseInt(f, 10, 64); err != nil {
			return nil, fmt.Errorf("%w: %q", errReply, f)
		}
	}
	return n, nil
}

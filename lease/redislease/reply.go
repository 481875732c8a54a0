package redislease

import (
	"errors"
	"fmt"
	"strconv"
)

var errReply = errors.New("unexpected answer")

func number(v any) int64 { n, _ := v.(int64); return n }
func text(v any) string  { s, _ := v.(string); return s }

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

package redislease

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease"
)

var errReply = errors.New("unexpected answer")

// readAnswer reads what claim.lua returns.
func readAnswer(cmd *redis.Cmd) (lease.Answer, error) {
	r, err := cmd.Slice()
	if err != nil {
		return lease.Answer{}, err
	}
	if len(r) != 3 && len(r) != 8 && len(r) != 10 {
		return lease.Answer{}, fmt.Errorf("%w: %v", errReply, r)
	}
	number := func(i int) int64 { n, _ := r[i].(int64); return n }
	text := func(i int) string { v, _ := r[i].(string); return v }
	a := lease.Answer{Status: lease.Status(number(0)), Mark: number(1), Now: time.UnixMicro(number(2)).UTC()}
	if len(r) == 3 {
		return a, nil
	}
	a.Token, a.Attempt, a.Takeovers = number(3), int(number(4)), int(number(5))
	a.Left = time.Duration(number(6)) * time.Microsecond
	a.Holder = text(7)
	if len(r) == 8 {
		return a, nil
	}
	for text := range strings.Lines(text(8)) {
		f := strings.Fields(text)
		if len(f) != 5 {
			return lease.Answer{}, fmt.Errorf("%w: open %q", errReply, text)
		}
		n, err := numbers(f[:4])
		if err != nil {
			return lease.Answer{}, err
		}
		a.Open = append(a.Open, lease.Open{
			Occasion: n[0], Token: n[1], Attempt: int(n[2]),
			Left: time.Duration(n[3]) * time.Microsecond, Holder: f[4],
		})
	}
	a.LostToo, err = numbers(strings.Fields(text(9)))
	return a, err
}

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

// readRecord reads what sync.lua and inspect.lua return.
func readRecord(name string, cmd *redis.Cmd) (lease.Record, error) {
	r, err := cmd.Slice()
	if err != nil {
		return lease.Record{}, err
	}
	if len(r) != 6 {
		return lease.Record{}, fmt.Errorf("%w: %v", errReply, r)
	}
	number := func(i int) int64 { n, _ := r[i].(int64); return n }
	text := func(i int) string { v, _ := r[i].(string); return v }
	rec := lease.Record{Name: name, Made: number(0) == 1, Mark: number(1), Token: number(2)}
	if rec.Open, err = readLines(text(4), number(3)); err != nil {
		return lease.Record{}, err
	}
	rec.Settled, err = readSettled(text(5))
	return rec, err
}

// readLines reads a record's open occasions, as lua/record.lua describes them.
func readLines(lines string, now int64) ([]lease.Open, error) {
	var open []lease.Open
	for text := range strings.Lines(lines) {
		f := strings.Fields(text)
		if len(f) != 7 {
			return nil, fmt.Errorf("%w: open %q", errReply, text)
		}
		n, err := numbers(f[:5])
		if err != nil {
			return nil, err
		}
		open = append(open, lease.Open{
			Occasion: n[0], Token: n[1], Attempt: int(n[2]), Holder: f[5],
			Left: max(0, time.Duration(n[4]-now)*time.Microsecond),
		})
	}
	return open, nil
}

func readSettled(lines string) ([]lease.Settled, error) {
	var settled []lease.Settled
	for text := range strings.Lines(lines) {
		f := strings.Fields(text)
		if len(f) != 3 {
			return nil, fmt.Errorf("%w: settled %q", errReply, text)
		}
		occasion, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: settled %q", errReply, text)
		}
		var token int64
		if f[1][0] != '-' { // else settled by a request that was granted nothing
			if token, err = strconv.ParseInt(f[1], 10, 64); err != nil {
				return nil, fmt.Errorf("%w: settled %q", errReply, text)
			}
		}
		settled = append(settled, lease.Settled{Occasion: occasion, Token: token, Outcome: lease.Outcome(f[2])})
	}
	return settled, nil
}

func numbers(fields []string) ([]int64, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	n := make([]int64, len(fields))
	for i, f := range fields {
		var err error
		if n[i], err = strconv.ParseInt(f, 10, 64); err != nil {
			return nil, fmt.Errorf("%w: %q", errReply, f)
		}
	}
	return n, nil
}

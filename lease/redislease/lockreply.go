package redislease

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/protocol"
)

// readLockAnswer reads what lock_claim.lua returns.
func readLockAnswer(cmd *redis.Cmd, c *protocol.LockClaim) (protocol.LockAnswer, error) {
	v, err := cmd.Result()
	if err != nil {
		return protocol.LockAnswer{}, err
	}
	if stamp, ok := v.(string); ok {
		token, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			return protocol.LockAnswer{}, fmt.Errorf("%w: %q", errReply, stamp)
		}
		return protocol.LockAnswer{
			Status: protocol.Granted, Token: token, Remaining: c.TTL, Now: time.UnixMicro(token).UTC(),
		}, nil
	}
	r, ok := v.([]any)
	if !ok || len(r) < 5 {
		return protocol.LockAnswer{}, fmt.Errorf("%w: %v", errReply, v)
	}
	token, err := strconv.ParseInt(text(r[1]), 10, 64)
	if err != nil {
		return protocol.LockAnswer{}, fmt.Errorf("%w: %v", errReply, v)
	}
	a := protocol.LockAnswer{
		Status: protocol.Status(number(r[0])), Token: token, Holder: text(r[2]),
		Remaining: time.Duration(number(r[3])) * time.Microsecond, Now: time.UnixMicro(number(r[4])).UTC(),
	}
	for _, lost := range r[5:] {
		token, holder, _ := strings.Cut(text(lost), " ")
		n, err := numbers([]string{token})
		if err != nil {
			return protocol.LockAnswer{}, err
		}
		a.Lost = append(a.Lost, protocol.LostHold{Token: n[0], Holder: holder, At: a.Now})
	}
	return a, nil
}

// readLock reads what lock_view.lua returns.
func readLock(name string, cmd *redis.Cmd) (protocol.Lock, error) {
	r, err := cmd.Slice()
	if err != nil {
		return protocol.Lock{}, err
	}
	if len(r) != 5 {
		return protocol.Lock{}, fmt.Errorf("%w: %v", errReply, r)
	}
	now, l := number(r[0]), protocol.Lock{Name: name, Waiters: int(number(r[2]))}
	holds, err := readLockLines(r[3], 4)
	for _, h := range holds {
		l.Holds = append(l.Holds, protocol.Hold{
			Holder: h.holder, Request: h.request, Token: h.n[0], Permits: int(h.n[1]), Since: time.UnixMicro(h.n[2]).UTC(),
			Remaining: max(0, time.Duration(h.n[3]-now)*time.Microsecond),
		})
	}
	line, fault := readLockLines(r[4], 3)
	for _, w := range line {
		l.Queue = append(l.Queue, protocol.Waiter{
			Holder: w.holder, Request: w.request, Permits: int(w.n[0]), Since: time.UnixMicro(w.n[1]).UTC(),
			Remaining: time.Duration(w.n[2]-now) * time.Microsecond,
		})
	}
	if err = errors.Join(err, fault); err != nil {
		return protocol.Lock{}, err
	}
	if len(l.Holds) > 0 || l.Waiters > 0 {
		l.Token = number(r[1])
	}
	return l, nil
}

type lockQueue struct {
	holder, request string
	n               []int64
}

// readLockLines reads lines of a holder, a request and so many numbers.
func readLockLines(v any, count int) (lines []lockQueue, err error) {
	list, _ := v.([]any)
	for _, e := range list {
		f := strings.Fields(text(e))
		if len(f) != 2+count {
			return nil, fmt.Errorf("%w: %q", errReply, text(e))
		}
		n, err := numbers(f[2:])
		if err != nil {
			return nil, err
		}
		lines = append(lines, lockQueue{f[0], f[1], n})
	}
	return lines, nil
}

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

// readAnswer reads what claim.lua returns to a claim.
func readAnswer(cmd *redis.Cmd, c *lease.Claim) (lease.Answer, error) {
	if c.Limit > 0 {
		return readLockAnswer(cmd, c)
	}
	v, err := cmd.Result()
	if err != nil {
		return lease.Answer{}, err
	}
	if stamp, ok := v.(string); ok {
		token, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			return lease.Answer{}, fmt.Errorf("%w: %q", errReply, stamp)
		}
		return lease.Answer{
			Status: lease.Granted, Token: token, Attempt: 1, Takeovers: c.Takeovers, Left: c.Term,
			Mark: c.Occasion, Now: time.UnixMicro(token).UTC(),
		}, nil
	}
	r, ok := v.([]any)
	if !ok || len(r) != 3 && len(r) != 8 && len(r) != 10 && len(r) != 11 {
		return lease.Answer{}, fmt.Errorf("%w: %v", errReply, v)
	}
	a := lease.Answer{Status: lease.Status(number(r[0])), Mark: number(r[1]), Now: time.UnixMicro(number(r[2])).UTC()}
	if len(r) == 3 {
		return a, nil
	}
	a.Token, a.Attempt, a.Takeovers = number(r[3]), int(number(r[4])), int(number(r[5]))
	a.Left = time.Duration(number(r[6])) * time.Microsecond
	a.Holder = text(r[7])
	if len(r) == 8 {
		return a, nil
	}
	for line := range strings.Lines(text(r[8])) {
		f := strings.Fields(line)
		if len(f) != 5 {
			return lease.Answer{}, fmt.Errorf("%w: open %q", errReply, line)
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
	for line := range strings.Lines(text(r[9])) {
		s, err := readSettled(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return lease.Answer{}, err
		}
		a.Settled = append(a.Settled, s)
	}
	if len(r) == 11 {
		a.Former, err = readFormer(text(r[10]))
	}
	return a, err
}

// readFormer reads who held before a takeover.
func readFormer(text string) (*lease.Former, error) {
	f := strings.SplitN(text, " ", 4)
	if len(f) != 4 {
		return nil, fmt.Errorf("%w: former holder %q", errReply, text)
	}
	n, err := numbers(f[:3])
	if err != nil {
		return nil, err
	}
	former := &lease.Former{Holder: f[3], Token: n[0], Attempt: int(n[1])}
	if n[2] != 0 {
		former.Ended = time.UnixMicro(n[2]).UTC()
	}
	return former, nil
}

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

// readRecord reads what sync.lua and inspect.lua return.
func readRecord(name string, cmd *redis.Cmd) (lease.Record, error) {
	r, err := cmd.Slice()
	if err != nil {
		return lease.Record{}, err
	}
	if len(r) != 9 && len(r) != 11 {
		return lease.Record{}, fmt.Errorf("%w: %v", errReply, r)
	}
	rec := lease.Record{Name: name, Made: number(r[0]) == 1, Mark: number(r[1]), Token: number(r[2]), Revision: text(r[5])}
	if rec.Open, err = readLines(text(r[4]), number(r[3])); err != nil {
		return lease.Record{}, err
	}
	if at := number(r[6]); at != 0 {
		rec.Revised = time.UnixMicro(at).UTC()
	}
	if rec.Schedules, err = readSchedules(text(r[8])); err != nil {
		return lease.Record{}, err
	}
	if rec.Paused, err = readPause(text(r[7])); err != nil || len(r) == 9 {
		return rec, err
	}
	entries, _ := r[9].([]any)
	for _, e := range entries {
		s, err := readSettled(text(e))
		if err != nil {
			return lease.Record{}, err
		}
		rec.Settled = append(rec.Settled, s)
	}
	for line := range strings.Lines(text(r[10])) {
		occasion, by, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		for i := range rec.Open {
			if strconv.FormatInt(rec.Open[i].Occasion, 10) == occasion {
				rec.Open[i].CancelledBy = by
			}
		}
	}
	return rec, nil
}

// readLines reads a record's open occasions, as lua/record.lua describes them.
func readLines(lines string, now int64) ([]lease.Open, error) {
	var open []lease.Open
	for line := range strings.Lines(lines) {
		f := strings.Fields(line)
		if len(f) != 8 {
			return nil, fmt.Errorf("%w: open %q", errReply, line)
		}
		n, err := numbers(f[:6])
		if err != nil {
			return nil, err
		}
		open = append(open, lease.Open{
			Occasion: n[0], Token: n[1], Attempt: int(n[2]), Holder: f[6],
			Left: max(0, time.Duration(n[4]+n[5]-now)*time.Microsecond),
		})
	}
	return open, nil
}

// readSchedules reads the schedules of a record, as lua/record.lua describes them.
func readSchedules(lines string) ([]lease.Schedule, error) {
	var list []lease.Schedule
	for line := range strings.Lines(lines) {
		since, schedule, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		at, err := strconv.ParseInt(since, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: schedule %q", errReply, line)
		}
		list = append(list, lease.Schedule{Since: time.UnixMicro(at).UTC(), Text: schedule})
	}
	return list, nil
}

// readSettled reads one entry of what is settled.
func readSettled(entry string) (lease.Settled, error) {
	f := strings.SplitN(entry, " ", 8)
	if len(f) != 8 {
		return lease.Settled{}, fmt.Errorf("%w: settled %q", errReply, entry)
	}
	id := f[1]
	if strings.HasPrefix(id, "-") { // settled by a request that was granted nothing
		id = "0"
	}
	n, err := numbers([]string{f[0], id, f[3], f[4], f[5]})
	if err != nil {
		return lease.Settled{}, err
	}
	return lease.Settled{
		Occasion: n[0], Token: n[1], Outcome: lease.Outcome(f[2]), At: time.UnixMicro(n[2]).UTC(),
		Attempt: int(n[3]), From: n[4], Holder: f[6], Note: f[7],
	}, nil
}

// readPause reads a pause; nil when there is none.
func readPause(text string) (*lease.Pause, error) {
	if text == "" {
		return nil, nil
	}
	since, rest, _ := strings.Cut(text, " ")
	by, why, _ := strings.Cut(rest, " ")
	at, err := strconv.ParseInt(since, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%w: pause %q", errReply, text)
	}
	return &lease.Pause{Since: time.UnixMicro(at).UTC(), By: by, Why: why}, nil
}

func writePause(p *lease.Pause) string {
	if p == nil {
		return ""
	}
	return strconv.FormatInt(p.Since.UnixMicro(), 10) + " " + p.By + " " + lease.Cut(p.Why, lease.MaxWhy)
}

// outOfBounds reads the answer to a request that came after its bound from err, and returns other errors as they are.
func outOfBounds(err error, until time.Time) error {
	stamp, ok := strings.CutPrefix(err.Error(), "OUTOFBOUNDS ")
	if !ok {
		return err
	}
	now, fault := strconv.ParseInt(stamp, 10, 64)
	if fault != nil {
		return fmt.Errorf("%w: %q", errReply, err.Error())
	}
	return &lease.BoundsError{Until: until, Now: time.UnixMicro(now).UTC()}
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

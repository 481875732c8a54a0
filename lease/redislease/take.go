package redislease

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/record"
)

var (
	//go:embed lua/take.lua
	takeSource string

	takeScript = newScript("#!lua", clockSource, takeSource)
)

// take decides a batch by a script: see [engine.Options]. By compare-and-set, each of many processes
// that take units of one limit would have to know the newest version of its value.
func (s *store) take(ctx context.Context, q *engine.Taking) (a engine.TakenBatch, err error) {
	if err = s.values.check(ctx); err != nil {
		return a, err
	}
	client, batch, _ := strings.Cut(q.ID, "-")
	full, slots := limitFields(&q.Lost)
	args := []any{
		client, batch, q.Until.UnixMicro(), record.KeepLimit(q.List).Milliseconds(), q.Known, q.Instead, full, slots,
		record.TakenFor.Microseconds(), record.MaxClients,
	}
	for _, t := range q.List {
		if t.Limit.Window {
			per, slot := record.WindowOf(t.Limit)
			args = append(args, 1, t.Units, t.Limit.Count, per.Microseconds(), slot.Microseconds())
		} else {
			units, all := t.Limit.Time(t.Units), t.Limit.Time(t.Limit.Burst)
			args = append(args, 0, units.Microseconds(), all.Microseconds(), int64(units%time.Microsecond), int64(all%time.Microsecond))
		}
	}
	cmd, err := s.router.do(ctx, takeScript.command(ctx, []string{Key(s.namespace, "limit:"+q.Name)}, args...))
	if err != nil {
		return a, err
	}
	return readTaken(cmd)
}

// readTaken reads what lua/take.lua returns.
func readTaken(cmd *redis.Cmd) (a engine.TakenBatch, err error) {
	r, err := cmd.Slice()
	if err != nil {
		return a, err
	}
	if len(r) != 4 && len(r) != 7 {
		return a, fmt.Errorf("%w: %v", errReply, r)
	}
	a.Now = time.UnixMicro(number(r[0])).UTC()
	stamps, err := numbers([]string{text(r[1]), text(r[2])})
	if err != nil {
		return a, err
	}
	a.Stamp = stamps[0]
	if stamps[1] > 0 {
		a.Limit.Full = time.Unix(0, stamps[1]).UTC()
	}
	slots, err := numbers(strings.Fields(text(r[3])))
	if err != nil || len(slots)%2 != 0 {
		return a, fmt.Errorf("%w: %v", errReply, r)
	}
	for i := 0; i < len(slots); i += 2 {
		a.Limit.Slots = append(a.Limit.Slots, record.Slot{At: time.UnixMicro(slots[i]).UTC(), Units: int(slots[i+1])})
	}
	if len(r) == 4 {
		return a, nil
	}
	a.Decided = true
	for i, c := range text(r[4]) {
		a.OK |= uint64(c&1) << i
	}
	if a.Stamp, err = strconv.ParseInt(text(r[5]), 10, 64); err != nil {
		return a, fmt.Errorf("%w: %v", errReply, r)
	}
	a.Repeated = number(r[6]) == 1
	a.Closed = time.Duration(-min(number(r[6]), 0)) * time.Microsecond
	return a, nil
}

// limitFields are the fields full and slots of lua/take.lua.
func limitFields(l *record.Limit) (full, slots string) {
	full = "0000"
	if !l.Full.IsZero() {
		full = strconv.FormatInt(l.Full.UnixNano(), 10)
	}
	var list []string
	for _, s := range l.Slots {
		list = append(list, fmt.Sprintf("%d %d", s.At.UnixMicro(), s.Units))
	}
	return full, strings.Join(list, " ")
}

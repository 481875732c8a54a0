package redislease

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

var (
	//go:embed lua/values.lua
	valuesSource string

	// One source for all operations. What must work when Redis is out of memory is allowed to; reads change nothing.
	growingScript   = newScript("#!lua", ungracedSource, valuesSource)
	gracedScript    = newScript("#!lua", graceSource, gracedSource, valuesSource)
	essentialScript = newScript("#!lua flags=allow-oom", ungracedSource, valuesSource)
	readScript      = newScript("#!lua flags=no-writes,allow-oom", ungracedSource, valuesSource)
)

const (
	ungracedSource = "local left = 0\n"
	gracedSource   = "local left = grace_left()\n"
)

// appendOp adds to the arguments of lua/values.lua those of an operation.
func (s *opScripts) appendOp(args []any, call *opCall) []any {
	op := &call.op
	switch {
	case op.Renew != nil:
		return append(args, "k", digits(op.Renew.Token), op.Renew.Holder, op.Renew.TTL.Microseconds())
	case op.Append != nil:
		e := op.Append[0]
		return append(args, "a", counterFor(e.Max), e.ID, e.Text)
	case op.Newest > 0:
		return append(args, "l", op.Newest)
	case call.exists:
		return append(args, "e")
	case op.Change == nil && op.First > 0:
		return append(args, "f", op.First)
	case op.Change == nil:
		return append(args, "r")
	}
	c, from := op.Change, len(args)
	args = append(args, 0, writeVersion(c.From), c.ID, c.Data, ceilMicro(c.NotBefore), floorMicro(c.NotAfter), "")
	var letters [8]byte
	kinds := letters[:0]
	for _, e := range c.Append {
		kinds, args = append(kinds, 'a'), append(args, counterFor(e.Max), e.ID, e.Text)
	}
	if c.Claims && s.grace > 0 {
		kinds = append(kinds, 'q')
	}
	if c.MinStamp > c.From.Stamp {
		kinds, args = append(kinds, 'm'), append(args, digits(c.MinStamp))
	}
	for _, token := range c.Ended {
		kinds, args = append(kinds, 'e'), append(args, digits(token))
	}
	for _, token := range c.Drop {
		kinds, args = append(kinds, 'd'), append(args, digits(token))
	}
	for _, l := range c.Leases {
		if l.Token == 0 {
			kinds, args = append(kinds, 'g'), append(args, l.Holder, l.TTL.Microseconds())
		} else {
			kinds, args = append(kinds, 'r'), append(args, digits(l.Token), l.Holder, l.TTL.Microseconds())
		}
	}
	for _, token := range c.Stop {
		kinds, args = append(kinds, 's'), append(args, digits(token))
	}
	for _, n := range c.Notify {
		kinds, args = append(kinds, 'n'), append(args, s.channel, writeNotification(n))
	}
	if c.Keep > 0 {
		kinds, args = append(kinds, 'p'), append(args, max(c.Keep.Milliseconds(), 1))
	}
	if c.Data == nil {
		kinds = append(kinds, 'x')
	}
	args[from], args[from+6] = len(args)-from, string(kinds)
	return args
}

// digits are those of a stamp or a time in microseconds, as lua/values.lua compares them.
func digits(n int64) string {
	s := strconv.FormatInt(n, 10)
	if len(s) < 16 {
		s = "0000000000000000"[len(s):] + s
	}
	return s
}

// counterFor is the field that counts the entries of a list that keeps so many at least: its name says how many slots the
// list has. There are few different ones, since a list that gets another number of slots is written again.
func counterFor(most int) string {
	if most <= maxSlots {
		slots := 1
		for slots < most {
			slots *= 2
		}
		return "n" + strconv.Itoa(slots)
	}
	return "n" + strconv.Itoa(maxSlots)
}

const maxSlots = 1 << 16

func ceilMicro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Add(time.Microsecond - 1).UnixMicro()
}

func floorMicro(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return t.UnixMicro()
}

func writeVersion(v driver.Version) string {
	if v == (driver.Version{}) {
		return ""
	}
	return digits(v.Stamp) + " " + v.ID
}

func readVersion(text string) (driver.Version, error) {
	if text == "" {
		return driver.Version{}, nil
	}
	stamp, id, _ := strings.Cut(text, " ")
	n, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return driver.Version{}, fmt.Errorf("%w: version %q", errReply, text)
	}
	return driver.Version{Stamp: n, ID: id}, nil
}

// readResult reads what lua/values.lua answers to an operation.
func readResult(call *opCall, now time.Time, answer any) driver.Result {
	op, r, err := &call.op, driver.Result{Status: driver.Done, Now: now}, error(nil)
	switch v := answer.(type) {
	case error:
		err = v
	case int64:
		switch {
		case op.Change != nil:
			r.Version = driver.Version{Stamp: v, ID: op.Change.ID}
		case v == 0: // call.exists
			r.Status = driver.Conflict
		}
	case string:
		if op.First > 0 {
			r.Value, err = readFirst(v)
			r.Version = r.Value.Version
		} else {
			r.Version, err = readVersion(v)
		}
	case []any:
		switch {
		case op.Newest > 0:
			r.List, err = readEntries(v)
		case len(v) == 1:
			r.Status, r.Wait = driver.Refused, time.Duration(number(v[0]))*time.Microsecond
		default:
			if len(v) == 3 {
				r.Status = driver.OutOfBounds
			} else if op.Change != nil || op.Renew != nil {
				r.Status = driver.Conflict
			}
			if r.Value, err = readValue(text(v[0]), text(v[1])); r.Status == driver.Done {
				r.Version = r.Value.Version
			}
		}
	default:
		err = fmt.Errorf("%w: %v", errReply, answer)
	}
	if err != nil {
		return driver.Result{Err: err}
	}
	return r
}

func readValue(state, data string) (value driver.Value, err error) {
	if state == "" {
		return value, nil
	}
	version, lines, _ := strings.Cut(state, "\n")
	if version == "" || version[0] != '+' && version[0] != '-' {
		return value, fmt.Errorf("%w: value %.40q", errReply, state)
	}
	if value.Version, err = readVersion(version[1:]); err != nil {
		return driver.Value{}, err
	}
	value.Data = []byte(data)
	value.Leases, err = readLeases(lines)
	return value, err
}

// readFirst reads the answer to an operation with First.
func readFirst(answer string) (value driver.Value, err error) {
	if answer == "" {
		return value, nil
	}
	state, data, _ := strings.Cut(answer, "\n\n")
	return readValue("-"+state, data)
}

func readLeases(lines string) (leases []driver.Lease, err error) {
	for line := range strings.Lines(lines) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(f) != 4 {
			return nil, fmt.Errorf("%w: lease %q", errReply, line)
		}
		n, err := numbers(f[:2])
		if err != nil {
			return nil, err
		}
		leases = append(leases, driver.Lease{
			Token: n[0], Ends: time.UnixMicro(n[1]).UTC(), Stopped: f[2] == "1", Holder: f[3],
		})
	}
	return leases, nil
}

func readEntries(list []any) (entries []driver.Entry, err error) {
	for _, e := range list {
		f := strings.SplitN(text(e), " ", 3)
		if len(f) != 3 {
			return nil, fmt.Errorf("%w: entry %q", errReply, text(e))
		}
		at, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: entry %q", errReply, text(e))
		}
		entries = append(entries, driver.Entry{ID: f[1], Text: []byte(f[2]), At: time.UnixMicro(at).UTC()})
	}
	return entries, nil
}

// Notifications are the name, the tick and waiters: a hyphen for any of them.
func writeNotification(n driver.Notification) string {
	text := n.Name + " " + strconv.FormatInt(n.Tick, 10)
	switch {
	case len(n.Waiters) > 0:
		text += " " + strings.Join(n.Waiters, " ")
	case n.Waiters != nil:
		text += " -"
	}
	return text
}

func readNotification(text string) driver.Notification {
	f := strings.Fields(text)
	if len(f) == 0 {
		return driver.Notification{}
	}
	n := driver.Notification{Name: f[0]}
	if len(f) > 1 {
		n.Tick, _ = strconv.ParseInt(f[1], 10, 64)
	}
	if len(f) > 2 {
		n.Waiters = []string{}
		if f[2] != "-" {
			n.Waiters = f[2:]
		}
	}
	return n
}

package redislease

import (
	_ "embed"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

var (
	//go:embed lua/values.lua
	valuesSource string

	// One source for all operations. What must work when Redis is out of memory is allowed to; reads
	// change nothing.
	growingScript   = newScript("#!lua", ungracedSource, valuesSource)
	gracedScript    = newScript("#!lua", graceSource, gracedSource, valuesSource)
	essentialScript = newScript("#!lua flags=allow-oom", ungracedSource, valuesSource)
	readScript      = newScript("#!lua flags=no-writes,allow-oom", ungracedSource, valuesSource)
)

const (
	ungracedSource = "local left = 0\n"
	gracedSource   = "local left = grace_left()\n"
)

// addOp adds to the arguments of lua/values.lua those of an operation.
func (s *opScripts) addOp(args *arguments, call *opCall) {
	op := &call.op
	switch {
	case op.Renew != nil:
		args.add("k")
		args.digits(op.Renew.Token)
		args.add(op.Renew.Holder)
		args.number(op.Renew.TTL.Microseconds())
	case op.Append != nil:
		args.add("a")
		args.entry(&op.Append[0])
	case op.Newest > 0:
		args.add("l")
		args.number(int64(op.Newest))
	case call.exists:
		args.add("e")
	case op.Change == nil && op.First > 0:
		args.add("f")
		args.number(int64(op.First))
	case op.Change == nil:
		args.add("r")
	default:
		s.addChange(args, call)
	}
}

func (s *opScripts) addChange(args *arguments, call *opCall) {
	c := call.op.Change
	first := args.reserve()
	if c.From == (driver.Version{}) {
		args.add("")
	} else {
		args.version(c.From)
	}
	args.add(c.ID)
	args.bytes(c.Data)
	args.digits(ceilMicro(c.NotBefore))
	args.digits(floorMicro(c.NotAfter))
	letters := args.reserve()
	var few [16]byte
	kinds := few[:0]
	for i := range c.Append {
		kinds = append(kinds, 'a')
		args.entry(&c.Append[i])
	}
	if c.Claims && s.grace > 0 {
		kinds = append(kinds, 'q')
	}
	if c.MinStamp > c.From.Stamp {
		kinds = append(kinds, 'm')
		args.digits(c.MinStamp)
	}
	for _, token := range c.Ended {
		kinds = append(kinds, 'e')
		args.digits(token)
	}
	for _, token := range c.Drop {
		kinds = append(kinds, 'd')
		args.digits(token)
	}
	for i := range c.Leases {
		l := &c.Leases[i]
		if l.Token == 0 {
			kinds = append(kinds, 'g')
		} else {
			kinds = append(kinds, 'r')
			args.digits(l.Token)
		}
		args.add(l.Holder)
		args.number(l.TTL.Microseconds())
	}
	for _, token := range c.Stop {
		kinds = append(kinds, 's')
		args.digits(token)
	}
	for i := range c.Notify {
		kinds = append(kinds, 'n')
		args.add(s.channel)
		args.add(writeNotification(c.Notify[i]))
	}
	if c.Keep > 0 {
		kinds = append(kinds, 'p')
		args.number(max(c.Keep.Milliseconds(), 1))
	}
	if _, member, ok := call.indexed(); ok {
		kinds = append(kinds, 'u')
		args.number(int64(call.index))
		if due := c.DueMilli(); due > 0 {
			args.number(due)
		} else {
			args.add("")
		}
		args.add(member)
		if call.listed() {
			kinds = append(kinds, 'i')
		}
	}
	if c.Data == nil {
		kinds = append(kinds, 'x')
	}
	args.set(letters, kinds)
	var size [8]byte
	args.set(first, strconv.AppendInt(size[:0], int64(len(args.list)-first), 10))
}

func (a *arguments) entry(e *driver.Entry) {
	a.add(counterFor(e.Max))
	a.add(e.ID)
	a.bytes(e.Text)
}

func (a *arguments) version(v driver.Version) {
	from := len(a.text)
	a.text = append(append(appendDigits(a.text, v.Stamp), ' '), v.ID...)
	a.list = append(a.list, span{from, len(a.text)})
}

// counterFor is the field that counts the entries of a list that keeps so many at least: its name
// says how many slots the list has. There are few different ones, since a list that gets another
// number of slots is written again.
func counterFor(most int) string {
	slots := min(bits.Len(uint(max(most, 1)-1)), len(counters)-1)
	return counters[slots]
}

// counters are the names of the fields that count, by the logarithm of the number of slots.
var counters = func() (names [17]string) {
	for i := range names {
		names[i] = "n" + strconv.Itoa(1<<i)
	}
	return names
}()

// latest is the last time that fits into 16 digits of microseconds.
const latest = 9999999999999999

func ceilMicro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return min(max(t.Add(time.Microsecond-1).UnixMicro(), 0), latest)
}

func floorMicro(t time.Time) int64 {
	if t.IsZero() {
		return latest
	}
	return min(max(t.UnixMicro(), 0), latest)
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
	return driver.Version{Stamp: n, ID: strings.Clone(id)}, nil // and nothing else of the answer is kept
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

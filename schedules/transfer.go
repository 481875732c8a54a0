package schedules

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// Export writes the schedules whose keys begin with prefix, each as one line of JSON: a [Schedule]. It
// returns how many. What is put or deleted meanwhile may be missing or be there.
func (s *Schedules) Export(ctx context.Context, w io.Writer, prefix string) (n int, err error) {
	for cursor := ""; ; {
		page, err := s.List(ctx, prefix, cursor, pageSize)
		if err != nil {
			return n, err
		}
		for _, row := range page.Schedules {
			line, err := fleet.Marshal(row)
			if err == nil {
				_, err = w.Write(append(line, '\n'))
			}
			if err != nil {
				return n, err
			}
			n++
		}
		if cursor = page.Next; cursor == "" {
			return n, nil
		}
	}
}

// maxLine is the longest line of an import, in bytes: a payload of 4096 bytes may need six times as
// many in JSON.
const maxLine = 64 << 10

// Import puts schedules as [Schedules.Export] writes them, and pauses those that were paused. It calls
// each, which may be nil, with the line and the result of every schedule, in order. Lines that are
// empty are skipped. If a schedule cannot be put, its result has an Err, and Import goes on. It returns an
// error if it cannot read r, if an option is wrong, or if the store does not answer.
func (s *Schedules) Import(ctx context.Context, r io.Reader, each func(line int, result Result), opts ...Option) error {
	o, err := Apply(opts...)
	if err != nil {
		return err
	}
	i := importer{s: s, each: each, change: o}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	for lines.Scan() {
		i.line++
		if text := bytes.TrimSpace(lines.Bytes()); len(text) > 0 {
			if err := i.add(ctx, text); err != nil {
				return err
			}
		}
	}
	err = i.flush(ctx)
	if o.As != nil && i.changed > 0 {
		s.note(ctx, "", *o.As, fleet.Fact{Kind: wire.FactScheduled, Count: i.changed})
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d: must have at most %d bytes", i.line+1, maxLine)
	}
	return errors.Join(err, lines.Err())
}

// importer collects a page of lines.
type importer struct {
	s      *Schedules
	each   func(line int, result Result)
	change Change
	line   int

	rows    []Schedule
	lines   []int
	faults  []error // of each row, that of its line
	keys    map[string]bool
	changed int
}

func (i *importer) add(ctx context.Context, text []byte) error {
	var row Schedule
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&row)
	if err == nil && d.More() {
		err = errors.New("must hold one schedule")
	}
	if i.keys[row.Key] || len(i.rows) >= pageSize {
		if err := i.flush(ctx); err != nil {
			return err
		}
	}
	if i.keys == nil {
		i.keys = map[string]bool{}
	}
	i.keys[row.Key] = true
	i.rows, i.lines, i.faults = append(i.rows, row), append(i.lines, i.line), append(i.faults, err)
	return nil
}

// flush puts the page.
func (i *importer) flush(ctx context.Context) error {
	if _, err := i.s.view(ctx, false); err != nil {
		return err
	}
	results, valid := make([]Result, 0, len(i.rows)), make([]Schedule, 0, len(i.rows))
	for n, row := range i.rows {
		if i.faults[n] == nil {
			valid = append(valid, row)
		}
	}
	put := make([]Result, len(valid))
	i.s.putPage(ctx, valid, put, &i.change)
	for n, row := range i.rows {
		r := Result{Key: row.Key, Err: i.faults[n]}
		if r.Err == nil {
			r, put = put[0], put[1:]
		}
		if r.Status == Created || r.Status == Changed {
			i.changed++
		}
		if r.Err == nil && row.Paused != nil {
			r.Err = i.s.pauseAgain(ctx, row)
		}
		results = append(results, r)
	}
	for n, r := range results {
		if i.each != nil {
			i.each(i.lines[n], r)
		}
	}
	i.rows, i.lines, i.faults, i.keys = i.rows[:0], i.lines[:0], i.faults[:0], nil
	return ctx.Err()
}

// pauseAgain pauses an imported schedule on behalf of who had paused it.
func (s *Schedules) pauseAgain(ctx context.Context, row Schedule) error {
	q := protocol.Pause{By: row.Paused.By, Reason: row.Paused.Reason}
	err := q.Validate()
	if err == nil {
		if q.Until, err = s.fleet.Until(ctx); err == nil {
			_, err = s.store.Pause(ctx, s.name(row.Key), q)
		}
	}
	return err
}

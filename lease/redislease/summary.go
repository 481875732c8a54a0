package redislease

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease"
)

var (
	//go:embed lua/summary.lua
	summarySource string
	summaryScript = newScript("#!lua flags=no-writes,allow-oom", recordSource, summarySource)
)

// summaryChunk is how many records one script summarizes: more would hold up the other clients of the server.
const summaryChunk = 32

// Names implements [lease.Summarizer]. The server looks through all of its keys, a few at a time. On Cluster the servers
// are asked one after the other; what moves from one to another meanwhile may be missed.
func (s *Store) Names(ctx context.Context, cursor string, count int) (names []string, next string, err error) {
	start := strings.TrimSuffix(s.key(""), "}")
	keys, next, err := s.scan(ctx, start+"*}", cursor, max(count, 1))
	if err != nil {
		return nil, "", fmt.Errorf("names: %w", err)
	}
	for _, key := range keys {
		if name := key[len(start) : len(key)-1]; lease.ValidName(name) {
			names = append(names, name)
		}
	}
	return names, next, nil
}

// Summarize implements [lease.Summarizer].
func (s *Store) Summarize(ctx context.Context, names []string) ([]lease.Summary, error) {
	if err := lease.CheckNames(names); err != nil {
		return nil, err
	}
	size := summaryChunk
	if s.router.cluster != nil {
		size = 1 // names live in slots of their own
	}
	parts := slices.Collect(slices.Chunk(names, size))
	cmds := make([]*redis.Cmd, len(parts))
	for i, part := range parts {
		keys := make([]string, len(part))
		for j, name := range part {
			keys[j] = s.key(name)
		}
		cmds[i] = summaryScript.command(ctx, keys, lease.SummaryOutcomes)
	}
	cmds, err := s.router.all(ctx, cmds)
	if err != nil {
		return nil, fmt.Errorf("summarize: %w", err)
	}
	list := make([]lease.Summary, 0, len(names))
	for i, part := range parts {
		some, err := readSummaries(part, cmds[i])
		if err != nil && errors.Is(err, lease.ErrRecord) && len(part) > 1 {
			some, err = s.summarizeHalves(ctx, part)
		}
		if err != nil {
			return nil, fmt.Errorf("summarize %q: %w", part[0], err)
		}
		list = append(list, some...)
	}
	return list, nil
}

// summarizeHalves finds which record cannot be read.
func (s *Store) summarizeHalves(ctx context.Context, names []string) (list []lease.Summary, err error) {
	for half := range slices.Chunk(names, (len(names)+1)/2) {
		some, err := s.Summarize(ctx, half)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}

func readSummaries(names []string, cmd *redis.Cmd) ([]lease.Summary, error) {
	r, err := cmd.Slice()
	if err == nil && len(r) != len(names)+1 {
		err = fmt.Errorf("%w: %d summaries of %d records", errReply, len(r)-1, len(names))
	}
	if err != nil {
		return nil, err
	}
	list := make([]lease.Summary, len(names))
	for i, name := range names {
		list[i].Name = name
		if f, ok := r[i+1].([]any); ok {
			if list[i], err = readSummary(name, f, number(r[0])); err != nil {
				return nil, fmt.Errorf("%q: %w", name, err)
			}
		}
	}
	return list, nil
}

// readSummary reads what summary.lua says of one record.
func readSummary(name string, f []any, now int64) (lease.Summary, error) {
	if len(f) < 4 {
		return lease.Summary{}, fmt.Errorf("%w: summary %v", errReply, f)
	}
	s := lease.Summary{Record: lease.Record{Name: name}}
	head := strings.SplitN(text(f[0]), " ", 3)
	if len(head) != 3 {
		return lease.Summary{}, fmt.Errorf("%w: summary %q", errReply, head)
	}
	n, err := numbers(head[:2])
	if err != nil {
		return lease.Summary{}, err
	}
	s.Mark, s.Token = n[0], n[1]
	if s.Open, err = readLines(text(f[1]), now); err != nil {
		return lease.Summary{}, err
	}
	if rare, ok := f[2].([]any); ok && len(rare) == 2 {
		if s.Paused, err = readPause(text(rare[0])); err != nil {
			return lease.Summary{}, err
		}
		readCancels(text(rare[1]), s.Open)
	}
	if schedule := text(f[3]); schedule != "" {
		s.Schedules = []lease.Schedule{{Text: schedule}}
	}
	if s.Newest, err = readOutcomes(head[2]); err != nil {
		return lease.Summary{}, err
	}
	for _, e := range slices.Backward(f[4:]) {
		settled, err := readSettled(text(e))
		if err != nil {
			return lease.Summary{}, err
		}
		s.Settled = append(s.Settled, settled)
	}
	return s, nil
}

// readOutcomes reads outcomes, each with how often it comes in a row, newest first; it returns them newest last.
func readOutcomes(list string) (outcomes []lease.Outcome, err error) {
	for run := range slices.Chunk(strings.Fields(list), 2) {
		n, err := strconv.Atoi(run[len(run)-1])
		if err != nil || n < 1 || n > lease.SummaryOutcomes {
			return nil, fmt.Errorf("%w: outcomes %q", errReply, list)
		}
		outcomes = append(outcomes, slices.Repeat([]lease.Outcome{lease.Outcome(run[0])}, n)...)
	}
	slices.Reverse(outcomes)
	return outcomes, nil
}

// readCancels fills in who cancelled what is open.
func readCancels(lines string, open []lease.Open) {
	for line := range strings.Lines(lines) {
		occasion, by, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		for i := range open {
			if strconv.FormatInt(open[i].Occasion, 10) == occasion {
				open[i].CancelledBy = by
			}
		}
	}
}

package redislease

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/lease"
)

// journalKeep is for how long a journal is kept that nobody adds to: jobs may run once a year.
const journalKeep = 400 * 24 * time.Hour

func (s *Store) journalKey(name string) string {
	if name == "" {
		return s.fleetKey(":journal")
	}
	return s.key(name) + ":journal"
}

// Append implements [lease.Journal].
func (s *Store) Append(ctx context.Context, name, request string, text []byte) error {
	if err := lease.CheckNote(name, request, text); err != nil {
		return err
	}
	_, err := s.router.do(ctx, appendScript.command(ctx, []string{s.journalKey(name)},
		request, text, lease.MaxNotes, journalKeep.Milliseconds()))
	if err != nil {
		return fmt.Errorf("append to the journal of %q: %w", name, err)
	}
	return nil
}

// Notes implements [lease.Journal].
func (s *Store) Notes(ctx context.Context, name string, n int) ([]lease.Noted, error) {
	cmd, err := s.router.do(ctx, notesScript.command(ctx, []string{s.journalKey(name)}, max(0, n)))
	var lines []string
	if err == nil {
		lines, err = cmd.StringSlice()
	}
	list := make([]lease.Noted, len(lines))
	for i, line := range lines {
		f := strings.SplitN(line, " ", 3)
		if len(f) != 3 {
			err = fmt.Errorf("%w: note %q", errReply, line)
			break
		}
		at, fault := strconv.ParseInt(f[0], 10, 64)
		if fault != nil {
			err = fmt.Errorf("%w: note %q", errReply, line)
			break
		}
		list[i] = lease.Noted{At: time.UnixMicro(at).UTC(), Request: f[1], Text: []byte(f[2])}
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal of %q: %w", name, err)
	}
	return list, nil
}

package engine

import (
	"bytes"
	"context"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// progressPrefix and a name are the key of the name's progress; alone it is that of the namespace.
const progressPrefix = "progress:"

// Progress implements [protocol.Store].
func (s *Session) Progress(ctx context.Context, names []string) ([]protocol.Progress, error) {
	if err := protocol.CheckProgressNames(names); err != nil {
		return nil, err
	}
	ops := make([]driver.Op, len(names))
	for i, name := range names {
		ops[i] = driver.Op{Key: progressPrefix + name}
	}
	list := make([]protocol.Progress, len(names))
	for i, res := range s.medium().Do(ctx, ops) {
		if res.Err != nil {
			return nil, failed("read the progress of", names[i], res.Err)
		}
		list[i] = progressOf(names[i], res.Value)
	}
	return list, nil
}

// SetProgress implements [protocol.Store].
func (s *Session) SetProgress(ctx context.Context, p protocol.Progress) (present protocol.Progress, done bool, err error) {
	if err := protocol.CheckProgress(p); err != nil {
		return present, false, err
	}
	// It is small, and what was sent already would be sent again without it: so it is written in a
	// full memory, too.
	if len(p.Data) == 0 {
		p.Data = nil
	}
	change := &driver.Change{From: driver.Version(p.Version), ID: s.nextID(), Data: bytes.Clone(p.Data), Essential: true}
	res := s.medium().Do(ctx, []driver.Op{{Key: progressPrefix + p.Name, Change: change}})[0]
	switch {
	case res.Err != nil:
		return present, false, failed("set the progress of", p.Name, res.Err)
	case res.Status == driver.Done:
		if p.Version = protocol.ProgressVersion(res.Version); p.Data == nil {
			p.Version = protocol.ProgressVersion{}
		}
		return p, true, nil
	default:
		present = progressOf(p.Name, res.Value)
		return present, bytes.Equal(present.Data, p.Data), nil
	}
}

func progressOf(name string, v driver.Value) protocol.Progress {
	return protocol.Progress{Name: name, Data: bytes.Clone(v.Data), Version: protocol.ProgressVersion(v.Version)}
}

// removeProgress removes the progress of a name, even if others set it meanwhile.
func (s *Session) removeProgress(ctx context.Context, name string) error {
	p := protocol.Progress{Name: name}
	for try := 0; ; try++ {
		s.pause(ctx, try)
		var done bool
		var err error
		if p, done, err = s.SetProgress(ctx, p); err != nil || done {
			return err
		}
		p.Data = nil
	}
}

package casstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// keptSet is the content of the key of a set.
type keptSet struct {
	Ends int64 // Unix microseconds
	Data []byte
}

func (s keptSet) lives(now time.Time) bool { return now.Before(time.UnixMicro(s.Ends)) }

// PutSet implements [protocol.Sets].
func (s *Store) PutSet(ctx context.Context, set []byte, life time.Duration) error {
	if err := protocol.CheckSet(set, life); err != nil {
		return err
	}
	v := s.values
	ctx, cancel, err := v.within(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	return v.failed(ctx, v.update(ctx, setPrefix+protocol.SetDigest(set), func(kept []byte, now time.Time) ([]byte, error) {
		var before keptSet
		if readable(kept, &before) && before.longEnough(life, now) {
			return nil, nil
		}
		return json.Marshal(keptSet{now.Add(life + life/4).UnixMicro(), slices.Clone(set)})
	}))
}

// longEnough reports whether a life need not be extended. Lives are longer than they have to be, so
// that not every member of a fleet writes the whole set again.
func (s keptSet) longEnough(life time.Duration, now time.Time) bool {
	return !time.UnixMicro(s.Ends).Before(now.Add(life))
}

// KeepSets implements [protocol.Sets].
func (s *Store) KeepSets(ctx context.Context, digests []string, life time.Duration) ([]bool, error) {
	if err := protocol.CheckDigests(digests, life); err != nil {
		return nil, err
	}
	v := s.values
	ctx, cancel, err := v.within(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	lives := make([]bool, len(digests))
	for i, d := range digests {
		err := v.update(ctx, setPrefix+d, func(kept []byte, now time.Time) ([]byte, error) {
			var set keptSet
			if kept != nil {
				if err := json.Unmarshal(kept, &set); err != nil {
					return nil, fmt.Errorf("%w: %s: %w", driver.ErrRecord, setPrefix+d, err)
				}
			}
			if lives[i] = set.lives(now); !lives[i] || set.longEnough(life, now) {
				return nil, nil
			}
			set.Ends = now.Add(life + life/4).UnixMicro()
			return json.Marshal(set)
		})
		if err != nil {
			return nil, v.failed(ctx, err)
		}
	}
	return lives, nil
}

// GetSets implements [protocol.Sets].
func (s *Store) GetSets(ctx context.Context, digests []string) ([][]byte, error) {
	if err := protocol.CheckDigests(digests, time.Hour); err != nil {
		return nil, err
	}
	v := s.values
	ctx, cancel, err := v.within(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	keys := make([]string, len(digests))
	for i, d := range digests {
		keys[i] = setPrefix + d
	}
	at, err := v.now(ctx)
	list, getErr := v.medium.Get(ctx, keys)
	if err := cmp.Or(err, getErr); err != nil {
		return nil, v.failed(ctx, err)
	}
	sets := make([][]byte, len(digests))
	for i, kept := range list {
		var set keptSet
		if readable(kept.Data, &set) && set.lives(at.fleet) && protocol.SetDigest(set.Data) == digests[i] {
			sets[i] = set.Data
		}
	}
	return sets, nil
}

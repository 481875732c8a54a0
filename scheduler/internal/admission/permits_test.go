package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// hold is the lease of a block.
type hold struct {
	ctx      context.Context
	lose     context.CancelFunc
	deadline time.Time
	renewed  func(time.Time)
}

func newHold() *hold {
	ctx, lose := context.WithCancel(context.Background())
	return &hold{ctx: ctx, lose: lose, deadline: time.Now().Add(15 * time.Second)}
}

func (h *hold) Context() context.Context                    { return h.ctx }
func (h *hold) Deadline() time.Time                         { return h.deadline }
func (h *hold) Release(context.Context) error               { h.lose(); return nil }
func (h *hold) OnRenewal(f func(time.Time)) (cancel func()) { h.renewed = f; return func() {} }

// bounded is the lease of a run.
type bounded struct{ by time.Time }

func (b *bounded) Within(deadline time.Time) { b.by = deadline }

func TestPermitsGoToWhatCameDueFirst(t *testing.T) {
	p := NewPermits()
	late, early := &Waiter{}, &Waiter{}
	require.Nil(t, p.take(late, 20))
	require.Nil(t, p.take(early, 10))
	wake, done, short := p.Next(false)
	require.Empty(t, wake)
	require.Empty(t, done)
	require.True(t, short, "another block is needed")

	block := newHold()
	p.Add(block, 1)
	newcomer := &Waiter{}
	require.Nil(t, p.take(newcomer, 30), "others came due before it")
	p.leave(newcomer)
	wake, done, short = p.Next(false)
	require.Equal(t, []*Waiter{early}, wake)
	require.Empty(t, done)
	require.True(t, short)
	require.Nil(t, p.take(late, 20), "it is reserved")
	permit := p.take(early, 10)
	require.NotNil(t, permit)
	require.Nil(t, p.take(&Waiter{}, 15))

	permit.Return()
	wake, _, _ = p.Next(false)
	require.Len(t, wake, 1)
	require.EqualValues(t, 15, wake[0].due)
	p.leave(wake[0]) // it needs none any more
	wake, _, _ = p.Next(false)
	require.Equal(t, []*Waiter{late}, wake)
	p.leave(late)
	wake, done, short = p.Next(false)
	require.Empty(t, wake)
	require.Equal(t, []Hold{block}, done)
	require.False(t, short)
}

func TestBlockIsGivenBackAfterItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPermits()
		block := newHold()
		p.Add(block, 1)
		permit := p.take(&Waiter{}, 1)
		require.NotNil(t, permit)
		require.Nil(t, p.take(&Waiter{}, 2))
		time.Sleep(turn + 1)
		permit.Return()
		wake, done, short := p.Next(false)
		require.Empty(t, wake, "others are to have it")
		require.Equal(t, []Hold{block}, done)
		require.True(t, short)
		_, _, short = p.Next(true)
		require.False(t, short, "a replica that stops needs none")
	})
}

func TestRunIsBoundByTheLeaseOfItsPermit(t *testing.T) {
	p := NewPermits()
	block := newHold()
	p.Add(block, 2)
	permit, run := p.take(&Waiter{}, 1), new(bounded)
	permit.Bound(run)
	require.Equal(t, block.deadline, run.by)
	later := block.deadline.Add(time.Second)
	block.renewed(later)
	require.Equal(t, later, run.by)
	permit.Return()
	block.renewed(later.Add(time.Second))
	require.Equal(t, later, run.by, "the permit is another run's")

	require.NoError(t, permit.Context().Err())
	block.lose()
	require.Error(t, permit.Context().Err())
	require.Nil(t, p.take(&Waiter{}, 2), "it is lost")
}

func TestRoomNeedsAPermitAsWell(t *testing.T) {
	k, p := NewCapacity(1), NewPermits()
	room := func(due uint64) Room {
		return NewRoom(k, &Waiter{Wake: func() {}, Order: due}).WithPermits(p, &Waiter{Order: due})
	}
	a, b := room(1), room(2)
	load := func() [2]int {
		used, _ := k.Load()
		permits, _, _ := p.Load()
		return [2]int{used, permits}
	}
	require.False(t, a.Acquire(1, 1), "there is no permit")
	require.Equal(t, [2]int{}, load())
	p.Add(newHold(), 1)
	_, _, _ = p.Next(false)
	require.True(t, a.IsOffered(false))
	require.True(t, a.Acquire(1, 1))
	require.Equal(t, [2]int{1, 1}, load())
	p.Add(newHold(), 1)
	require.False(t, b.Acquire(2, 1), "there is no room")
	require.Equal(t, [2]int{1, 1}, load(), "the permit is for others")

	taken, ok := a.HandOver(1)
	require.True(t, ok)
	k.Return(taken)
	require.Equal(t, b.waiter, k.Offer())
	lost := p.blocks
	p.blocks = nil
	require.False(t, b.Acquire(2, 1))
	require.Equal(t, [2]int{}, load(), "the room is for others, too")
	p.blocks = lost

	_, ok = a.HandOver(1)
	require.False(t, ok, "a run that was granted twice has no permit")
}
